#pragma once

#include <loupe/host.h>
#include <loupe/options.h>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health/rules/ledger.h"
#include "health/rules/losses.h"
#include "health/rules/model.h"

namespace loupe::health {

struct RateHistory;
class Speed;
/// An untrained model of the same shape that runs without gradients; it has never changed.
struct StillTwin {
  const loupe_module* root = nullptr;
  std::string name;
  uint64_t passes = 0;
  bool began_elsewhere = false;  ///< it began with other weights than the model
};

/// When rules are applied. Those up to `tick` judge one model.
enum class When {
  settings,          ///< after each step of an optimizer of the model: its settings and parameters
  optimizer,         ///< the same, if the step was measured
  parameters,        ///< after a step in which some parameter was unusual
  step,              ///< after each step
  window,            ///< at the end of a window of steps
  tick,              ///< at a tick
  speed,             ///< at a tick: the times of timed steps, on a processor
  losses_of_models,  ///< at a tick with training losses, if several models train
  losses,            ///< after each step and at a tick: the single losses since the last time
  training_epoch,    ///< at a tick with training losses: the epochs so far
  validation_epoch,  ///< the same for validation losses
};

/// The state that a rule judges; `When` decides which members are set. The mutexes of the model and of the losses are
/// held.
struct Situation {
  Model* model = nullptr;
  Losses* losses = nullptr;
  RateHistory* rates = nullptr;
  const Speed* speed = nullptr;
  const Guessing* guessing = nullptr;          ///< the comparison with a guess, of the only trained model
  const loupe_optimizer* optimizer = nullptr;  ///< null if the trainer reports its steps by hand
  uint64_t epoch = 0;                          ///< at a tick: the number of the epoch that ends
  double epochs_to_come = 0;      ///< the epochs that follow in the trainer's loop; 0 if unknown, and near its end
  bool is_annealed = false;       ///< the learning rate has fallen as at the end of a schedule
  Trend trend = Trend::unknown;   ///< the trend of the training loss, if only one model is trained and does not act
  bool is_stuck = false;          ///< the loss has hardly fallen
  bool has_loss_halved = false;   ///< the loss has halved since the first epoch
  bool has_other_models = false;  ///< several models are trained
  bool acts = false;              ///< any model, see Model::acts
  bool may_grow = false;          ///< any model, see Model::may_grow
  /// Root mean square of a model's input divided by that of the steps before; NaN if not measured.
  double input_jump = 1;
  bool was_validated = false;             ///< a validation loss was pushed since the last tick
  bool was_stepped = false;               ///< an optimizer stepped since the last tick
  bool has_slow_swings = true;            ///< swings over many losses are a fault, since no schedule causes them
  const StillTwin* still_twin = nullptr;  ///< the still twin of the model
  Passes* passes = nullptr;               ///< the backward passes of all models
  // The values that the loss functions of all models compare.
  bool compares_outputs = false;  ///< outputs with outputs, by likeness
  bool compares_targets = false;  ///< outputs with targets
  bool compares_classes = false;  ///< scores with classes
  bool compares_numbers = false;  ///< numbers, by a distance
};

/// The thresholds of all rules, as the user set them.
class Limits {
 public:
  explicit Limits(const Options& options);
  /// Throws Error for a name that no rule declares.
  double operator[](const char* name) const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

/// The context in which a rule judges, and where it reports.
struct Judge {
  Ledger& ledger;
  const Limits& limits;
  Report& report;
  const Host& host;
  const Rule* rule = nullptr;
  When when = When::step;  ///< the current occasion
  const char* basis = "";  ///< " (seen in 24 of 812 steps)", for its messages; empty if all were measured

  Judge by(const Rule& other, When now = When::step) const {
    return {ledger, limits, report, host, &other, now, basis};
  }
  double limit(const char* name) const { return limits[name]; }
  /// Reports at once, for rules without a threshold.
  void tell(Observation seen, std::string message = {}, std::string advice = {}) const {
    ledger.tell(report, completed(std::move(seen), std::move(message), std::move(advice)));
  }
  /// Reports once this was seen in `patience` windows in a row.
  void see(Observation seen, std::string message = {}, std::string advice = {}) const {
    Observation whole = completed(std::move(seen), std::move(message), std::move(advice));
    whole.message += basis;
    ledger.see(report, std::move(whole));
  }

 private:
  /// Fills in the defaults of the rule.
  Observation completed(Observation seen, std::string message, std::string advice) const;
};

/// The data that `loupe diagnose` needs in a record to apply a rule.
enum class Evidence { none, training_loss, both_losses, weight_gradients, update_ratios };

enum class Strength {
  likely,  ///< explains findings that are no worse than the cause
  sure,    ///< explains findings of any severity, as the data of both prove it
  hint     ///< the effect keeps its severity, and its advice names the cause first
};
/// The findings that a rule's finding can bring about: these become info that points to it.
struct Effects {
  std::vector<const char*> effects;  ///< rules
  Strength strength = Strength::likely;
  /// Whether two observations belong together; null if it is enough that both are about one model.
  bool (*agrees)(const Observation& cause, const Observation& effect) = nullptr;
  bool has(const char* rule) const {
    return std::ranges::any_of(effects, [&](const char* each) { return std::strcmp(each, rule) == 0; });
  }
};

/// One rule: all its data except the code of its functions. The lens, `loupe explain`, `loupe diagnose` and the options
/// read it.
struct Rule {
  struct Look {
    When when;
    void (*judge)(const Judge&, const Situation&);
  };
  const char* name;
  uint32_t severity = LOUPE_SEVERITY_WARNING;  ///< of its findings, unless an observation has another
  const char* tag = "";              ///< the plot of a built-in lens that shows them, unless an observation has another
  const char* help;                  ///< severity and meaning, a line
  const char* measure = "";          ///< the measured quantity and, without limits, how much is too much
  const char* remedy = "";           ///< the advice of its findings, unless an observation has another
  std::vector<Look> looks = {};      ///< none: the lens or the host applies it itself
  std::vector<Option> limits = {};   ///< its thresholds, which rules may share
  bool is_blind_on_devices = false;  ///< it reads elements, which is possible only on a processor
  Evidence evidence = Evidence::none;
  std::vector<Effects> brings_about = {};
  /// The number of epochs for which it may last unseen: earlier findings do not follow from it. Most faults may exist
  /// from the first step on.
  uint64_t epochs_unseen = UINT64_MAX;
  /// A few lines of a trainer: a line with the fault begins with '-', a repaired one with '+', others with ' '. No line
  /// has more than 75 columns, so `loupe explain` fits a terminal of 80.
  const char* example = "";
  /// The lines of the example with this sign or ' ', without the sign.
  std::string lines_with(char sign) const;
  // Set by rules() for speed: the findings of thousands of layers are compared pairwise.
  std::size_t number = 0;
  std::vector<bool> effects = {};  ///< by the number of a rule: whether this rule can bring it about
  bool may_bring_about(const Rule& other) const { return effects[other.number]; }
};

/// All rules, by theme. A cause comes before its effects.
const std::vector<Rule>& rules();
// The themes, each defined at the end of the source with its functions.
std::vector<Rule> loop_rules();
std::vector<Rule> data_rules();
std::vector<Rule> comparison_rules();
std::vector<Rule> optimizer_rules();
std::vector<Rule> setting_rules();
std::vector<Rule> loss_input_rules();
std::vector<Rule> clipping_rules();
std::vector<Rule> gradient_rules();
std::vector<Rule> activation_rules();
std::vector<Rule> update_rules();
std::vector<Rule> layer_rules();
std::vector<Rule> collapse_rules();
std::vector<Rule> loss_rules();
std::vector<Rule> speed_rules();

/// Throws Error if there is no rule of that name.
const Rule& rule_named(const char* name);
/// Applies all rules of this occasion.
void judge_all(When when, const Judge& judge, const Situation& situation);

/// The options of the lens, which `loupe diagnose` reads from the configuration of a past run.
std::vector<Option> options();

// Rules that the lens applies itself.
constexpr const char* non_finite = "non_finite";
constexpr const char* unregistered_module = "unregistered_module";

/// After this many steps in a row a fault of a parameter is certain.
constexpr uint32_t steps_enough = 2;
/// A gradient when the optimizer used it.
struct UsedGradient {
  double squares = 0, largest = 0;
  bool is_known = false;
};
UsedGradient used_gradient(const Judge& judge, const ParameterState& state);
/// Whether any group's learning rate is not 0, as far as known. `optimizer` may be null.
bool has_rate(const loupe_optimizer* optimizer);

// Words for messages.
/// "'weight' of 'fc1'".
std::string shown(const ParameterState& state);
/// "the model", or its name if there are several.
std::string whose(const Model& model);
/// "0.0012", "3.4e-05".
std::string number(double value);
/// "12 %".
std::string percent(double share);

inline std::string text_of_part(std::string_view part) {
  return std::string(part);
}
inline std::string text_of_part(double part) {
  return number(part);
}
inline std::string text_of_part(std::integral auto part) {
  return std::to_string(part);
}
/// Joins the parts; number() formats those that are not integers.
template <class... Parts>
std::string sentence(const Parts&... parts) {
  return (text_of_part(parts) + ...);
}

}  // namespace loupe::health
