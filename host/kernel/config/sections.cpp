#include "config/sections.h"

#include <loupe/detail/option_table.h>
#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <charconv>

#include "config/yaml_text.h"
#include "core/text.h"

namespace loupe {
namespace {

/// Reads a number independently of the locale. False if the text is not entirely a number.
template <class Number>
bool read(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::string scalar_of(const YAML::Node& node) {
  return node.IsScalar() ? node.Scalar() : "";
}

OptionTable table_of(const detail::OptionStorage& options) {
  return {options.pointers(), options.size()};
}

const detail::OptionStorage& run_options() {
  static const auto& options = *new detail::OptionStorage({
      {"name", "", "the run's name; the file's when empty"},
      {"dir", "", "where visualizers put their files; the working directory when empty"},
      {"resume", false, "continue the files of the previous run, which are otherwise kept in a folder older-1"},
      {"incidents", 3,
       "how many folders incident-STEP a run may write into dir, with the last 64 steps of all that is measured: at "
       "the first error of a rule, for on_finding: dump, at an abnormal end, and as many by inspector.dump()",
       0, 1000},
      {"incident_tensors", false, "also put the blamed module's parameters and gradients there, for torch.load"},
      Option::map("tick",
                  "when to tick: epoch (as the trainer says; the default), {steps: 500} of the first attached "
                  "optimizer, {steps: 500, of: MODEL} of that model's, or {seconds: 30}"),
  });
  return options;
}

const detail::OptionStorage& attach_options() {
  static const auto& options = *new detail::OptionStorage({
      {"depth", -1, "how deep to watch: -1 the leaves, 0 the model itself, n levels", -1, 1e6},
      {"separator", ".", "the separator of the parts of a layer's name"},
      {"active", 1, "measure only every n-th epoch", 1, 1e6},
      {"every", 1, "measure one step in n: the first two of each 2n steps, so that each has a neighbour", 1, 1e6},
      {"budget", "off",
       "how much of the time Loupe may take, such as 1%, after its first half second: measures as many steps as that "
       "allows; off: no limit. `loupe run` without a configuration takes 3%"},
      {"history", 65536,
       "compare with earlier steps at most this number of elements of each tensor, in fixed random places; 0: "
       "all, which takes 12 to 16 bytes of memory for each element. Comparisons of a larger tensor are estimates: with "
       "normally distributed numbers and 65536 elements, the standard error is about 0.3 % for norms of updates and "
       "0.004 for correlations",
       0, 1e12},
      {"find", false, "also find losses and optimizers if attach gets an optimizer; without one they are always found"},
      {"taps", "auto", "auto, or explicit: only loupe::Tapped modules", {"auto", "explicit"}},
      {"summary", true, "print a line at attach about tapped and untapped modules"},
      {"list_modules", false, "print one line per module at attach"},
      {"train_loss", "train_loss", "the name of the training loss"},
      {"val_loss", "val_loss", "the name of the validation loss"},
  });
  return options;
}

const Strings& answers() {
  static const auto& names = *new Strings{"tell", "stop", "throw", "dump"};
  return names;
}

const detail::OptionStorage& finding_options() {
  static const auto& options = *new detail::OptionStorage({
      {"info", "tell",
       "tell: show it; stop: end the loop over epochs(); throw: from the next call; dump: write an incident into "
       "run.dir, as errors always do",
       answers()},
      {"warning", "tell", "the same for warnings", answers()},
      {"error", "tell", "the same for errors", answers()},
  });
  return options;
}

const detail::OptionStorage& trace_options() {
  static const auto& options = *new detail::OptionStorage({
      {"steps", 0,
       "how many consecutive steps to write into trace.json in run.dir, for Perfetto or chrome://tracing: nested "
       "modules, forward and backward, and findings as marks",
       0, 1000},
      {"after", 10, "how many steps to skip first", 1, 1e12},
  });
  return options;
}

const detail::OptionStorage& every_lens_options() {
  static const auto& options = *new detail::OptionStorage({
      {"active", 1, "measure only every n-th epoch of those that attach.active measures", 1, 1e6},
  });
  return options;
}

std::vector<YAML::Node> written_paths(const YAML::Node& plugins) {
  const YAML::Node written = value_of(plugins, "path");
  if (!plugins["path"].IsDefined()) return {};
  if (!written.IsSequence()) return {written};
  return {written.begin(), written.end()};
}

void add_path(const YAML::Node& written, const std::string& folder, Catalogue& catalogue, Diagnostics& diagnostics) {
  if (!written.IsScalar() || written.Scalar().empty())
    return diagnostics.error(written, "plugins.path must be a folder or file, or a list of them");
  const std::string path = full_path(written.Scalar(), folder);
  // A path that the user wrote must work; a file in a folder may fail.
  const std::size_t before = catalogue.problems().size();
  if (catalogue.add_path(path)) return;
  for (std::size_t i = before; i < catalogue.problems().size(); ++i)
    diagnostics.error(written, catalogue.problems()[i]);
}

/// "file://PATH" or "none".
void read_store(const YAML::Node& written, const std::string& folder, RankRule& rule, Diagnostics& diagnostics) {
  const std::string text = scalar_of(written), file = "file://";
  rule.exchange = text != "none";
  if (!rule.exchange) return;
  if (text.rfind(file, 0) == 0 && text.size() > file.size()) {
    try {
      rule.folder = full_path(text.substr(file.size()), folder);
    } catch (const Error& e) {
      diagnostics.error(written, e.what());
    }
    return;
  }
  diagnostics.error(
      written, "ranks.store is file://FOLDER, a folder that all ranks reach, or none, not " + describe_node(written) +
                   "; Loupe opens no port: ranks meet at the store that torchrun serves, at one that the program "
                   "gives to attach_ranks, or in a folder, and 'loupe merge' joins those that share neither");
}

}  // namespace

std::string TickRule::words() const {
  if (by == By::steps) return std::to_string(steps) + (steps == 1 ? " step" : " steps");
  return by == By::seconds ? number_text(seconds) + (seconds == 1 ? " second" : " seconds") : "epoch";
}

TickRule read_tick(const YAML::Node& run, Diagnostics& diagnostics) {
  TickRule rule;
  const YAML::Node tick = value_of(run, "tick");
  if (tick.IsNull() || (tick.IsScalar() && tick.Scalar() == "epoch")) return rule;
  if (!tick.IsMap()) {
    diagnostics.error(tick, "run.tick is epoch, {steps: n} or {seconds: s}, not " + describe_node(tick));
    return rule;
  }
  check_keys(tick, {"steps", "seconds", "of"}, "in run.tick", diagnostics);
  const YAML::Node steps = value_of(tick, "steps"), seconds = value_of(tick, "seconds"), of = value_of(tick, "of");
  if (steps.IsNull() == seconds.IsNull()) {
    diagnostics.error(tick, "run.tick counts either steps or seconds: {steps: 500} or {seconds: 30}");
    return rule;
  }
  if (!steps.IsNull()) {
    rule.by = TickRule::By::steps;
    if (!steps.IsScalar() || !read(steps.Scalar(), rule.steps) || rule.steps == 0)
      diagnostics.error(steps, "run.tick.steps must be a whole number from 1 on, not " + describe_node(steps));
  } else {
    constexpr double fewest = 1e-3, most = 1e9;
    rule.by = TickRule::By::seconds;
    const bool is_number = seconds.IsScalar() && read(seconds.Scalar(), rule.seconds);
    if (!is_number || !(rule.seconds >= fewest && rule.seconds <= most))
      diagnostics.error(seconds, "run.tick.seconds must be a number of seconds above 0, not " + describe_node(seconds));
  }
  if (of.IsNull()) return rule;
  if (rule.by != TickRule::By::steps || !of.IsScalar() || of.Scalar().empty()) {
    diagnostics.error(of,
                      "run.tick.of names the model whose optimizer's steps count, beside steps: "
                      "{steps: 500, of: generator}");
    return rule;
  }
  rule.of = of.Scalar();
  return rule;
}

YAML::Node without_named_tick(const YAML::Node& run) {
  if (const YAML::Node tick = value_of(run, "tick"); tick.IsMap() || tick.IsNull()) return run;
  YAML::Node rest(YAML::NodeType::Map);
  for (const auto& entry : run) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "tick") rest[entry.first] = entry.second;
  }
  return rest;
}

double read_budget(const YAML::Node& attach, Diagnostics& diagnostics) {
  const YAML::Node budget = attach.IsMap() ? value_of(attach, "budget") : YAML::Node(YAML::NodeType::Null);
  if (!budget.IsScalar() || budget.Scalar() == "off") return 0;
  std::string text = budget.Scalar();
  const bool has_sign = !text.empty() && text.back() == '%';
  if (has_sign) text.pop_back();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  double percent = 0;
  if (!has_sign || !read(text, percent) || !(percent >= 0.001 && percent <= 100)) {
    diagnostics.error(budget, "attach.budget is off or a share of the time such as 1%, between 0.001% and 100%, not " +
                                  describe_node(budget));
    return 0;
  }
  return percent / 100;
}

OptionTable lens_options() {
  return table_of(every_lens_options());
}

const std::vector<std::pair<std::string, OptionTable>>& host_sections() {
  static const auto& sections = *new std::vector<std::pair<std::string, OptionTable>>{
      {"run", table_of(run_options())},
      {"attach", table_of(attach_options())},
      {"on_finding", table_of(finding_options())},
      {"trace", table_of(trace_options())},
  };
  return sections;
}

OptionTable host_section(std::string_view name) {
  const auto& all = host_sections();
  return std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == name; })->second;
}

void read_plugins(const YAML::Node& plugins, const std::string& folder, Catalogue& catalogue,
                  Diagnostics& diagnostics) {
  catalogue.add_registered();
  if (!plugins.IsNull() && !plugins.IsMap()) {
    diagnostics.error(plugins, "'plugins' must be a map with a 'path'");
  } else if (plugins.IsMap()) {
    check_keys(plugins, {"path"}, "of 'plugins'", diagnostics);
    for (const YAML::Node& path : written_paths(plugins)) {
      try {
        add_path(path, folder, catalogue, diagnostics);
      } catch (const Error& e) {
        diagnostics.error(path, e.what());
      }
    }
  }
  catalogue.add_standard_paths();
}

RankRule read_ranks(const YAML::Node& written, const std::string& folder, Diagnostics& diagnostics) {
  RankRule rule;
  if (!written.IsDefined()) return rule;
  if (!written.IsMap()) {
    const std::string value = scalar_of(written);
    rule.on = value != "off";
    if (value != "auto" && value != "off") {
      diagnostics.error(written, "ranks cannot be '" + value + "'" + suggestion(value, {"auto", "off"}) +
                                     "; or a map with store, timeout and show");
    }
    return rule;
  }
  check_keys(written, {"store", "timeout", "show"}, "in ranks", diagnostics);
  if (const YAML::Node store = value_of(written, "store"); !store.IsNull())
    read_store(store, folder, rule, diagnostics);
  if (const YAML::Node timeout = value_of(written, "timeout"); !timeout.IsNull()) {
    constexpr double shortest = 0.1, longest = 3600;
    if (!read(scalar_of(timeout), rule.timeout) || !(rule.timeout >= shortest && rule.timeout <= longest))
      diagnostics.error(timeout, "ranks.timeout is in seconds, from 0.1 to 3600, not " + describe_node(timeout));
  }
  if (const YAML::Node show = value_of(written, "show"); !show.IsNull()) {
    const std::string text = scalar_of(show);
    rule.shows_each = text == "each";
    if (text != "each" && text != "merged")
      diagnostics.error(show, "ranks.show cannot be '" + text + "'" + suggestion(text, {"merged", "each"}));
  }
  return rule;
}

}  // namespace loupe
