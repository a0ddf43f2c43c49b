#include "abi_header.h"

#include <loupe/abi.h>

#include <regex>

namespace loupe {
namespace {

using Texts = std::vector<std::string>;

std::string without_comments(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("/*", at);
    code += text.substr(at, begin - at);
    if (begin == std::string::npos) break;
    at = text.find("*/", begin) + 2;
  }
  return code;
}

std::vector<std::smatch> all(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

const std::regex function_pattern(R"(\(\*(\w+)\)\()");
const std::regex struct_pattern(R"(struct (\w+) \{\s*([^;]*);)");

/// The comment that ends right above the line with `position`, with single spaces; empty without a comment.
std::string comment_above(const std::string& text, std::size_t position) {
  const std::size_t line = text.rfind('\n', position);
  if (line == std::string::npos || line < 2 || text.compare(line - 2, 2, "*/") != 0) return "";
  const std::size_t begin = text.rfind("/*", line);
  return std::regex_replace(text.substr(begin, line - begin), std::regex(R"(\s+)"), " ");
}

/// The fault of a contract; empty for a correct contract.
std::string contract_fault(const std::string& comment) {
  static const std::regex contract(
      R"(/\* @thread (trainer|model|display|trainer or model|trainer or display|trainer, model or display|any) @state (\w[^@]*) @reenter (\w[^@]*) @owns (\w[^@]*) @since (\d+)\.(\d+) \*/)");
  std::smatch parts;
  if (comment.empty()) return "no contract right above it";
  if (!std::regex_match(comment, parts, contract)) {
    return "a contract that is not '@thread trainer, model, display, several of them, or any @state … @reenter … "
           "@owns … @since N.N': " +
           comment;
  }
  const auto major = std::stoul(parts[5]);
  const auto minor = std::stoul(parts[6]);
  if (major != LOUPE_ABI_MAJOR || minor > LOUPE_ABI_MINOR) return "a version that is not yet: " + comment;
  return "";
}

}  // namespace

std::size_t count_functions(const std::string& text) {
  return all(text, function_pattern).size();
}

std::size_t count_structs(const std::string& text) {
  return all(without_comments(text), struct_pattern).size();
}

Texts faults_of_header(const std::string& text) {
  Texts faults;
  for (const std::smatch& function : all(text, function_pattern)) {
    const std::string fault = contract_fault(comment_above(text, static_cast<std::size_t>(function.position())));
    if (!fault.empty()) faults.push_back("'" + function[1].str() + "' has " + fault);
  }
  const std::string code = without_comments(text);
  for (const std::smatch& each : all(code, struct_pattern)) {
    const bool is_frozen = each[1] == "loupe_entry" || each[1] == "loupe_elf_note" || each[1] == "loupe_moment";
    if (!is_frozen && each[2] != "uint32_t struct_size" && each[2] != "uint32_t struct_size, reserved")
      faults.push_back("'" + each[1].str() + "' does not begin with struct_size but with '" + each[2].str() + "'");
  }
  for (const std::smatch& member : all(code, std::regex(R"(\n  (?:const )?(loupe_(?!status\b|moment\b)\w+) (\w+);)")))
    faults.push_back("'" + member[2].str() + "' holds a " + member[1].str() + " by value, which could never grow");
  for (const std::smatch& include : all(code, std::regex(R"(#\s*include\s*(\S+))"))) {
    const std::string name = include[1].str();
    if (name != "<stddef.h>" && name != "<stdint.h>" && name.rfind("<loupe/abi/", 0) != 0)
      faults.push_back("it includes " + name + ", and may include <stddef.h>, <stdint.h> and <loupe/abi/...> only");
  }
  return faults;
}

Texts members_without_entry(const std::string& header, const std::string& table) {
  Texts faults;
  const std::string code = without_comments(header);
  for (const std::smatch& message : all(table, std::regex(R"(members<(\w+)> =)"))) {
    const std::string name = message[1];
    const std::size_t begin = code.find("struct " + name + " {");
    if (begin == std::string::npos) return {"there is no struct '" + name + "' in loupe/abi"};
    const std::string body = code.substr(begin, code.find("} " + name + ";", begin) - begin);
    for (const std::smatch& member : all(body, std::regex(R"((\w+)(?=[,;]))"))) {
      if (member[1] == "struct_size" || member[1] == "reserved") continue;
      if (!std::regex_search(table, std::regex("&" + name + "::" + member[1].str() + "\\b")))
        faults.push_back("'" + member[1].str() + "' of " + name + " has no entry in loupe/detail/messages.h");
    }
  }
  return faults;
}

}  // namespace loupe
