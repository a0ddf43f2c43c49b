#include "command/recorded_rules.h"

#include <loupe/detail/keyed_list.h>
#include <loupe/detail/option_table.h>
#include <loupe/error.h>
#include <loupe/internal/finding_number.h>
#include <loupe/report.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config/yaml_text.h"
#include "findings/finding_board.h"
#include "health/rules/losses.h"
#include "health/rules/rate_history.h"
#include "health/rules/rule.h"
#include "loupe/version.h"
#include "options/option_set.h"

namespace loupe {
namespace {

using replay::RecordedRun;
using replay::RecordLine;

const detail::OptionStorage& health_options() {
  static const detail::OptionStorage options(health::options());
  return options;
}

/// Settings of the run's configuration that rules depend on.
struct Settings {
  bool watched = false;  ///< the lens health watched it
  std::string train_loss = "train_loss", validation_loss = "val_loss";
  std::unique_ptr<OptionSet> options;
};

/// Skips options of older or newer versions.
YAML::Node known_part(const YAML::Node& given) {
  YAML::Node known(YAML::NodeType::Map);
  if (!given.IsMap()) return known;
  for (const auto& each : given) {
    const std::string name = each.first.IsScalar() ? each.first.Scalar() : "";
    const auto& table = health_options();
    const bool is_known = std::any_of(table.pointers(), table.pointers() + table.size(),
                                      [&](const loupe_option* option) { return name == option->name; });
    if (is_known) known[name] = each.second;
  }
  return known;
}

std::unique_ptr<OptionSet> options_from(const YAML::Node& given) {
  const OptionTable table{health_options().pointers(), health_options().size()};
  Diagnostics faults("");
  auto options = OptionSet::from_yaml(table, known_part(given), "health", faults);
  if (faults.empty()) return options;
  Diagnostics none("");
  return OptionSet::from_yaml(table, YAML::Node(YAML::NodeType::Map), "health", none);
}

Settings settings_of(const RecordedRun& run) {
  Settings settings;
  YAML::Node health;
  try {
    Diagnostics faults("");
    const YAML::Node root = read_yaml(run.config, faults);
    if (root.IsMap()) {
      const YAML::Node attach = value_of(root, "attach");
      const auto name = [&](const char* key, std::string& into) {
        if (!attach.IsMap()) return;
        if (const YAML::Node written = value_of(attach, key); written.IsScalar()) into = written.Scalar();
      };
      name("train_loss", settings.train_loss);
      name("val_loss", settings.validation_loss);
      const YAML::Node lenses = value_of(root, "lenses");
      for (std::size_t i = 0; lenses.IsSequence() && i < lenses.size(); ++i) {
        const YAML::Node lens = lenses[i];
        if (lens.IsScalar() && lens.Scalar() == "health") settings.watched = true;
        if (lens.IsMap() && lens["health"].IsDefined()) {
          settings.watched = true;
          health = lens["health"];
        }
      }
    }
  } catch (const std::exception&) {
    // A record may hold no configuration, or one that this Loupe cannot read.
  }
  settings.options = options_from(health);
  return settings;
}

/// A module of the record, in the form that rules look at.
struct RecordedLayer {
  explicit RecordedLayer(std::string name_) : name(std::move(name_)) {
    module.struct_size = sizeof module;
    module.name = module.path = name.c_str();
    module.type = module.full_type = "";
    matrix = {.struct_size = sizeof(loupe_parameter),
              .flags = LOUPE_PARAMETER_TRAINABLE,
              .name = "weight",
              .dim = 2,
              .sizes = sizes};
  }
  RecordedLayer(const RecordedLayer&) = delete;
  RecordedLayer& operator=(const RecordedLayer&) = delete;

  std::string name;
  loupe_module module{};
  loupe_parameter matrix{};
  int64_t sizes[2] = {0, 0};
};

/// Offers nothing: there are no tensors in a record.
constexpr loupe_host host_of_records{
    .struct_size = sizeof(loupe_host),
    .abi_major = LOUPE_ABI_MAJOR,
    .abi_minor = LOUPE_ABI_MINOR,
    .version = LOUPE_VERSION,
    .plugin_path = "",
    .log = [](void*, int32_t, const char*) {},
    .get_extension = [](void*, const char*) -> const void* { return nullptr; },
    .name = "",
};

}  // namespace

class RecordedRules::Impl {
 public:
  explicit Impl(const RecordedRun& run)
      : settings_(settings_of(run)),
        options_(settings_.options->get()),
        limits_(options_),
        ledger_(rules_off(options_), options_.get<int>("patience"), options_.get<int>("cooldown")),
        host_(&host_of_records) {
    sink_ = {.struct_size = sizeof(loupe_sink),
             .context = this,
             .finding = [](void* self, const loupe_finding* finding, loupe_error* error) {
               return detail::guarded(error, [&] { static_cast<Impl*>(self)->keep(*finding); });
             }};
  }

  void take(const RecordLine& line, const std::string& text) {
    switch (line.kind) {
      case RecordLine::Kind::model:
        return take_model(text);
      case RecordLine::Kind::value:
        if (line.step == 0) take_value(line);
        return;
      case RecordLine::Kind::tick:
        if (!line.incomplete) judge(line);
        return begin_anew();
      default:
        return;
    }
  }
  std::vector<RecordLine> take_findings() { return std::exchange(findings_, {}); }
  bool was_watched() const { return settings_.watched; }
  int patience() const { return options_.get<int>("patience"); }
  const std::set<std::string>& judged() const { return judged_; }

 private:
  static std::set<std::string> rules_off(const Options& options) {
    const Strings names = options.get<Strings>("off");
    return {names.begin(), names.end()};
  }

  void take_model(const std::string& text) {
    const replay::RecordedModel model = replay::parse_model_line(text);
    // A model that is attached again, for example in a resumed run, counts once.
    if (model.parameters > 0) models_.insert(model.name);
    for (const auto& module : model.modules) {
      if (module.type.find("Norm") != std::string::npos) normalizing_.insert(module.name);
    }
  }

  void take_value(const RecordLine& line) {
    if (line.tag == "Loss" || line.tag == "Loss & Metrics") return take_loss(line);
    if (line.tag == "Non-Finite Values" &&
        (line.line == settings_.train_loss + " NaN" || line.line == settings_.train_loss + " Inf")) {
      loss_is_bad_ = line.value > 0;
    }
    if (line.tag == "Learning Rate") rate_ = std::max(rate_.value_or(0), line.value);
    const bool is_line = line.line == "mean" || line.line == "median";
    if (line.tag == "Weight Gradient Norm" && is_line) note(gradients_, line);
    if (line.tag == "Weight Update Ratio" && is_line) note(ratios_, line);
  }

  void take_loss(const RecordLine& line) {
    const auto is = [&](const std::string& name, const char* which) { return line.line == name + which; };
    for (const char* which : {" mean", " median"}) {
      if (is(settings_.train_loss, which) && !train_loss_) train_loss_ = line.value;
      if (is(settings_.validation_loss, which) && !validation_loss_) validation_loss_ = line.value;
    }
  }

  using Numbers = detail::KeyedList<std::pair<std::string, double>>;
  void note(Numbers& numbers, const RecordLine& line) const {
    const bool known = numbers.find(line.layer) != nullptr;
    if (!known && normalizing_.count(line.layer) == 0) numbers[line.layer] = {line.layer, line.value};
  }

  void judge(const RecordLine& tick) {
    tick_ = tick;
    ++ticks_;
    const bool is_bad = loss_is_bad_ || (train_loss_ && !std::isfinite(*train_loss_));
    broken_ = is_bad;
    Report report(&sink_);
    const health::Judge judge{ledger_, limits_, report, host_};
    if (train_loss_ || is_bad) judged_.insert(health::non_finite);
    if (is_bad) tell_bad_loss(judge.by(health::rule_named(health::non_finite)));
    judge_losses(judge);
    judge_numbers(judge);
    // After a loss that is not finite, findings of other rules stay open: these rules report nothing then.
    health::StretchEnd ended;
    ended.tick = true;
    ended.window = [](const loupe_module*) { return true; };
    ended.is_open = [this](const Finding& finding) { return broken_ && finding.rule != health::non_finite; };
    ledger_.end(report, ended);
  }

  static void tell_bad_loss(const health::Judge& judge) {
    judge.tell({.tag = "Loss"}, "the training loss is NaN or Inf",
               "run it again with the lens health, which shows where the first NaN or Inf was made");
  }

  bool has(health::Evidence evidence) const {
    switch (evidence) {
      case health::Evidence::training_loss:
        return train_loss_.has_value();
      case health::Evidence::both_losses:
        return train_loss_ && validation_loss_;
      case health::Evidence::weight_gradients:
        return gradients_.size() >= 3;
      case health::Evidence::update_ratios:
        return !ratios_.empty();
      default:
        return false;
    }
  }
  /// Applies the rules for that time for which the record has enough values.
  void judge_all(health::When when, const health::Judge& judge, const health::Situation& situation) {
    if (settings_.watched) return;  // the lens saw each step, and the optimizers
    for (const health::Rule& rule : health::rules()) {
      for (const auto& look : rule.looks) {
        if (look.when != when || !has(rule.evidence)) continue;
        judged_.insert(rule.name);
        look.judge(judge.by(rule, when), situation);
      }
    }
  }

  void judge_losses(const health::Judge& judge) {
    push(train_loss_, LOUPE_EVENT_TRAINING);
    push(validation_loss_, 0);
    health::Situation situation;
    situation.losses = &losses_;
    losses_.are_means = true;
    situation.has_slow_swings = false;  // each is the mean of an epoch
    judge_all(health::When::losses, judge, situation);
    losses_.end_epoch();
    if (models_.size() > 1 || broken_) return;
    judge_all(health::When::training_epoch, judge, situation);
    judge_all(health::When::validation_epoch, judge, situation);
  }
  void push(const std::optional<double>& loss, uint32_t flags) {
    if (!loss) return;
    loupe_event event{};
    event.struct_size = sizeof event;
    event.tap = LOUPE_TAP_PUSH;
    event.flags = flags | LOUPE_EVENT_LOSS;
    event.scalar = *loss;
    losses_.process(Event(&event));
  }

  const loupe_module* module_of(const std::string& layer) {
    return &layers_.try_emplace(layer, layer).first->second.module;
  }

  /// Takes weights in the order of the model, which is mostly that in which they run.
  void judge_numbers(const health::Judge& judge) {
    if (broken_) return;
    constexpr uint64_t window = 100;
    health::Model model("");
    model.steps = ticks_ * window;
    model.window.steps = window;
    std::map<std::string, std::size_t> places;
    const auto state_of = [&](const std::string& layer) -> health::ParameterState& {
      const auto [place, is_new] = places.try_emplace(layer, model.parameters.size());
      if (!is_new) return model.parameters[place->second];
      health::ParameterState& state = model.parameters.emplace_back();
      state.module = module_of(layer);
      state.parameter = &layers_.begin()->second.matrix;
      state.layer = layer;
      state.name = "weight";
      return state;
    };
    for (const auto& [layer, norm] : gradients_) {
      if (!std::isfinite(norm)) continue;
      health::ParameterState& state = state_of(layer);
      state.gradient_norm_sum = norm;
      state.gradient_count = 1;
    }
    for (const auto& [layer, ratio] : ratios_) {
      if (!std::isfinite(ratio)) continue;
      health::ParameterState& state = state_of(layer);
      state.ratio_count = window;
      state.ratio_sum = ratio * static_cast<double>(window);
      if (gradients_.empty()) state.gradient_norm_sum = 1;  // a parameter without a gradient must not affect the ratio
    }
    largest_rate_ = std::max(largest_rate_, rate_.value_or(0));
    health::Situation situation;
    situation.model = &model;
    situation.losses = &losses_;
    situation.is_annealed = rate_ && *rate_ < 0.05 * largest_rate_;
    situation.is_stuck = models_.size() <= 1 && !losses_.has_come_down();
    judge_all(health::When::window, judge, situation);
  }

  void begin_anew() {
    train_loss_ = validation_loss_ = rate_ = std::nullopt;
    loss_is_bad_ = false;
    gradients_.clear();
    ratios_.clear();
  }

  void keep(const loupe_finding& finding) {
    if (const loupe_finding* shown = board_.add(finding, tick_.step, tick_.epoch))
      findings_.push_back(line_of(Finding::from(*shown), tick_));
  }

  Settings settings_;
  Options options_;
  health::Limits limits_;
  health::Ledger ledger_;
  health::Losses losses_;
  Host host_;
  loupe_sink sink_{};
  FindingBoard board_;
  std::vector<RecordLine> findings_;
  std::set<std::string> judged_, models_, normalizing_;
  std::map<std::string, RecordedLayer> layers_;
  RecordLine tick_;
  uint64_t ticks_ = 0;
  bool broken_ = false;
  double largest_rate_ = 0;

  // These are of the epoch that is read.
  std::optional<double> train_loss_, validation_loss_, rate_;
  bool loss_is_bad_ = false;
  Numbers gradients_, ratios_;
};

RecordLine RecordedRules::line_of(const Finding& found, const RecordLine& tick) {
  RecordLine line;
  line.kind = RecordLine::Kind::finding;
  line.epoch = tick.epoch;
  line.severity = found.severity;
  line.state = found.state;
  if (found.is_over) line.state = LOUPE_FINDING_GONE;
  if (line.state == 0) line.state = LOUPE_FINDING_RAISED;
  line.rule = found.rule;
  line.layer = found.layer;
  line.parameter = found.parameter;
  line.message = found.message;
  line.advice = found.advice;
  line.tag = found.tag;
  line.source = "loupe diagnose";
  line.id = finding_number(line.source, line.rule, line.layer, line.parameter);
  line.caused_by = found.caused_by;
  line.value = found.value.value_or(NAN);
  line.threshold = found.threshold.value_or(NAN);
  line.first_step = found.first_step == 0 ? tick.step : found.first_step;
  line.last_step = found.last_step == 0 ? tick.step : found.last_step;
  line.first_epoch = found.first_epoch;
  line.last_epoch = found.last_epoch;
  line.count = found.count;
  return line;
}

RecordedRules::RecordedRules(const RecordedRun& run) : impl_(std::make_unique<Impl>(run)) {}
RecordedRules::~RecordedRules() = default;

void RecordedRules::take(const RecordLine& line, const std::string& text) {
  impl_->take(line, text);
}
std::vector<RecordLine> RecordedRules::take_findings() {
  return impl_->take_findings();
}
bool RecordedRules::was_watched() const {
  return impl_->was_watched();
}
int RecordedRules::patience() const {
  return impl_->patience();
}
std::vector<std::string> RecordedRules::judged() const {
  return {impl_->judged().begin(), impl_->judged().end()};
}
std::vector<std::string> RecordedRules::not_judged() const {
  std::vector<std::string> rules;
  for (const health::Rule& rule : health::rules()) {
    if (impl_->judged().count(rule.name) == 0 && std::string("departs_from_baseline") != rule.name)
      rules.emplace_back(rule.name);
  }
  return rules;
}

}  // namespace loupe
