#include "command/commands.h"

#include <loupe/plugin.h>
#include <loupe/text/nearest.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command/rule_examples.h"
#include "command/wrapped_output.h"
#include "core/log.h"
#include "core/text.h"
#include "health/rules/rule.h"
#include "loader/catalogue.h"
#include "loupe/register_plugin.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

/// A plot as lenses describe it.
struct TagDescription {
  std::string id, title, unit, description, healthy, advice;
  std::set<std::string> lenses;  ///< the lenses that show it
};

using Tags = std::map<std::string, TagDescription>;

/// Collects the plots, and names the lens that reports them.
struct Listener {
  Tags tags;
  std::string lens;
};
Listener*& listener() {
  static Listener* now = nullptr;
  return now;
}

class TagListener : public Visualizer {
 public:
  static constexpr const char* name = "loupe_tag_listener";
  static constexpr const char* help = "collects the descriptions of plots, for `loupe explain`";
  explicit TagListener(const Options&) {}
  void tag(const Tag& tag) override {
    const auto text = [](const char* told) { return std::string(told != nullptr ? told : ""); };
    if (listener() == nullptr) return;
    TagDescription& known = listener()->tags[tag.id];
    known.lenses.insert(listener()->lens);
    if (!known.id.empty()) return;
    known.id = tag.id;
    known.title = text(title_of(tag));
    known.unit = text(tag.unit);
    known.description = text(tag.description);
    known.healthy = text(tag.healthy);
    known.advice = text(tag.advice);
  }
  void begin_tick(const Tick&) override {}
  void row(const Row&) override {}
};

LOUPE_STATIC_PLUGIN(tag_listener, "loupe_tag_listener", "1.0", TagListener);

void add(Monitor& monitor, const std::string& type, uint32_t family) {
  ModuleDescription description;
  description.name = description.path = type;
  description.type = type;
  description.full_type = "torch::nn::" + type + "Impl";
  description.family = family;
  description.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
  constexpr uint32_t trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
  if (family == LOUPE_FAMILY_LINEAR) {
    description.parameters = {{"weight", trained, {2, 2}, 4}, {"bias", trained, {2}, 2}};
  }
  if (family == LOUPE_FAMILY_NORMALIZATION) {
    description.parameters = {{"running_mean", LOUPE_PARAMETER_BUFFER, {2}, 2}};
  }
  monitor.add_module(std::move(description));
}

/// Sends each stream a number and a NaN, since some plots are described only once they have a value.
void train(Monitor& monitor) {
  constexpr uint32_t flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
  for (const float value : {1.F, NAN}) {
    const float values[] = {value, 1, 0, 2};
    const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
    loupe_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor.dtype_bits = 32;
    tensor.dtype_lanes = 1;
    tensor.device_type = LOUPE_DEVICE_CPU;
    tensor.data = values;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim = 2;
    tensor.numel = 4;
    for (const auto& module : monitor.modules()) {
      for (Stream& stream : module->streams()) stream.dispatch(&tensor, flags);
    }
    monitor.push("train_loss", static_cast<double>(value), LOUPE_EVENT_LOSS);
    monitor.push("accuracy", static_cast<double>(value), 0);
  }
}

/// A temporary folder for files of lenses. Throws Error if it cannot be created.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "loupe-explain-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw Error("no folder can be created in '" + std::filesystem::temp_directory_path().string() +
                  "': " + std::strerror(errno) + "; name another in TMPDIR");
    }
  }
  ~ScratchFolder() {
    std::error_code no_matter;
    std::filesystem::remove_all(path_, no_matter);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// @param lens an item of the list `lenses`  @param trains whether there is something to show
void listen_to(const std::string& lens, const std::vector<std::string>& paths, bool trains) {
  const ScratchFolder scratch;
  YAML::Emitter text;
  text << YAML::Flow << paths;
  const std::string yaml = "loupe: 1\nattach: {summary: false}\nrun: {dir: '" + scratch.path() +
                           "'}\nplugins: {path: " + text.c_str() +
                           "}\nvisualizers: [loupe_tag_listener]\nlenses:\n  - " + lens + "\n";
  try {
    Monitor monitor(Config::from_text(yaml, "explain.yaml", ""));
    add(monitor, "Linear", LOUPE_FAMILY_LINEAR);
    add(monitor, "ReLU", LOUPE_FAMILY_ACTIVATION);
    add(monitor, "BatchNorm2d", LOUPE_FAMILY_NORMALIZATION);
    for (int i = 0; i < 2; ++i) {
      if (trains) train(monitor);
      monitor.tick(std::nullopt);
    }
  } catch (const std::exception&) {
    // Some lenses cannot be made without options, and not every lens must be explained.
    return;
  }
}

/// The plots of every lens in the catalogue, by id: each lens describes them when it runs on a small made-up model,
/// with its default options and with those of its example. A lens that cannot be made is left out. Registers a
/// visualizer in this process, and silences Loupe's messages while it runs.
/// @param paths further folders or files with plugins
std::vector<TagDescription> describe_tags(const Catalogue& catalogue, const std::vector<std::string>& paths) {
  register_plugin(tag_listener);
  set_log_sink([](int, const std::string&) {});
  Listener heard;
  listener() = &heard;
  for (const std::string& lens : catalogue.names(Kind::lens)) {
    const loupe_component& component = *catalogue.find(Kind::lens, lens)->component;
    heard.lens = component.name;
    for (const bool trains : {false, true}) {
      listen_to(component.name, paths, trains);
      if (component.example != nullptr) {
        std::string example;  // indented as an item of a list
        for (const char* letter = component.example; *letter != '\0'; ++letter) {
          example += *letter;
          if (*letter == '\n') example += "    ";
        }
        listen_to(example, paths, trains);
      }
    }
  }
  listener() = nullptr;
  set_log_sink({});
  std::vector<TagDescription> tags;
  for (auto& [id, tag] : heard.tags) tags.push_back(std::move(tag));
  return tags;
}

constexpr std::size_t widest = 100;  // longer lines are hard to read

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

/// Every plot whose name is `wanted`; else those that begin with it; else those that contain it.
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

/// Every plot whose explanation mentions a word, such as the name of one of its lines.
std::vector<const TagDescription*> explaining(const std::vector<TagDescription>& tags, const std::string& word) {
  const auto is_part = [](char sign) { return std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '_'; };
  std::vector<const TagDescription*> found;
  for (const TagDescription& tag : tags) {
    const std::string& text = tag.description;
    const std::size_t at = text.find(word), end = at + word.size();
    if (at == std::string::npos || (at > 0 && is_part(text[at - 1])) || (end < text.size() && is_part(text[end])))
      continue;
    found.push_back(&tag);
  }
  return found;
}

/// A paragraph, which the output wraps.
void write_paragraph(const std::string& title, const std::string& text, std::ostream& out) {
  if (text.empty()) return;
  std::istringstream words(title.empty() ? text : title + ": " + text);
  out << " ";
  for (std::string word; words >> word;) out << " " << word;
  out << "\n";
}

void write(const TagDescription& tag, std::ostream& out) {
  out << tag.title << (tag.unit.empty() ? "" : " [" + tag.unit + "]") << "\n";
  write_paragraph("", tag.description, out);
  write_paragraph("healthy", tag.healthy, out);
  write_paragraph("what to do", tag.advice, out);
  write_paragraph("shown by", joined(tag.lenses), out);
}

/// A rule or a line of a component, as its `gives` names and explains it: "NAME: TEXT"; or a rule of the host's own.
struct Given {
  std::string name, text;
  std::set<std::string> givers;
};

std::vector<Given> all_given(const Catalogue& catalogue) {
  std::vector<Given> all;
  for (const CatalogueEntry& entry : catalogue.entries()) {
    const loupe_component& component = *entry.component;
    for (std::size_t i = 0; component.gives != nullptr && i < component.give_count; ++i) {
      const std::string given = component.gives[i];
      const std::size_t colon = given.find(": ");
      if (colon == std::string::npos) continue;
      const std::string name = given.substr(0, colon), text = given.substr(colon + 2);
      const auto known = std::find_if(all.begin(), all.end(),
                                      [&](const Given& each) { return each.name == name && each.text == text; });
      if (known == all.end()) {
        all.push_back({name, text, {component.name}});
      } else {
        known->givers.insert(component.name);
      }
    }
  }
  for (const RuleExample& each : rule_examples()) {
    if (*each.help != '\0') all.push_back({each.rule, each.help, {}});
  }
  return all;
}

void write_list(const std::vector<Given>& given, const std::vector<TagDescription>& tags, std::ostream& out) {
  out << "Rules\n";
  std::size_t longest = 0;
  for (const RuleExample& each : rule_examples()) longest = std::max(longest, std::strlen(each.rule));
  for (const Given& each : given) {
    const bool is_rule = std::any_of(rule_examples().begin(), rule_examples().end(),
                                     [&](const RuleExample& example) { return each.name == example.rule; });
    if (is_rule) out << std::left << std::setw(static_cast<int>(longest)) << each.name << "  " << each.text << "\n";
  }
  out << "\nPlots\n";
  std::size_t width = 0;
  for (const TagDescription& tag : tags) width = std::max(width, tag.id.size());
  for (const TagDescription& tag : tags) {
    out << std::left << std::setw(static_cast<int>(width)) << tag.id << "  " << joined(tag.lenses) << "\n";
  }
}

/// "'dead_units'": the rules whose names contain it.
std::string rules_with(const std::string& part) {
  std::string names;
  for (const RuleExample& each : rule_examples()) {
    if (std::string(each.rule).find(part) != std::string::npos)
      names += (names.empty() ? "'" : " or '") + std::string(each.rule) + "'";
  }
  return names;
}

/// The rules whose findings are caused by the rule's.
std::set<std::string> effects_of(const health::Rule& rule) {
  std::set<std::string> names;
  for (const health::Effects& each : rule.brings_about) names.insert(each.effects.begin(), each.effects.end());
  return names;
}

/// The rules whose findings cause the rule's.
std::set<std::string> causes_of(const std::string& rule) {
  std::set<std::string> names;
  for (const health::Rule& each : health::rules()) {
    if (effects_of(each).count(rule) != 0) names.insert(each.name);
  }
  return names;
}

void write(const health::Rule& rule, std::ostream& out) {
  const std::string name = rule.name;
  write_paragraph("what is measured", rule.measure, out);
  for (const Option& limit : rule.limits)
    write_paragraph(limit.name + " (" + number_text(limit.number) + ")", limit.help, out);
  const std::string causes = joined(causes_of(name));
  write_paragraph("why it happens", causes.empty() ? "" : "often because of " + causes, out);
  write_paragraph("what may follow", joined(effects_of(rule)), out);
  write_paragraph("what to do", rule.remedy, out);
  if (!rule.limits.empty()) {
    const Option& limit = rule.limits.front();
    write_paragraph("to set its threshold",
                    std::string("health: {") + limit.name + ": " + number_text(limit.number) + "}", out);
  }
  write_paragraph("to silence it", "health: {off: [" + name + "]}", out);
}

void write_code(const char* title, const std::string& code, std::ostream& out) {
  out << "  " << title << ":\n";
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) out << "      " << line << "\n";
}

void write(const Given& given, std::ostream& out) {
  out << given.name << "\n";
  write_paragraph("", given.text, out);
  const auto rule = std::find_if(health::rules().begin(), health::rules().end(),
                                 [&](const health::Rule& each) { return given.name == each.name; });
  if (rule != health::rules().end()) write(*rule, out);
  for (const RuleExample& each : rule_examples()) {
    if (given.name != each.rule) continue;
    write_code("for example", each.fault, out);
    write_code("repaired", each.repair, out);
  }
  write_paragraph("given by", joined(given.givers), out);
}

void write_rules(const std::vector<Given>& given, std::ostream& out) {
  out << "\n## Rules of `health`\n| rule | severity; what it finds | remedy |\n| --- | --- | --- |\n";
  for (const health::Rule& rule : health::rules()) {
    const auto own =
        std::find_if(given.begin(), given.end(), [&](const Given& each) { return each.name == rule.name; });
    out << "| `" << rule.name << "` | " << (own != given.end() ? own->text : "") << " | " << rule.remedy << " |\n";
  }
}

void write_glossary(const std::vector<TagDescription>& tags, const std::vector<Given>& given, std::ostream& out) {
  out << "# What the plots and the rules mean\n"
         "Every plot of Loupe's own lenses, with their default options or those of their examples, "
         "and\n"
         "every rule of `health`. `loupe explain NAME` prints the same, also for your own lenses; so does the \"?\" in "
         "the\n"
         "report. This file is what `loupe explain --glossary` writes.\n";
  write_rules(given, out);
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
  CLI::App* subcommand =
      app.add_subcommand("explain", "Explain a plot, a rule or a line: what it shows, what is healthy, what to do");
  subcommand
      ->add_option(
          "tag", tag,
          "Name of a plot, rule or line, or its beginning, for example dead_units (default: list all rules and "
          "plots)")
      ->type_name("TOPIC");
  subcommand->add_flag("--glossary", as_glossary, "Explain all of them, as Markdown");
  return subcommand;
}

bool Explain::run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
                  std::ostream& errors) const {
  const std::vector<TagDescription> tags = describe_tags(catalogue, paths);
  if (as_glossary) {
    write_glossary(tags, all_given(catalogue), out);
    return true;
  }
  if (tag.empty()) {
    WrappedOutput list(out, output_columns());
    write_list(all_given(catalogue), tags, list);
    return true;
  }
  WrappedOutput page(out, std::min(widest, output_columns().value_or(widest)));
  const std::vector<Given> given = all_given(catalogue);
  bool any_given = false;
  for (const Given& each : given) {
    if (each.name != tag) continue;
    if (std::exchange(any_given, true)) page << "\n";
    write(each, page);
  }
  auto wanted = found(tags, tag);
  const std::string within = rules_with(tag);
  if (wanted.empty() && !any_given && within.empty()) wanted = explaining(tags, tag);
  if (wanted.empty() && !any_given) {
    std::vector<std::string> all;
    for (const TagDescription& each : tags) all.push_back(each.id);
    for (const Given& each : given) all.push_back(each.name);
    errors << "loupe: error: no plot, rule or line is called '" << tag << "'"
           << (!within.empty()              ? "; did you mean " + within + "?"
               : !nearest(tag, all).empty() ? suggestion(tag, all)
                                            : "; `loupe explain` lists all rules and plots")
           << "\n";
    return false;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0 || any_given) page << "\n";
    write(*wanted[i], page);
  }
  return true;
}

}  // namespace loupe
