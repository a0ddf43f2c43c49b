// Rules that judge the numbers of a window. Each has a threshold; see Limits.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "health/elements.h"
#include "health/judge.h"

namespace loupe::health {
namespace {

/// The weights that got gradients, in the order in which their layers run.
std::vector<const ParameterState*> weights_in_order(const Model& model) {
  struct Placed {
    uint64_t place;
    const ParameterState* state;
  };
  std::vector<Placed> placed;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.gradient_count == 0) continue;
    const bool is_seen = each.runs != nullptr && each.runs->first_run > 0;
    placed.push_back({is_seen ? each.runs->first_run : placed.size() + 1, &each});
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.place < b.place; });
  std::vector<const ParameterState*> states;
  for (const Placed& each : placed) states.push_back(each.state);
  return states;
}

double mean_gradient(const ParameterState& state) {
  return state.gradient_norm_sum / static_cast<double>(state.gradient_count);
}

double variance(const Layer& layer) {
  return layer.start_variance / static_cast<double>(layer.start_looks);
}

/// Weights whose rows are all one: its units compute the same, and learn the same.
bool has_equal_rows(const loupe_tensor& tensor) {
  const Elements weight(&tensor);
  if (!weight.readable() || weight.dim() < 2 || weight.size(0) < 2) return false;
  const int64_t columns = weight.count() / weight.size(0);
  // Some processors add up units that are equal in orders of their own, so that a few steps round them differently.
  constexpr double rounding = 1e-6;
  double largest = 0;
  for (int64_t column = 0; column < columns; ++column) largest = std::max(largest, std::abs(weight.at(column)));
  for (int64_t row = 1; row < weight.size(0); ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      if (!(std::abs(weight.at(row * columns + column) - weight.at(column)) <= rounding * largest)) return false;
    }
  }
  return true;
}

void judge_variances(const Judge& judge, const Model& model) {
  std::vector<const Layer*> layers;
  for (const Layer& layer : model.layers) {
    if ((layer.role == Role::linear || layer.role == Role::convolution) && layer.start_looks > 0 && layer.first_run > 0)
      layers.push_back(&layer);
  }
  if (layers.size() < 3) return;
  std::sort(layers.begin(), layers.end(), [](const Layer* a, const Layer* b) { return a->first_run < b->first_run; });
  const double first = variance(*layers.front()), last = variance(*layers.back());
  if (!(first > 0) || !std::isfinite(last)) return;
  const double steps = static_cast<double>(layers.size() - 1);
  const double factor = std::pow(std::max(last, 1e-300) / first, 1 / steps);
  // The usual initialization shrinks the variance, by ReLU to a tenth a layer and by sigmoid to a fortieth.
  constexpr double more_to_shrink = 3;
  constexpr std::size_t layers_to_shrink = 4;
  const double limit = judge.limits.variance_factor;
  const bool grows = factor > limit;
  const bool shrinks = factor < 1 / (more_to_shrink * limit) && layers.size() >= layers_to_shrink;
  if (!grows && !shrinks) return;
  Sight sight;
  sight.rule = "poor_initialization";
  sight.module = layers.back()->module;
  sight.value = factor;
  sight.threshold = grows ? limit : 1 / (more_to_shrink * limit);
  sight.message = "at the first step the variance of the outputs goes from " + number(first) + " at '" +
                  layers.front()->name + "' to " + number(last) + " at '" + layers.back()->name + "', by a factor of " +
                  number(factor) + " a layer";
  sight.advice =
      "initialize the weights for their activation (torch::nn::init::kaiming_normal_ for ReLU, "
      "xavier_normal_ for tanh), or normalize between layers";
  judge.tell(sight);
}

/// A gradient so much larger than its parameter that no rate fits both.
void judge_size(const Judge& judge, const std::vector<const ParameterState*>& weights) {
  const ParameterState* worst = nullptr;
  double largest = 0;
  for (const ParameterState* each : weights) {
    const double size = each->norm > 0 ? mean_gradient(*each) / each->norm : 0;
    if (size <= largest) continue;
    largest = size;
    worst = each;
  }
  if (worst == nullptr || largest <= judge.limits.exploding_norm) return;
  Sight sight;
  sight.rule = "exploding_gradient";
  sight.module = worst->module;
  sight.parameter = worst->name;
  sight.value = largest;
  sight.threshold = judge.limits.exploding_norm;
  sight.tag = "Weight Gradient Norm";
  sight.message = "the gradient norm of '" + worst->layer + "' is " + number(mean_gradient(*worst)) + ", which is " +
                  number(largest) + " times the norm of the weights themselves";
  sight.advice = "initialize with smaller weights, normalize inputs and targets, or clip the gradients";
  judge.tell(sight);
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

}  // namespace

void judge_equal_units(const Judge& judge, Model& model) {
  model.has_equal_units = false;
  for (const ParameterState& each : model.parameters) {
    const Layer* layer = each.runs;
    const bool has_units = layer != nullptr && (layer->role == Role::linear || layer->role == Role::convolution);
    if (!has_units || !each.is_matrix() || !each.is(LOUPE_PARAMETER_TRAINABLE) || each.steps_with_gradient < 2)
      continue;
    bool equal = false;
    judge.host.lend_parameter(each.module, each.name.c_str(), false,
                              [&](const loupe_tensor& tensor) { equal = has_equal_rows(tensor); });
    if (!equal) continue;
    model.has_equal_units = true;
    Sight sight;
    sight.rule = "poor_initialization";
    sight.severity = LOUPE_SEVERITY_ERROR;
    sight.module = each.module;
    sight.parameter = each.name;
    sight.message = "all units of '" + each.layer + "' have the same weights, also after " +
                    std::to_string(each.steps) + " steps: they learn the same and count as one";
    sight.advice = "initialize the weights at random, such as by torch::nn::init::kaiming_uniform_";
    judge.tell(sight);
  }
}

void judge_start(const Judge& judge, Model& model) {
  judge_variances(judge, model);
  judge_equal_units(judge, model);
}

void judge_gradients(const Judge& judge, Model& model, bool stuck) {
  if (model.steps_in_window < fewest_looks_in_window) return;
  const std::vector<const ParameterState*> weights = weights_in_order(model);
  if (weights.size() < 3) return;
  const double first = mean_gradient(*weights.front()), last = mean_gradient(*weights.back());
  if (!(last > 0)) return;
  const double ratio = first / last;
  const std::string figures = "the gradient norm of '" + weights.front()->layer + "' is " + number(first) +
                              " and that of '" + weights.back()->layer + "' " + number(last);
  Sight sight;
  sight.module = weights.front()->module;
  sight.parameter = weights.front()->name;
  sight.value = ratio;
  sight.tag = "Weight Gradient Norm";
  // AutoTrainer's limit is for nets that may learn all the same; where nothing is learned, less says enough.
  constexpr double more_where_stuck = 10;
  const bool holds_back = stuck && shrinks_layer_by_layer(weights);
  const double vanished = judge.limits.vanishing_ratio * (holds_back ? more_where_stuck : 1);
  if (ratio < vanished) {
    sight.rule = "vanishing_gradient";
    sight.severity = first < judge.limits.vanishing_norm ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_WARNING;
    sight.threshold = vanished;
    sight.message = "gradients vanish on the way to the first layer: " + figures + ", a ratio of " + number(ratio) +
                    (holds_back ? ", and the loss has come down by less than a tenth" : "");
    sight.advice =
        "use ReLU-like activations instead of sigmoid or tanh, normalization or skip connections between "
        "layers, or a better initialization";
    judge.see(sight);
  }
  judge_size(judge, weights);
  if (ratio > judge.limits.exploding_ratio && first > 1) {
    sight.rule = "exploding_gradient";
    sight.severity = LOUPE_SEVERITY_WARNING;
    sight.threshold = judge.limits.exploding_ratio;
    sight.message = "gradients explode on the way to the first layer: " + figures + ", a ratio of " + number(ratio);
    sight.advice =
        "clip the gradients (torch::nn::utils::clip_grad_norm_), lower the learning rate, or initialize with "
        "smaller weights";
    judge.see(sight);
  }
}

/// After each step: the norm over all weights beside the largest so far.
void judge_gradient_jump(const Judge& judge, Model& model) {
  constexpr uint64_t steps_enough = 10;
  const StepSums::Part& part = model.sums.deciding();
  if (part.largest == nullptr) return;
  const double norm = std::sqrt(part.gradient_squares);
  const double limit = judge.limits.exploding_factor * model.largest_gradient;
  const ParameterState* largest = nullptr;
  if (model.gradient_steps >= steps_enough && norm > limit && norm > 1) largest = model.parameter_of(part.largest);
  if (largest != nullptr) {
    Sight sight;
    sight.rule = "exploding_gradient";
    sight.module = largest->module;
    sight.parameter = largest->name;
    sight.value = norm;
    sight.threshold = limit;
    sight.tag = "Weight Gradient Norm";
    sight.message = "the gradient's norm is " + number(norm) + ", where the largest of the " +
                    std::to_string(model.gradient_steps) + " steps before was " + number(model.largest_gradient) +
                    "; most of it is in '" + largest->layer + "'";
    sight.advice =
        "clip the gradients (torch::nn::utils::clip_grad_norm_), lower the learning rate, and look at the "
        "batch of this step";
    // A step that went by unseen may have been as large: it has to go on growing.
    if (model.had_gaps) {
      judge.see(sight);
    } else {
      judge.tell(sight);
    }
  }
  model.largest_gradient = std::max(model.largest_gradient, norm);
  ++model.gradient_steps;
}

void judge_first_step(const Judge& judge, const Model& model) {
  const ParameterState* worst = nullptr;
  std::size_t replaced = 0, all = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || !each.stepped || !each.has_change || each.change_norm == 0) continue;
    ++all;
    if (!each.is_replaced()) continue;
    ++replaced;
    if (worst == nullptr || each.norm > worst->norm) worst = &each;
  }
  // What starts near 0 on purpose is no more than a part of a model, and one step may well solve a linear model.
  if (worst == nullptr || 2 * replaced <= all || all == 1 || model.searches_steps) return;
  Sight sight;
  sight.rule = "update_ratio";
  sight.module = worst->module;
  sight.parameter = worst->name;
  sight.value = worst->change_norm / worst->norm;
  sight.threshold = 0.95;
  sight.tag = "Weight Update Ratio";
  sight.message = "the first step put other values in the place of " + std::to_string(replaced) + " of " +
                  std::to_string(all) + " weights rather than change them: that of '" + worst->layer +
                  "' has a norm of " + number(worst->norm) + " now, and was changed by " + number(worst->change_norm);
  sight.advice = "lower the learning rate: a step that is usual changes a weight by 1e-4 to 1e-2 of its norm";
  judge.tell(sight);
}

void judge_updates(const Judge& judge, Model& model, bool annealed) {
  if (model.steps_in_window < fewest_looks_in_window || model.searches_steps) return;
  // While it warms up, steps may be larger.
  const bool is_first = model.steps == model.steps_in_window;
  const double highest = is_first ? 3 * judge.limits.update_high : judge.limits.update_high;
  // Where training has arrived, steps are small.
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
    const double ratio = each.ratio_sum / static_cast<double>(each.ratio_count);
    ++all;
    const bool is_high = ratio > highest;
    const bool is_low = ratio < judge.limits.update_low && !annealed && !has_arrived && !is_first;
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
  // One that began at 0 has large steps for a while, and a linear model may be solved by a few.
  if (worst == nullptr || (is_first && (2 * high < all || all == 1))) return;
  const std::string of_all = std::to_string(high > 0 ? high : low) + " of " + std::to_string(all) + " weights";
  Sight sight;
  sight.rule = "update_ratio";
  sight.module = worst->module;
  sight.parameter = worst->name;
  sight.value = worst_ratio;
  sight.threshold = high > 0 ? highest : judge.limits.update_low;
  sight.tag = "Weight Update Ratio";
  sight.message = "a step changes '" + worst->layer + "' by " + number(worst_ratio) + " of its norm, and so too " +
                  (high > 0 ? "much" : "little") + " of " + of_all + "; between 1e-4 and 1e-2 is usual";
  sight.advice = high > 0 ? "lower the learning rate" : "raise the learning rate";
  if (is_first) return judge.tell(sight);
  judge.see(sight);
}

namespace {

void judge_dead(const Judge& judge, const Layer& layer) {
  constexpr int64_t fewest_looks = 4, fewest_samples = 64, fewest_units = 4;
  const auto units = static_cast<int64_t>(layer.alive.size());
  if (layer.looks < fewest_looks || layer.samples < fewest_samples || units < fewest_units) return;
  const double share = static_cast<double>(units - layer.alive_units) / static_cast<double>(units);
  if (share < judge.limits.told_dead_share()) return;
  const bool is_error = share >= judge.limits.dead_share;
  Sight sight;
  sight.rule = "dead_units";
  sight.severity = is_error ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_INFO;
  sight.module = layer.module;
  sight.value = share;
  sight.threshold = is_error ? judge.limits.dead_share : judge.limits.told_dead_share();
  sight.tag = "Activation";
  sight.message = std::to_string(units - layer.alive_units) + " of " + std::to_string(units) + " units of '" +
                  layer.name + "' (" + percent(share) + ") were silent for all " + std::to_string(layer.samples) +
                  " samples of the last steps: no gradient comes through them";
  sight.advice = "lower the learning rate, start with smaller negative biases, or use LeakyReLU";
  judge.see(sight);
}

void judge_saturated(const Judge& judge, const Model& model, Layer& layer, bool loss_halved) {
  constexpr int64_t fewest = 512;
  if (&layer == model.last_layer || layer.bounded_seen < fewest) return;  // an output that is sure lies at its bounds
  const double share = static_cast<double>(layer.bounded_pressed) / static_cast<double>(layer.bounded_seen);
  const bool is_first = !std::exchange(layer.was_judged, true);
  if (share <= judge.limits.saturated_share) return;
  layer.began_saturated = layer.began_saturated || is_first;
  // A network that learns may come to be sure of itself.
  if (!layer.began_saturated && loss_halved) return;
  Sight sight;
  sight.rule = "saturated_activation";
  sight.module = layer.module;
  sight.value = share;
  sight.threshold = judge.limits.saturated_share;
  sight.tag = "Output Norm";
  sight.message = percent(share) + " of the outputs of '" + layer.name + "' lie at the bounds of " + layer.type +
                  ", where its slope is nearly 0";
  sight.advice =
      "make its inputs smaller: normalize before it, initialize with smaller weights, or lower the learning "
      "rate";
  judge.see(sight);
}

void judge_constant(const Judge& judge, const Model& model) {
  const Layer* first = nullptr;
  for (const Layer& layer : model.layers) {
    if (!layer.is_constant()) continue;
    if (first == nullptr || layer.first_run < first->first_run) first = &layer;
  }
  if (first == nullptr) return;
  Sight sight;
  sight.rule = "constant_output";
  sight.module = first->module;
  sight.value = 0;
  sight.message = "the output of '" + first->name + "' is the same for every sample, whatever goes in";
  sight.advice = "look at its weights and at what saturates before it; a learning rate that was too large does this";
  judge.see(sight);
}

}  // namespace

void judge_outputs(const Judge& judge, Model& model, bool loss_halved) {
  if (model.steps_in_window < fewest_looks_in_window) return;
  for (Layer& layer : model.layers) {
    if (layer.role == Role::rectifier) judge_dead(judge, layer);
    if (layer.role == Role::bounded) judge_saturated(judge, model, layer, loss_halved);
  }
  judge_constant(judge, model);
  constexpr int64_t fewest_inputs = 64;
  const bool normalizes = model.first_layer != nullptr && model.first_layer->role == Role::normalization;
  if (model.input_count < fewest_inputs || normalizes || model.first_layer == nullptr) return;
  const double mean = model.input_sum / static_cast<double>(model.input_count);
  const double scale = std::sqrt(model.input_sum_squares / static_cast<double>(model.input_count));
  const double low = 0.01 / judge.limits.input_scale;
  if (scale <= judge.limits.input_scale && scale >= low) return;
  Sight sight;
  sight.rule = "unnormalized_input";
  sight.module = model.first_layer->module;
  sight.value = scale;
  sight.threshold = scale > judge.limits.input_scale ? judge.limits.input_scale : low;
  sight.message = "the model's input is not near unit scale: its mean is " + number(mean) +
                  " and its root mean square " + number(scale);
  sight.advice = "subtract the training data's mean and divide by its standard deviation";
  judge.tell(sight);
}

}  // namespace loupe::health
