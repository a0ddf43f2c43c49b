// Rules about the gradients of a window, and about the steps that use them.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

double mean_gradient(const ParameterState& state) {
  return state.gradient_norm_sum / static_cast<double>(state.gradient_count);
}

std::vector<const ParameterState*> weights_with_gradients(const Model& model) {
  std::vector<const ParameterState*> weights;
  for (const ParameterState& each : model.parameters) {
    if (each.is_matrix() && each.gradient_count > 0) weights.push_back(&each);
  }
  return weights;
}

bool is_seen_to_run(const ParameterState& state) {
  return state.runs != nullptr && state.runs->first_run > 0;
}

/// One weight of each module on autograd's path to the last one, or of all modules where the path is unknown, in the
/// order in which they run. Leaves out gradients of 0: the loss does not depend on those weights, so nothing vanishes.
std::vector<const ParameterState*> weights_on_path(const Model& model) {
  std::vector<const ParameterState*> weights = weights_with_gradients(model);
  std::erase_if(weights, [](const ParameterState* each) { return mean_gradient(*each) == 0; });
  if (std::ranges::any_of(weights, [](const auto* each) { return is_seen_to_run(*each); })) {
    std::erase_if(weights, [](const ParameterState* each) { return !is_seen_to_run(*each); });
    std::ranges::stable_sort(weights, [](const ParameterState* a, const ParameterState* b) {
      return a->runs->first_run < b->runs->first_run;
    });
  }
  if (!model.path.empty()) {
    std::erase_if(weights,
                  [&](const ParameterState* each) { return std::ranges::find(model.path, each) == model.path.end(); });
  }
  std::vector<const ParameterState*> one_each;
  for (const ParameterState* each : weights) {
    const auto known =
        std::ranges::find_if(one_each, [&](const ParameterState* other) { return other->module == each->module; });
    if (known == one_each.end()) {
      one_each.push_back(each);
    } else if (mean_gradient(*each) > mean_gradient(**known)) {
      *known = each;
    }
  }
  return one_each;
}

/// How the gradient changes from the first layer with weights to the last.
struct Slope {
  const ParameterState *first, *last;
  double at_first, at_last;
  double ratio() const { return at_first / at_last; }
  std::string figures() const {
    return "the gradient norm of '" + first->layer + "' is " + number(at_first) + " and that of '" + last->layer +
           "' " + number(at_last);
  }
};

std::optional<Slope> slope_of(const std::vector<const ParameterState*>& weights) {
  if (weights.size() < 3) return std::nullopt;
  const Slope slope = {weights.front(), weights.back(), mean_gradient(*weights.front()),
                       mean_gradient(*weights.back())};
  return slope.at_last > 0 ? std::optional(slope) : std::nullopt;
}

Observation observation_of(const Slope& slope, double limit) {
  return {.module = slope.first->module,
          .parameter = slope.first->name,
          .value = slope.ratio(),
          .threshold = limit,
          .place = is_seen_to_run(*slope.first) ? slope.first->runs->first_run : 0};
}

/// The gradients' norm at the last step as a share of that after backward: less than 1 if they were divided by the
/// scale of the loss, or clipped; 1 if unknown.
double share_used(const Judge& judge, const Model& model) {
  double squares = 0;
  for (const ParameterState& each : model.parameters) {
    if (each.is_matrix() && each.gradient_count > 0) squares += used_gradient(judge, each).squares;
  }
  const double now = model.step.sums.weights.gradient_squares;
  const double made = now > 0 ? now : model.last_gradient_squares;
  return squares > 0 && made > squares ? std::sqrt(squares / made) : 1;
}

/// Reports a gradient that is far too large for its parameter at any learning rate.
void judge_size(const Judge& judge, const Model& model, const std::vector<const ParameterState*>& weights) {
  const ParameterState* worst = nullptr;
  double largest = 0;
  for (const ParameterState* each : weights) {
    const double size = each->norm > 0 ? mean_gradient(*each) / each->norm : 0;
    if (size <= largest) continue;
    largest = size;
    worst = each;
  }
  if (worst == nullptr || largest <= judge.limit("exploding_norm")) return;
  const double share = share_used(judge, model);
  largest *= share;
  if (largest <= judge.limit("exploding_norm")) return;
  judge.tell(
      {.module = worst->module, .parameter = worst->name, .value = largest, .threshold = judge.limit("exploding_norm")},
      sentence("the gradient norm of '", worst->layer, "' is ", share * mean_gradient(*worst), ", which is ", largest,
               " times the norm of the weights themselves"));
}

/// Whether a step of the optimizer can make a change of that size; if not, weights were loaded.
bool is_within_reach(const ParameterState& state, const loupe_optimizer* optimizer) {
  constexpr double room = 20;  // optimizers may enlarge a gradient at their first step
  if (optimizer == nullptr) return true;
  double rate = 0;
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    const double its = learning_rate_of(*optimizer->groups[i]).value_or(NAN);
    if (std::isnan(its)) return true;
    rate = std::max(rate, std::abs(its));
  }
  const bool is_plain = std::string_view(optimizer->type) == "SGD";
  const double size = is_plain ? state.gradient_norm : std::sqrt(static_cast<double>(state.parameter->numel));
  return state.change_norm <= room * rate * size;
}

/// Whether the gradients become smaller from nearly every layer to the one before it.
bool shrinks_layer_by_layer(const std::vector<const ParameterState*>& weights) {
  constexpr std::size_t layers_enough = 5;
  constexpr double nearly_all = 0.8;
  std::size_t smaller = 0;
  for (std::size_t i = 1; i < weights.size(); ++i)
    smaller += mean_gradient(*weights[i - 1]) < mean_gradient(*weights[i]) ? 1 : 0;
  return weights.size() >= layers_enough &&
         static_cast<double>(smaller) >= nearly_all * static_cast<double>(weights.size() - 1);
}

/// Advises remedies that the layers on the way do not yet have.
std::string advice_against_vanishing(const Model& model, const Slope& slope, std::size_t depth) {
  constexpr std::size_t deep = 4;
  const auto has = [&](auto&& is_so) {
    return std::ranges::any_of(model.layers, [&](const Layer& layer) {
      const bool is_between =
          slope.first->runs == nullptr || slope.last->runs == nullptr ||
          (layer.first_run > slope.first->runs->first_run && layer.first_run < slope.last->runs->first_run);
      return is_between && is_so(layer);
    });
  };
  // A layer whose input is not the output of the layer before may get a sum.
  const auto may_be_given_a_sum = [](const Layer& layer) {
    return (layer.has_usual ? layer.usual_from : layer.neighbours.from) == nullptr;
  };
  std::string means;
  if (has([](const Layer& layer) { return layer.role == Role::bounded; }))
    means += "ReLU-like activations instead of sigmoid or tanh, ";
  if (!has([](const Layer& layer) { return layer.role == Role::normalization; }))
    means += "normalization between layers, ";
  if (depth >= deep && !has(may_be_given_a_sum)) means += "skip connections, ";
  return "use " + means + (means.empty() ? "" : "or ") + "a better initialization";
}

/// The exponent of a number's lowest bit that is set.
int lowest_exponent(double value) {
  constexpr int digits = 53;
  int exponent = 0;
  const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), digits));
  return exponent - digits + __builtin_ctzll(static_cast<unsigned long long>(mantissa));
}

/// Some elements of a gradient: the number of zeros, and the power of 2 that divides all others.
struct Grid {
  int64_t seen = 0, zeros = 0;
  int exponent = 1024;
  double smallest = INFINITY, largest = 0;

  explicit Grid(const Elements& gradient) {
    constexpr int64_t most_looked_at = 256;
    gradient.sample(most_looked_at, [&](int64_t place) {
      const double value = std::abs(gradient.at(place));
      if (!std::isfinite(value)) return;
      ++seen;
      if (value == 0) {
        ++zeros;
        return;
      }
      exponent = std::min(exponent, lowest_exponent(value));
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    });
  }
  double zero_share() const { return static_cast<double>(zeros) / static_cast<double>(seen); }
  /// Whether numbers below float16's smallest became 0: all others are multiples of that number and some are near it,
  /// or of a fraction of it if the gradients of a scaled loss were divided by the scale.
  bool underflows() const {
    constexpr int64_t fewest = 2;
    constexpr int of_float16 = -24, largest_scale = 32, few_bits = 4;
    if (seen - zeros < fewest || exponent > of_float16 || exponent < of_float16 - largest_scale) return false;
    return smallest < std::ldexp(1.0, exponent + few_bits);
  }
};

void judge_vanishing(const Judge& judge, const Situation& situation) {
  // Gradients before a weight that began at zero, as for an output or a gate, are small until it has grown.
  const auto& parameters = situation.model->parameters;
  if (std::ranges::any_of(parameters, [](const auto& each) { return each.is_still_small(); })) return;
  const std::vector<const ParameterState*> weights = weights_on_path(*situation.model);
  const auto slope = slope_of(weights);
  if (!slope) return;
  // AutoTrainer's limit is for nets that may still learn; if the loss does not fall, a weaker sign is enough.
  constexpr double more_where_stuck = 10;
  const bool holds_back = situation.is_stuck && shrinks_layer_by_layer(weights);
  const double limit = judge.limit("vanishing_ratio") * (holds_back ? more_where_stuck : 1);
  if (!(slope->ratio() < limit)) return;
  Observation seen = observation_of(*slope, limit);
  if (slope->at_first < judge.limit("vanishing_norm")) seen.severity = LOUPE_SEVERITY_ERROR;
  judge.see(seen,
            sentence("gradients vanish on the way to the first layer: ", slope->figures(), ", a ratio of ",
                     slope->ratio(), holds_back ? ", and the loss has fallen by less than a tenth" : ""),
            advice_against_vanishing(*situation.model, *slope, weights.size()));
}

void judge_exploding(const Judge& judge, const Situation& situation) {
  judge_size(judge, *situation.model, weights_with_gradients(*situation.model));
  auto slope = slope_of(weights_on_path(*situation.model));
  if (!slope) return;
  const double limit = judge.limit("exploding_ratio");
  if (!(slope->ratio() > limit) || !(slope->at_first > 1)) return;
  const double share = share_used(judge, *situation.model);
  slope->at_first *= share;
  slope->at_last *= share;
  if (!(slope->at_first > 1)) return;
  judge.see(
      observation_of(*slope, limit),
      sentence("gradients explode on the way to the first layer: ", slope->figures(), ", a ratio of ", slope->ratio()));
}

/// Compares the norm over all weights with the largest so far, after each step.
void judge_gradient_jump(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  constexpr uint64_t steps_enough = 10;
  const StepSums::Part& part = model.step.sums.deciding();
  if (part.largest == nullptr) return;
  const double norm = std::sqrt(part.gradient_squares);
  const double limit = judge.limit("exploding_factor") * model.largest_gradient;
  const ParameterState* largest = nullptr;
  if (model.gradient_steps >= steps_enough && norm > limit && norm > 1) largest = model.parameter_of(part.largest);
  const double used = largest != nullptr ? share_used(judge, model) * norm : 0;
  if (used > limit && used > 1) {
    Observation seen{
        .module = largest->module,
        .parameter = largest->name,
        .message = sentence("the gradient's norm is ", used, ", while the largest of the ", model.gradient_steps,
                            " steps before was ", model.largest_gradient, "; most of it is in '", largest->layer, "'"),
        .value = used,
        .threshold = limit};
    // Unmeasured steps may have been as large, so it must keep growing.
    if (model.had_gaps) {
      judge.see(seen);
    } else {
      judge.tell(seen);
    }
  }
  model.largest_gradient = std::max(model.largest_gradient, norm);
  ++model.gradient_steps;
}

void judge_first_step(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (model.steps != 1) return;
  const ParameterState* worst = nullptr;
  std::size_t replaced = 0, all = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || !each.stepped || !each.has_change || each.change_norm == 0) continue;
    ++all;
    if (!each.is_replaced() || !is_within_reach(each, situation.optimizer)) continue;
    ++replaced;
    if (worst == nullptr || each.norm > worst->norm) worst = &each;
  }
  // A model starts near 0 intentionally only in parts, and one step may solve a linear model.
  if (worst == nullptr || 2 * replaced <= all || all == 1 || model.searches_steps) return;
  model.overshoot =
      sentence("the first step replaced ", replaced, " of ", all, " weights instead of adjusting them: that of '",
               worst->layer, "' has a norm of ", worst->norm, " now, and was changed by ", worst->change_norm);
  judge.tell(
      {.module = worst->module, .parameter = worst->name, .value = worst->change_norm / worst->norm, .threshold = 0.95},
      model.overshoot, "lower the learning rate: a normal step changes a weight by 1e-4 to 1e-2 of its norm");
}

void judge_update_ratios(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (model.searches_steps) return;
  // Steps may be larger during the warm-up.
  const bool is_first = model.steps == model.window.steps;
  const double highest = is_first ? 3 * judge.limit("update_high") : judge.limit("update_high");
  // Steps are small once training has converged.
  constexpr double of_largest = 0.01;
  double gradient_squares = 0;
  for (const ParameterState& each : model.parameters)
    gradient_squares += each.is_matrix() ? mean_gradient(each) * mean_gradient(each) : 0;
  const bool has_arrived = std::sqrt(gradient_squares) < of_largest * model.largest_gradient;
  const ParameterState* worst = nullptr;
  double worst_ratio = 0;
  std::size_t high = 0, low = 0, all = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.ratio_count < fewest_looks_in_window || each.gradient_norm_sum == 0) continue;
    if (each.began_at_zero) continue;
    const double ratio = each.mean_ratio();
    ++all;
    const bool is_high = ratio > highest;
    const bool is_low = ratio < judge.limit("update_low") && !situation.is_annealed && !has_arrived && !is_first &&
                        !each.may_change_unseen();
    high += is_high ? 1 : 0;
    low += is_low ? 1 : 0;
    if (is_high && (worst == nullptr || ratio > worst_ratio)) {
      worst = &each;
      worst_ratio = ratio;
    } else if (is_low && high == 0 && (worst == nullptr || ratio < worst_ratio)) {
      worst = &each;
      worst_ratio = ratio;
    }
  }
  // A weight that began at 0 has large relative steps for a while, and a few steps may solve a linear model.
  if (worst == nullptr || (is_first && (2 * high < all || all == 1))) return;
  const std::string of_all = std::to_string(high > 0 ? high : low) + " of " + std::to_string(all) + " weights";
  Observation seen{.module = worst->module,
                   .parameter = worst->name,
                   .message = sentence("a step changes '", worst->layer, "' by ", worst_ratio, " of its norm, too ",
                                       (high > 0 ? "much" : "little"), ", as for ", of_all, "; 1e-4 to 1e-2 is usual"),
                   .advice = high > 0 ? "lower the learning rate" : "raise the learning rate",
                   .value = worst_ratio,
                   .threshold = high > 0 ? highest : judge.limit("update_low")};
  if (high > 0) model.overshoot = seen.message;
  if (is_first) return judge.tell(seen);
  judge.see(seen);
}

void judge_underflow(const Judge& judge, const Situation& situation) {
  constexpr double half = 0.5;
  for (const ParameterState& each : situation.model->parameters) {
    if (!each.is_matrix() || each.gradient_count == 0) continue;
    read(judge.host, each, true, [&](const Elements& gradient) {
      const Grid grid(gradient);
      if (!grid.underflows() || grid.zero_share() < half) return;
      judge.see({.module = each.module, .parameter = each.name, .value = grid.zero_share(), .threshold = half},
                sentence(percent(grid.zero_share()), " of the gradient of ", shown(each), " is 0, and the rest, up to ",
                         grid.largest, ", are multiples of ", std::ldexp(1.0, grid.exponent),
                         ": numbers too small for float16 become 0"));
    });
  }
}

}  // namespace

std::vector<Rule> gradient_rules() {
  return {
      {.name = "vanishing_gradient",
       .tag = "Weight Gradient Norm",
       .help = "error or warning; the first layer's gradient is far below the last's",
       .remedy = "use ReLU-like activations, normalization between layers, skip connections or a better initialization",
       .looks = {{When::window, &judge_vanishing}},
       .limits = {{"vanishing_ratio", 1e-3,
                   "first layer's gradient norm over the last's, below which it vanishes (AutoTrainer); ten times that "
                   "where the loss stays and the norm shrinks layer by layer",
                   0.0},
                  {"vanishing_norm", 1e-4,
                   "and its own norm, below which that is an error rather than a warning (AutoTrainer)", 0.0}},
       .evidence = Evidence::weight_gradients,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 2,
       .example = R"( for (int i = 0; i < 12; ++i) {
   net->push_back(torch::nn::Linear(64, 64));
-  net->push_back(torch::nn::Sigmoid());  // its slope is at most 0.25
+  net->push_back(torch::nn::ReLU());
 })"},
      {.name = "exploding_gradient",
       .tag = "Weight Gradient Norm",
       .help = "warning; the first layer's gradient is far above the last's, or a norm far above all before",
       .remedy = "clip the gradients between backward() and step() (torch::nn::utils::clip_grad_norm_), lower the "
                 "learning rate, use smaller weights, normalize inputs, and check the batch of this step",
       .looks = {{When::step, &judge_gradient_jump}, {When::window, &judge_exploding}},
       .limits = {{"exploding_ratio", 70.0,
                   "the first layer's gradient norm over the last's, above which gradients explode (AutoTrainer)", 1.0},
                  {"exploding_factor", 10.0,
                   "a gradient norm over the largest so far, above which it explodes, from the eleventh step on", 1.0},
                  {"exploding_norm", 1e3, "a gradient norm over the norm of its weights, above which it explodes",
                   0.0}},
       .evidence = Evidence::weight_gradients,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 1,
       .example = R"(-loss.backward();  // through 500 steps of an RNN
+loss.backward();
+torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
 optimizer.step();)"},
      {.name = "gradient_underflow",
       .tag = "Gradient Norm",
       .help = "warning; most of a gradient is too small for float16, and became 0",
       .measure = "256 elements of each gradient: at least half are 0, and the others are multiples of float16's "
                  "smallest number",
       .remedy = "compute in bfloat16, which has float's range; or keep parameters in float, scale the loss (such as "
                 "by 65536) before backward(), and divide gradients by that before the step",
       .looks = {{When::window, &judge_underflow}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-model->to(torch::kHalf);
-loss.backward();  // below 3e-8 a gradient becomes 0
+model->to(torch::kBFloat16);  // has the range of float
+loss.backward();
 optimizer.step();)"},
  };
}

std::vector<Rule> update_rules() {
  return {
      {.name = "update_ratio",
       .tag = "Weight Update Ratio",
       .help = "warning; a step's norm over the parameter's, too large or too small",
       .remedy = "lower the learning rate where steps are too large, raise it where they are too small",
       .looks = {{When::step, &judge_first_step}, {When::window, &judge_update_ratios}},
       .limits = {{"update_low", 1e-6,
                   "update norm over parameter norm, below which hardly anything is learned; the usual range is 1e-4 "
                   "to 1e-2 (Karpathy, CS231n: 1e-3)",
                   0.0},
                  {"update_high", 0.1,
                   "a step's norm over the parameter's, above which steps are too large; three times that in the first "
                   "window, as warm-ups need",
                   0.0}},
       .evidence = Evidence::update_ratios,
       .example = R"(-// A step of Adam changes each weight by about its learning rate.
-torch::optim::Adam optimizer(model->parameters(), 0.5);
+torch::optim::Adam optimizer(model->parameters(), 1e-3);)"},
  };
}

}  // namespace loupe::health
