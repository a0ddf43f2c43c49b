// Rules about what layers give, over a window or at the start.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

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
  // Where autograd's graph is known: those that lie on the way to the last.
  const std::vector<const ParameterState*>& path = model.path;
  const auto is_off = [&](const Layer* layer) {
    return std::none_of(path.begin(), path.end(), [&](const ParameterState* each) { return each->runs == layer; });
  };
  if (!path.empty()) layers.erase(std::remove_if(layers.begin(), layers.end(), is_off), layers.end());
  if (layers.size() < 3) return;
  std::sort(layers.begin(), layers.end(), [](const Layer* a, const Layer* b) { return a->first_run < b->first_run; });
  const double first = variance(*layers.front()), last = variance(*layers.back());
  if (!(first > 0) || !std::isfinite(last)) return;
  const double steps = static_cast<double>(layers.size() - 1);
  const double factor = std::pow(std::max(last, 1e-300) / first, 1 / steps);
  // The usual initialization shrinks the variance, by ReLU to a tenth a layer and by sigmoid to a fortieth.
  constexpr double more_to_shrink = 3;
  constexpr std::size_t layers_to_shrink = 4;
  const double limit = judge.limit("variance_factor");
  const bool grows = factor > limit;
  // What is lost in one place, as by samples that all become the same there, is no matter of how weights begin.
  const auto shrinks_by = [&](double share) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < layers.size(); ++i)
      count += variance(*layers[i]) < share * variance(*layers[i - 1]) ? 1 : 0;
    return 2 * count >= layers.size() - 1;
  };
  const double least = 1 / (more_to_shrink * limit);
  const bool shrinks = factor < least && layers.size() >= layers_to_shrink && shrinks_by(least);
  if (!grows && !shrinks) return;
  Observation seen;
  seen.module = layers.back()->module;
  seen.value = factor;
  seen.threshold = grows ? limit : least;
  seen.message = "at the first step the variance of the outputs goes from " + number(first) + " at '" +
                 layers.front()->name + "' to " + number(last) + " at '" + layers.back()->name + "', by a factor of " +
                 number(factor) + " a layer";
  seen.advice =
      "initialize the weights for their activation (torch::nn::init::kaiming_normal_ for ReLU, "
      "xavier_normal_ for tanh), or normalize between layers";
  judge.tell(seen);
}

/// What nobody has set holds what was in the memory before.
void judge_sizes(const Judge& judge, const Model& model) {
  constexpr double largest = 1e6, smallest = 1e-20;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || !each.is(LOUPE_PARAMETER_TRAINABLE) || !(each.first_norm > 0)) continue;
    const double size = each.first_norm / std::sqrt(static_cast<double>(each.parameter->numel));
    if (size < largest && size > smallest) continue;
    Observation seen;
    seen.severity = LOUPE_SEVERITY_ERROR;
    seen.module = each.module;
    seen.parameter = each.name;
    seen.value = size;
    seen.threshold = size > largest ? largest : smallest;
    seen.message =
        shown(each) + " begins with a root mean square of " + number(size) + ", as memory does that was never set";
    seen.advice = "set what torch::empty made, such as by torch::nn::init::kaiming_uniform_";
    judge.tell(seen);
  }
}

void judge_first_loss(const Judge& judge, const Model& model) {
  constexpr double far_above = 30;
  if (model.classes < 2) return;
  const double guessing = std::log(static_cast<double>(model.classes));
  if (!(model.first_cross_entropy > far_above * guessing)) return;
  Observation seen;
  seen.module = model.root;
  seen.value = model.first_cross_entropy;
  seen.threshold = far_above * guessing;
  seen.tag = "Loss";
  seen.message = "the first cross entropy is " + number(model.first_cross_entropy) + ", where guessing among " +
                 std::to_string(model.classes) + " classes gives " + number(guessing) +
                 ": the scores of the untrained model are far too large";
  seen.advice =
      "see how the weights begin, as memory that was never set or a large scale, and that the inputs are normalized";
  judge.tell(seen);
}

/// Whether the weights of a layer's units are all the same.
void look_for_equal_units(const Judge& judge, Model& model) {
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
    Observation seen;
    seen.severity = LOUPE_SEVERITY_ERROR;
    seen.module = each.module;
    seen.parameter = each.name;
    seen.message = "all units of '" + each.layer + "' have the same weights, also after " + std::to_string(each.steps) +
                   " steps: they learn the same and count as one";
    seen.advice = "initialize the weights at random, such as by torch::nn::init::kaiming_uniform_";
    judge.tell(seen);
  }
}

/// Whether a layer that is silent as a whole cuts off all before it: no weight there got a gradient other than 0.
bool cuts_off(const Model& model, const Layer& layer) {
  return std::none_of(model.parameters.begin(), model.parameters.end(), [&](const ParameterState& each) {
    const bool is_before = each.runs != nullptr && each.runs->first_run > 0 && each.runs->first_run <= layer.first_run;
    return is_before && each.is_matrix() && each.gradient_norm_sum > 0;
  });
}

/// Networks that are good have silent units: it is a fault where nothing passes, or where the loss stays.
bool is_harmful(const Judge& judge, const Moment& moment, const Layer& layer, double share) {
  constexpr double nearly_all = 0.9;
  if (share == 1 && cuts_off(*moment.model, layer)) return true;
  if (moment.trend == Trend::falls) return false;
  // Agents and players see few situations at a time, in which many units have nothing to say.
  const bool says_little = moment.has_other_models || moment.trend == Trend::unknown;
  return share >= (says_little ? nearly_all : judge.limit("dead_share"));
}

void judge_dead_units(const Judge& judge, const Moment& moment, const Layer& layer) {
  constexpr int64_t fewest_looks = 4, fewest_samples = 64;
  const auto units = static_cast<int64_t>(layer.alive.size());
  if (units == 0 || layer.looks < fewest_looks || layer.samples < fewest_samples) return;
  const double share = static_cast<double>(units - layer.alive_units) / static_cast<double>(units);
  if (share < reported_dead_share(judge.limits)) return;
  const bool is_error = is_harmful(judge, moment, layer, share), is_whole = share == 1;
  Observation seen;
  seen.severity = is_error ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_INFO;
  seen.module = layer.module;
  seen.place = layer.first_run;
  seen.may_recede = true;
  seen.value = share;
  seen.threshold = is_error ? judge.limit("dead_share") : reported_dead_share(judge.limits);
  seen.tag = "Output Activations";
  seen.message = std::to_string(units - layer.alive_units) + " of " + std::to_string(units) + " units of '" +
                 layer.name + "' (" + percent(share) + ") were silent for all " + std::to_string(layer.samples) +
                 " samples of the last steps: no gradient comes through them";
  if (moment.trend == Trend::stays) seen.message += ", and the loss does not get better";
  constexpr double nearly_as_many = 0.9;
  const bool began_so = layer.silent_at_first >= nearly_as_many * share;
  if (is_whole && &layer == moment.model->last_layer) {
    seen.advice = "leave out the '" + layer.type + "' behind the model's output, which cuts off all that is below 0";
  } else if (!is_error) {
    seen.advice = "there is nothing to do as long as the loss comes down: many good networks have silent units";
  } else if (began_so) {
    seen.advice =
        "it was so from the first step on: see that the biases of the layer before do not begin far below 0 and that "
        "what goes in is of unit scale, or use LeakyReLU";
  } else {
    seen.advice = "lower the learning rate, or use LeakyReLU";
  }
  judge.see(seen);
}

void judge_saturation(const Judge& judge, const Model& model, Layer& layer, bool loss_halved) {
  constexpr int64_t fewest = 512;
  if (&layer == model.last_layer || layer.bounded_seen < fewest) return;  // an output that is sure lies at its bounds
  const double share = static_cast<double>(layer.bounded_pressed) / static_cast<double>(layer.bounded_seen);
  const bool is_first = !std::exchange(layer.was_judged, true);
  if (share <= judge.limit("saturated_share")) return;
  layer.began_saturated = layer.began_saturated || is_first;
  // A network that learns may come to be sure of itself.
  if (!layer.began_saturated && loss_halved) return;
  Observation seen;
  seen.module = layer.module;
  seen.value = share;
  seen.threshold = judge.limit("saturated_share");
  seen.tag = "Output Norm";
  seen.message = percent(share) + " of the outputs of '" + layer.name + "' lie at the bounds of " + layer.type +
                 ", where its slope is nearly 0";
  seen.advice =
      "make its inputs smaller: normalize before it, initialize with smaller weights, or lower the learning "
      "rate";
  judge.see(seen);
}

}  // namespace

void judge_start(const Judge& judge, const Moment& moment) {
  constexpr uint64_t start = 3;
  if (moment.model->steps == 1) {
    judge_sizes(judge, *moment.model);
    judge_first_loss(judge, *moment.model);
  }
  if (moment.model->steps != start) return;
  judge_variances(judge, *moment.model);
  look_for_equal_units(judge, *moment.model);
}

void judge_equal_units(const Judge& judge, const Moment& moment) {
  if (moment.model->has_equal_units) look_for_equal_units(judge, *moment.model);
}

void judge_dead(const Judge& judge, const Moment& moment) {
  for (const Layer& layer : moment.model->layers) {
    if (layer.role == Role::rectifier) judge_dead_units(judge, moment, layer);
  }
}

void judge_saturated(const Judge& judge, const Moment& moment) {
  for (Layer& layer : moment.model->layers) {
    if (layer.role == Role::bounded) judge_saturation(judge, *moment.model, layer, moment.has_loss_halved);
  }
}

void judge_constant(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const Layer* first = nullptr;
  for (const Layer& layer : model.layers) {
    if (!layer.is_constant()) continue;
    if (first == nullptr || layer.first_run < first->first_run) first = &layer;
  }
  if (first == nullptr) return;
  Observation seen;
  seen.module = first->module;
  seen.place = first->first_run;
  seen.value = 0;
  seen.message = "the output of '" + first->name + "' is the same for every sample" +
                 (first->constant_spread > 0 ? " but for " + number(first->constant_spread) + " of its size" : "") +
                 ", whatever goes in";
  seen.advice = "look at its weights and at what saturates before it; a learning rate that was too large does this";
  judge.see(seen);
}

/// A softmax over one element is 1, whatever goes in.
void judge_lone_softmax(const Judge& judge, const Moment& moment) {
  const Layer* layer = moment.model->lone_softmax;
  if (layer == nullptr || layer->module == nullptr) return;
  Observation seen;
  seen.module = layer->module;
  seen.place = layer->first_run;
  seen.value = 1;
  seen.message = "'" + layer->name +
                 "' is a softmax over one element: its output is the same, whatever goes in, and no " +
                 "gradient comes through it";
  seen.advice =
      "give it two elements or more, as one for each action or class, or use a sigmoid; see which dimension it goes "
      "over";
  judge.tell(seen);
}

/// Two linear layers without anything between them can do no more than one.
void judge_linear_chain(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const auto weight_of = [&](const Layer& layer) -> const loupe_parameter* {
    if (layer.role != Role::linear || layer.only_selects) return nullptr;
    const auto found = std::find_if(model.parameters.begin(), model.parameters.end(), [&](const ParameterState& each) {
      return each.runs == &layer && each.is(LOUPE_PARAMETER_TRAINABLE) && each.parameter->dim == 2;
    });
    return found != model.parameters.end() ? found->parameter : nullptr;
  };
  const Layer *before = nullptr, *behind = nullptr;  // the first two
  int more = -1;
  for (const Layer& layer : model.layers) {
    const Layer* next = layer.neighbours.to;
    if (next == nullptr || next == &layer || !layer.neighbours.steady || layer.wavers) continue;
    const loupe_parameter *first = weight_of(layer), *second = weight_of(*next);
    if (first == nullptr || second == nullptr) continue;
    // A product of narrow factors has fewer parameters than the whole, which is meant.
    const int64_t in = first->sizes[1], between = first->sizes[0], out = second->sizes[0];
    if (between < in && between < out) continue;
    ++more;
    if (before != nullptr && before->first_run < layer.first_run) continue;
    before = &layer;
    behind = next;
  }
  if (before == nullptr) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_INFO;
  seen.module = behind->module;
  seen.message = "'" + behind->name + "' is given the output of '" + before->name +
                 "' as it is: two linear layers in a row can do no more than one";
  if (more > 0) seen.message += more == 1 ? "; so is another" : "; so are " + std::to_string(more) + " more";
  seen.advice = "put an activation between them, such as a ReLU, or leave one out";
  judge.see(seen);
}

void judge_input_scale(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const bool normalizes = model.first_layer != nullptr && model.first_layer->role == Role::normalization;
  if (model.first_layer != nullptr && model.has_zero_input()) {
    Observation seen;
    seen.severity = LOUPE_SEVERITY_ERROR;
    seen.module = model.first_layer->module;
    seen.message = "the model's input is all zeros: each of " + std::to_string(model.input_count) +
                   " elements that were looked at";
    seen.advice =
        "see what makes it: whole numbers divided by whole numbers, such as pixel / 255, are rounded down to 0";
    return judge.tell(seen);
  }
  if (model.input_count < Model::fewest_input_elements || normalizes || model.first_layer == nullptr) return;
  const double mean = model.input_sum / static_cast<double>(model.input_count);
  const double scale = std::sqrt(model.input_sum_squares / static_cast<double>(model.input_count));
  const double low = 0.01 / judge.limit("input_scale");
  if (scale <= judge.limit("input_scale") && scale >= low) return;
  const auto silent = std::count_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
    const auto units = static_cast<double>(layer.alive.size());
    return layer.role == Role::rectifier && units > 0 && layer.looks > 0 &&
           units - static_cast<double>(layer.alive_units) >= judge.limit("dead_share") * units;
  });
  Observation seen;
  if (silent > 0) seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.first_layer->module;
  seen.value = scale;
  seen.threshold = scale > judge.limit("input_scale") ? judge.limit("input_scale") : low;
  seen.message = "the model's input is not near unit scale: its mean is " + number(mean) +
                 " and its root mean square " + number(scale);
  if (silent > 0)
    seen.message += "; behind it most units of " + std::to_string(silent) +
                    (silent == 1 ? " layer are silent" : " layers are silent");
  seen.advice = "subtract the training data's mean and divide by its standard deviation";
  judge.tell(seen);
}

}  // namespace loupe::health
