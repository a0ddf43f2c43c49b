#include "command/commands.h"

#include <algorithm>
#include <cctype>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "command/tag_descriptions.h"
#include "core/suggestion.h"

namespace loupe {
namespace {

constexpr std::size_t line_width = 100;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::string joined(const std::set<std::string>& words, const std::string& mark = "") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + mark + word + mark;
  return text;
}

/// Every plot whose name is `wanted`; else those that begin with it; else those that have it within.
std::vector<const TagDescription*> found(const std::vector<TagDescription>& tags, const std::string& wanted) {
  const std::string name = lower(wanted);
  std::vector<const TagDescription*> same, begins, within;
  for (const TagDescription& tag : tags) {
    const std::string own = lower(tag.id);
    const std::size_t at = own.find(name);
    if (own == name) same.push_back(&tag);
    if (at == 0) begins.push_back(&tag);
    if (at != std::string::npos) within.push_back(&tag);
  }
  return !same.empty() ? same : !begins.empty() ? begins : within;
}

void write_wrapped(const std::string& title, const std::string& text, std::ostream& out) {
  if (text.empty()) return;
  std::istringstream words(title.empty() ? text : title + ": " + text);
  std::string line = " ";
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > line_width) {
      out << line << "\n";
      line = title.empty() ? " " : "   ";
    }
    line += " " + word;
  }
  out << line << "\n";
}

void write(const TagDescription& tag, std::ostream& out) {
  out << tag.title << (tag.unit.empty() ? "" : " [" + tag.unit + "]") << "\n";
  write_wrapped("", tag.description, out);
  write_wrapped("healthy", tag.healthy, out);
  write_wrapped("what to do", tag.advice, out);
  write_wrapped("shown by", joined(tag.lenses), out);
}

void write_list(const std::vector<TagDescription>& tags, std::ostream& out) {
  std::size_t width = 0;
  for (const TagDescription& tag : tags) width = std::max(width, tag.id.size());
  for (const TagDescription& tag : tags) {
    out << std::left << std::setw(static_cast<int>(width)) << tag.id << "  " << joined(tag.lenses) << "\n";
  }
}

void write_glossary(const std::vector<TagDescription>& tags, std::ostream& out) {
  out << "# What the plots mean\n"
         "Every plot that Loupe's own lenses show, with their options as they are by default or in their examples.\n"
         "`loupe explain NAME` tells the same, also of lenses of your own; so does the \"?\" in the report.\n"
         "This file is what `loupe explain --glossary` writes.\n";
  for (const TagDescription& tag : tags) {
    out << "\n## " << tag.title << "\n" << tag.description << "\n";
    if (!tag.unit.empty()) out << "\n*Unit:* " << tag.unit << "\n";
    if (!tag.healthy.empty()) out << "\n*Healthy:* " << tag.healthy << "\n";
    if (!tag.advice.empty()) out << "\n*What to do:* " << tag.advice << "\n";
    out << "\n*Shown by:* " << joined(tag.lenses, "`") << "\n";
  }
}

}  // namespace

CLI::App* Explain::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand("explain", "What a plot shows, what is healthy, and what to do");
  subcommand->add_option("tag", tag, "The plot's name, or its beginning; all are listed when left out");
  subcommand->add_flag("--glossary", as_glossary, "Explain all of them, as Markdown");
  return subcommand;
}

bool Explain::run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
                  std::ostream& errors) const {
  const std::vector<TagDescription> tags = describe_tags(catalogue, paths);
  if (as_glossary) {
    write_glossary(tags, out);
    return true;
  }
  if (tag.empty()) {
    write_list(tags, out);
    return true;
  }
  const auto wanted = found(tags, tag);
  if (wanted.empty()) {
    std::vector<std::string> known;
    for (const TagDescription& each : tags) known.push_back(each.id);
    errors << "loupe: error: no lens shows a plot '" << tag << "'" << suggestion(tag, known) << "\n";
    return false;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0) out << "\n";
    write(*wanted[i], out);
  }
  return true;
}

}  // namespace loupe
