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
/// A model of the same shape that is not trained and runs without gradients beside it; nothing has ever changed it.
struct StillTwin {
  const loupe_module* root = nullptr;
  std::string name;
  uint64_t passes = 0;
  bool began_elsewhere = false;  ///< with other weights than the model
};

/// When rules look at training. Those up to `tick` look at one model.
enum class When {
  settings,          ///< after each step of an optimizer that belongs to the model: what it is set to and holds
  optimizer,         ///< the same, where the step was looked at
  parameters,        ///< after a step, where something about a parameter is not as usual
  step,              ///< after each step
  window,            ///< at the end of a window of steps
  tick,              ///< at a tick
  speed,             ///< at a tick: what timed steps took, on a processor
  losses_of_models,  ///< at a tick with training losses, where several models train
  losses,            ///< after each step and at a tick: the single losses since the last time
  training_epoch,    ///< at a tick with training losses: the epochs so far
  validation_epoch,  ///< the same for validation losses
};

/// What a rule looks at, as far as `When` says. The mutexes of the model and of the losses are held.
struct Situation {
  Model* model = nullptr;
  Losses* losses = nullptr;
  RateHistory* rates = nullptr;
  const Speed* speed = nullptr;
  const Guessing* guessing = nullptr;          ///< of the one model that is trained
  const loupe_optimizer* optimizer = nullptr;  ///< null where the trainer reports its steps by hand
  double epochs_to_come = 0;      ///< in the trainer's loop after this one; 0 where unknown, and near its end
  bool is_annealed = false;       ///< the learning rate has come down as schedules end
  Trend trend = Trend::unknown;   ///< of the training loss, where one model is trained and does not act
  bool is_stuck = false;          ///< the loss has hardly come down
  bool has_loss_halved = false;   ///< since the first epoch
  bool has_other_models = false;  ///< several models are trained
  bool acts = false;              ///< any model, see Model::acts
  bool may_grow = false;          ///< any model, see Model::may_grow
  /// Root mean square of a model's input over that of the steps before; NaN where it was not looked at.
  double input_jump = 1;
  bool was_validated = false;             ///< a validation loss was pushed since the last tick
  bool was_stepped = false;               ///< an optimizer stepped since the last tick
  bool has_slow_swings = true;            ///< swings over many losses are a fault, as no schedule makes them on purpose
  const StillTwin* still_twin = nullptr;  ///< of the model
  Passes* passes = nullptr;               ///< of all models
  // By the loss functions of all models.
  bool compares_outputs = false;  ///< how alike outputs are
  bool compares_targets = false;  ///< outputs with targets
  bool compares_classes = false;  ///< scores with classes
  bool compares_numbers = false;  ///< by a distance
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

/// What a rule judges by, and where it reports what it sees.
struct Judge {
  Ledger& ledger;
  const Limits& limits;
  Report& report;
  const Host& host;
  const Rule* rule = nullptr;
  When when = When::step;  ///< it looks now
  const char* basis = "";  ///< " (seen in 24 of 812 steps)": of what it sees; empty where it looked at all

  Judge by(const Rule& other, When now = When::step) const {
    return {ledger, limits, report, host, &other, now, basis};
  }
  double limit(const char* name) const { return limits[name]; }
  /// Reports at once, as a rule that needs no threshold does.
  void tell(Observation seen, std::string message = {}, std::string advice = {}) const {
    ledger.tell(report, completed(std::move(seen), std::move(message), std::move(advice)));
  }
  /// Reports once this was seen in as many windows in a row as the option `patience` says.
  void see(Observation seen, std::string message = {}, std::string advice = {}) const {
    Observation whole = completed(std::move(seen), std::move(message), std::move(advice));
    whole.message += basis;
    ledger.see(report, std::move(whole));
  }

 private:
  /// With what the rule's row says of all its observations.
  Observation completed(Observation seen, std::string message, std::string advice) const;
};

/// What a record must have for `loupe diagnose` to apply a rule to it.
enum class Evidence { none, training_loss, both_losses, weight_gradients, update_ratios };

enum class Strength {
  likely,  ///< explains what is no worse than the cause
  sure,    ///< explains the effect whatever its severity, as the data of both show it
  hint     ///< the effect stays as bad as it is, and its advice names the cause first
};
/// Which findings a rule's finding can bring about: these become information that points to it.
struct Effects {
  std::vector<const char*> effects;  ///< rules
  Strength strength = Strength::likely;
  /// Whether what both saw belongs together; null where it is enough that both are of one model.
  bool (*agrees)(const Observation& cause, const Observation& effect) = nullptr;
  bool has(const char* rule) const {
    return std::ranges::any_of(effects, [&](const char* each) { return std::strcmp(each, rule) == 0; });
  }
};

/// One rule: all there is to know of it except the code of its functions. The lens, `loupe explain`, `loupe diagnose`
/// and the options read it.
struct Rule {
  struct Look {
    When when;
    void (*judge)(const Judge&, const Situation&);
  };
  const char* name;
  uint32_t severity = LOUPE_SEVERITY_WARNING;  ///< of its findings, where an observation has no other
  const char* tag = "";                        ///< the plot of a built-in lens that shows them; the same holds
  const char* help;                            ///< severity and meaning, a line
  const char* measure = "";                    ///< what is looked at, and where it has no limits, how much is too much
  const char* remedy = "";                     ///< the advice of its findings, where an observation has no other
  std::vector<Look> looks = {};                ///< none: the lens, or the host, applies it by itself
  std::vector<Option> limits = {};             ///< its thresholds, which rules may share
  bool is_blind_on_devices = false;            ///< it reads elements, which it can do on a processor only
  Evidence evidence = Evidence::none;
  std::vector<Effects> brings_about = {};
  /// It may last for so many epochs before it is seen: what was seen earlier does not follow from it. Most may hold
  /// from the first step on.
  uint64_t epochs_unseen = UINT64_MAX;
  /// A few lines of a trainer: each begins with '-' where it has the fault, with '+' where that is repaired, else with
  /// ' '. No line has more than 75 columns, so that `loupe explain` fits a terminal of 80.
  const char* example = "";
  /// The lines of the example with this sign, and those with ' ', without that.
  std::string lines_with(char sign) const;
  // Set by rules(): findings of thousands of layers are compared each with each.
  std::size_t number = 0;
  std::vector<bool> effects = {};  ///< by the number of a rule: whether it is among those that this one brings about
  bool may_bring_about(const Rule& other) const { return effects[other.number]; }
};

/// All rules, a theme after another. A cause looks before its effects.
const std::vector<Rule>& rules();
// The themes, each at the end of the source with its functions.
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

/// Throws Error where there is none of that name.
const Rule& rule_named(const char* name);
/// Applies all rules that look then.
void judge_all(When when, const Judge& judge, const Situation& situation);

/// The options of the lens, which `loupe diagnose` reads from the configuration of a past run.
std::vector<Option> options();

// Rules without looks that the lens applies itself.
constexpr const char* non_finite = "non_finite";
constexpr const char* unregistered_module = "unregistered_module";

/// After so many steps in a row a fault of a parameter is sure.
constexpr uint32_t steps_enough = 2;
/// A gradient as the optimizer took it.
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
/// "the model", or its name where there are several.
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
/// The parts one after another; numbers that are not whole as number() writes them.
template <class... Parts>
std::string sentence(const Parts&... parts) {
  return (text_of_part(parts) + ...);
}

}  // namespace loupe::health
