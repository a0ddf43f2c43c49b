#include "command/commands.h"

#include <loupe/abi.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string_view>

#include "command/tool.h"
#include "command/usage_error.h"
#include "core/log.h"
#include "pipeline/monitor.h"
#include "preload/boundary.h"
#include "preload/needed_libraries.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

constexpr int exit_not_executable = 126, exit_not_found = 127;
constexpr const char* preload_variable = "LD_PRELOAD";

/// The library to preload: in the build's folder or the installation's.
fs::path preload_library() {
  for (const char* folder : {"../lib/loupe", LOUPE_RUN_LIBRARY_FOLDER, "."}) {
    const fs::path file = (own_folder() / folder / "libloupe_run.so").lexically_normal();
    std::error_code no_matter;
    if (fs::exists(file, no_matter)) return file;
  }
  throw UsageError("libloupe_run.so is missing beside '" + own_folder().string() + "'; is Loupe installed completely?");
}

/// The program that a shell would run by that name; empty if there is none.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (true) {
    const auto colon = rest.find(':');
    const fs::path folder = rest.substr(0, colon);
    const fs::path file = (folder.empty() ? fs::path(".") : folder) / name;
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
    if (colon == std::string::npos) return {};
    rest.erase(0, colon + 1);
  }
}

bool gains_rights(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return false;
  const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid();
  const bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid();
  return other_user || other_group || ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

/// Why the program cannot be watched, as far as its file shows; empty if it can.
std::string what_hinders(const fs::path& file) {
  if (gains_rights(file)) return "it runs with more rights than its user, so nothing can be preloaded";
  NeededLibraries needed;
  if (!read_needed_libraries(file.c_str(), needed)) return "";
  if (needed.is_other_class) return "it is built for another processor than Loupe";
  if (!needed.is_dynamic) return "it is linked statically, so nothing can be preloaded";
  for (int i = 0; i < needed.count; ++i) {
    const std::string_view library = needed.names[i];
    // GCC's and clang's runtimes. Only UndefinedBehaviorSanitizer's, which is not listed, accepts preloaded libraries.
    for (const char* sanitizer : {"libasan.", "libhwasan.", "liblsan.", "libtsan.", "libclang_rt.asan",
                                  "libclang_rt.hwasan", "libclang_rt.tsan"}) {
      if (library.starts_with(sanitizer))
        return "it is built with a sanitizer (" + std::string(library) + "), which would report Loupe's own actions";
    }
  }
  return "";
}

bool is_script(const fs::path& file) {
  std::array<char, 2> begin{};
  if (std::error_code none; !fs::is_regular_file(file, none)) return false;
  std::ifstream stream(file, std::ios::binary);
  return stream.read(begin.data(), begin.size()) && begin[0] == '#' && begin[1] == '!';
}

/// Reports every fault before the program begins.
void check_configuration(const std::string& file) {
  const Monitor monitor(Config::from_file(file));
  for (const auto& lens : monitor.lenses()) {
    if (lens->quarantined()) throw UsageError("'" + file + "' cannot be used, for the reason above");
  }
}

void set_variable(const char* name, const std::string& value) {
  if (value.empty()) {
    ::unsetenv(name);
  } else {
    ::setenv(name, value.c_str(), 1);
  }
}

}  // namespace

CLI::App* RunProgram::add_to(CLI::App& app) {
  subcommand_ = app.add_subcommand(
      traces ? "trace" : "run",
      traces
          ? "Run a trainer like 'run' and write a few steps as a trace for Perfetto or chrome://tracing: loupe trace "
            "./trainer"
          : "Run and watch a trainer that was compiled without Loupe: loupe run ./trainer --its --own "
            "--arguments");
  if (traces)
    subcommand_->add_option("--steps", steps, "Number of steps to trace")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
  subcommand_->add_option("--config", config, "YAML file (default: a monitor that writes to loupe-runs/PROGRAM)")
      ->type_name("FILE");
  subcommand_->add_option("--out", folder, "Folder for the default monitor's runs (default: loupe-runs)")
      ->type_name("FOLDER");
  subcommand_->add_option("--name", name, "Name of the run and its folder (default: the program's name)")
      ->type_name("NAME")
      ->check([](const std::string& given) {
        const bool is_folder = !given.empty() && given != "." && given != ".." && given.find('/') == std::string::npos;
        return is_folder ? std::string() : "use a name without '/': it is the name of a folder";
      });
  subcommand_->add_option("--follow", follow, "Also watch programs that it starts, if they train")
      ->check(CLI::IsMember({"yes", "no"}))
      ->capture_default_str();
  subcommand_->add_flag("--require", required, "Exit with 2 instead of a warning if the program cannot be watched");
  if (!traces)
    subcommand_->add_flag("--every-step", every_step,
                          "Measure every step and report every epoch (default: as many as fit into 3 % of the time, or "
                          "into attach.budget of FILE)");
  // This is only for --help: take_program removes the program and its arguments before CLI11 parses the rest.
  subcommand_->add_option("program", program, "The trainer and its arguments, after all options, or after --")
      ->type_name("PROGRAM");
  subcommand_->footer("The exit code is that of the program; 126 if it cannot be run, 127 if it is not found.");
  return subcommand_;
}

int RunProgram::take_program(int count, char** arguments) {
  if (count < 2 || arguments[1] != subcommand_->get_name()) return count;
  for (int i = 2; i < count; ++i) {
    const std::string each = arguments[i];
    const bool is_mark = each == "--";
    if (!is_mark && !each.empty() && each[0] == '-') {
      const CLI::Option* option = subcommand_->get_option_no_throw(each);
      if (option != nullptr && option->get_items_expected_max() > 0) ++i;
      continue;
    }
    program.assign(arguments + i + (is_mark ? 1 : 0), arguments + count);
    return i;
  }
  return count;
}

int RunProgram::run(std::ostream& errors) const {
  if (program.empty())
    throw UsageError(traces ? "loupe trace needs a program to run: loupe trace ./trainer --its --own --arguments"
                            : "loupe run needs a program to run: loupe run ./trainer --its --own --arguments");
  const fs::path file = find_program(program[0]);
  std::error_code no_matter;
  if (file.empty() || !fs::exists(file, no_matter)) {
    errors << "loupe: error: there is no program '" << program[0]
           << "'; give the path of an executable file, such as build/trainer, or the name of one in PATH\n";
    return exit_not_found;
  }
  if (!config.empty()) check_configuration(config);
  std::error_code is_gone;
  const fs::path out = fs::absolute(folder.empty() ? "loupe-runs" : folder, is_gone);
  std::string hindrance = what_hinders(file);
  if (hindrance.empty() && config.empty() && is_gone)
    hindrance = "its files would go into the working folder, which no longer exists (--out takes another)";
  if (!hindrance.empty() && required) throw UsageError("'" + program[0] + "' cannot be watched: " + hindrance);
  if (!hindrance.empty()) {
    log(LOUPE_LOG_WARNING, "'" + program[0] + "' cannot be watched: " + hindrance + "; it runs unwatched");
  } else {
    if (is_script(file))
      log(LOUPE_LOG_INFO, "'" + program[0] + "' is a script; the programs that it runs are watched if they train");
    // This library goes after those that the user preloads: a sanitizer's runtime must be the first.
    const char* others = std::getenv(preload_variable);
    const std::string before = others != nullptr && *others != '\0' ? std::string(others) + ":" : "";
    set_variable(preload_variable, before + preload_library().string());
    set_variable(run_config_variable, config.empty() ? "" : fs::absolute(config).string());
    set_variable(run_folder_variable, out.string());
    set_variable(run_name_variable, name);
    set_variable(run_trace_variable, traces ? std::to_string(steps) : "");
    set_variable(run_require_variable, required ? "1" : "");
    set_variable(run_follow_variable, follow == "no" ? "no" : "");
    set_variable(run_every_step_variable, every_step || traces ? "1" : "");
    set_variable(run_process_variable, std::to_string(::getpid()));
  }
  std::vector<char*> arguments;
  for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv(file.c_str(), arguments.data());
  errors << "loupe: error: '" << program[0] << "' cannot be run: " << std::strerror(errno) << "\n";
  return exit_not_executable;
}

}  // namespace loupe
