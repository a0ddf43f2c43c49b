#include "command/commands.h"

#include <loupe/abi.h>
#include <loupe/files/replacement.h>
#include <loupe/parameters.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "command/usage_error.h"
#include "loader/catalogue.h"

namespace loupe {

/// The files of host/tools/new by their names there, such as "lens.cpp.in"; generated.
const std::map<std::string, std::string>& new_templates();

namespace {

namespace fs = std::filesystem;
using TemplateWords = std::map<std::string, std::string>;

/// The texts of the templates for a kind.
struct KindWords {
  Kind kind;
  std::string interface_name, about, help, options;
};
const std::map<std::string, KindWords> words_of_kinds = {
    {"lens",
     {Kind::lens, "LOUPE_LENS_ID", "A lens: how large each layer's outputs are.", "how large each layer's outputs are",
      "{scale: 2}"}},
    {"preprocessor",
     {Kind::preprocessor, "LOUPE_PREPROCESSOR_ID", "A preprocessor: one number of each event, folded over the epoch.",
      "the mean of each tensor", "{scale: 2}"}},
    {"gatherer",
     {Kind::gatherer, "LOUPE_GATHERER_ID", "A gatherer: hands on every n-th output of a module.", "every n-th output",
      "{every: 2}"}},
    {"visualizer",
     {Kind::visualizer, "LOUPE_VISUALIZER_ID", "A visualizer: one line a value, to standard output.",
      "one line a value", "{prefix: \"> \"}"}}};

bool is_snake_case(const std::string& name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || !is_lower(name[0]) || name.back() == '_' || name.find("__") != std::string::npos) return false;
  for (const char c : name) {
    if (!is_lower(c) && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

/// "output_range" as "OutputRange".
std::string pascal_case(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return result;
}

std::string filled(const std::vector<std::string>& templates, const TemplateWords& words) {
  std::string text;
  for (const std::string& name : templates) text += new_templates().at(name);
  for (const auto& [word, value] : words) {
    const std::string place = "@" + word + "@";
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size()) {
      text.replace(at, place.size(), value);
    }
  }
  return text;
}

void write(const fs::path& file, const std::string& text) try {
  Replacement replacement(file);
  replacement.write(text);
  replacement.commit(false);
} catch (const std::system_error& reason) {
  throw std::runtime_error("'" + file.string() + "' cannot be written: " + reason_of(reason));
}

}  // namespace

CLI::App* New::add_to(CLI::App& app) {
  auto* command = app.add_subcommand("new", "Create a plugin project with a test");
  std::string kinds;
  for (const auto& [kind, words] : words_of_kinds) kinds += (kinds.empty() ? "{" : ",") + kind;
  command->add_option("kind", kind_, "Kind of component")->required()->type_name(kinds + "}");
  command->add_option("name", name_, "Name in YAML, in snake_case")->required()->type_name("NAME");
  command->add_option("--out", folder_, "Folder to create (default: NAME)")->type_name("FOLDER");
  command->add_flag("--c", plain_c_, "Write plain C instead of C++");
  return command;
}

void New::run(std::ostream& out) const {
  const auto kind = words_of_kinds.find(kind_);
  if (kind == words_of_kinds.end()) {
    throw UsageError("there is no kind '" + kind_ +
                     "' of component; make a lens, preprocessor, gatherer or visualizer");
  }
  if (!is_snake_case(name_)) {
    throw UsageError("'" + name_ +
                     "' is not a name for a component: write it in snake_case, in small letters, digits and single "
                     "underscores, beginning with a letter, such as output_range");
  }
  const fs::path folder = folder_.empty() ? fs::path(name_) : fs::path(folder_);
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))
      throw UsageError("'" + folder.string() + "' already exists and is not changed; name another with --out");
  }
  fs::create_directories(folder, error);
  if (error)
    throw UsageError("'" + folder.string() + "' cannot be created: " + error.message() + "; name another with --out");

  const std::string source = name_ + (plain_c_ ? ".c" : ".cpp");
  const TemplateWords words = {{"NAME", name_},
                               {"Name", pascal_case(name_)},
                               {"Title", title_of(name_)},
                               {"KIND", kind_},
                               {"SOURCE", source},
                               {"LANGUAGES", plain_c_ ? "C CXX" : "CXX"},
                               {"INTERFACE", kind->second.interface_name},
                               {"ABOUT", kind->second.about},
                               {"HELP", kind->second.help},
                               {"OPTIONS", kind->second.options}};
  const std::vector<std::string> sources =
      plain_c_ ? std::vector<std::string>{"c/head.c.in", "c/" + kind_ + ".c.in", "c/tail.c.in"}
               : std::vector<std::string>{kind_ + ".cpp.in"};
  write(folder / source, filled(sources, words));
  write(folder / "CMakeLists.txt", filled({"CMakeLists.txt.in"}, words));
  write(folder / "README.md", filled({"README.md.in"}, words));
  write(folder / (name_ + ".yaml"), filled({kind_ + ".yaml.in"}, words));
  write(folder / (name_ + "_test.cpp"), filled({kind_ + "_test.cpp.in"}, words));
  out << "wrote " << folder.string() << "/; its README.md says how to build and test it\n";
  Catalogue catalogue;
  catalogue.add_standard_paths();
  const std::vector<std::string> taken = catalogue.names(kind->second.kind);
  if (std::find(taken.begin(), taken.end(), name_) != taken.end()) {
    out << "note: a " << kind_ << " '" << name_
        << "' exists already; of two with one name, the one found first is used, so another name is better\n";
  }
}

}  // namespace loupe
