#include "record/run_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace loupe::record {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

/// The rest of a text after a prefix; "" if the text does not begin with the prefix.
std::string after(std::string_view prefix, const std::string& text) {
  return text.compare(0, prefix.size(), prefix) == 0 ? text.substr(prefix.size()) : "";
}

/// The commit of a branch: Git stores it in a separate file or in a list of all branches.
std::string commit_of(const fs::path& repository, const std::string& branch) {
  const std::string commit = first_line(repository / branch);
  if (!commit.empty()) return commit;
  std::ifstream in(repository / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.compare(space + 1, std::string::npos, branch) == 0)
      return line.substr(0, space);
  }
  return "";
}

std::vector<std::string> arguments_of_process() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(in, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::string text_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? text : "";
}

}  // namespace

std::string git_commit(const std::string& folder) {
  std::error_code none;
  for (fs::path place = fs::absolute(folder, none).lexically_normal();; place = place.parent_path()) {
    fs::path git = place / ".git";
    // In a worktree or submodule this is a file that names the folder.
    if (const std::string elsewhere = fs::is_regular_file(git, none) ? after("gitdir: ", first_line(git)) : "";
        !elsewhere.empty())
      git = place / elsewhere;
    const std::string head = first_line(git / "HEAD"), branch = after("ref: ", head);
    if (!head.empty()) {
      const std::string shared = first_line(git / "commondir");
      return branch.empty() ? head : commit_of(shared.empty() ? git : git / shared, branch);
    }
    if (!place.has_relative_path()) return "";
  }
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& each : arguments) {
    const bool is_plain = !each.empty() && std::all_of(each.begin(), each.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string quoted = each;
    for (std::size_t at = 0; !is_plain && (at = quoted.find('\'', at)) != std::string::npos; at += 4)
      quoted.replace(at, 1, "'\\''");
    line += (line.empty() ? "" : " ") + (is_plain ? each : "'" + quoted + "'");
  }
  return line;
}

std::vector<std::pair<std::string, std::string>> run_facts() {
  std::error_code none;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.front() = '\0';
  std::string user = text_of("USER");
  if (user.empty()) user = text_of("LOGNAME");
  // Use the repository of the program, wherever it is called from; for an installed program, for example Python, use
  // that of the working folder.
  std::string commit = git_commit(fs::read_symlink("/proc/self/exe", none).parent_path().string());
  if (commit.empty()) commit = git_commit(".");
  std::vector<std::pair<std::string, std::string>> facts;
  for (auto& [name, text] : {std::pair<const char*, std::string>{"command", command_line(arguments_of_process())},
                             {"host", host.data()},
                             {"user", user},
                             {"commit", commit}}) {
    if (!text.empty()) facts.emplace_back(name, text);
  }
  return facts;
}

}  // namespace loupe::record
