// Rules about the outputs of layers, over a window or at the start.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

/// The layer passes no gradient (its value is 1), and the parameter at or before it has a gradient of 0.
bool blocks_gradient(const Observation& cause, const Observation& effect) {
  return cause.value == 1 && effect.value == 0 && effect.place > 0 && effect.place <= cause.place;
}

/// The layer's output is all zeros, and the parameter is before it or in the next layer, which takes that output.
bool silences(const Observation& cause, const Observation& effect) {
  constexpr uint64_t to_next_layer = 2;  // a dropout or similar layer may be in between
  const bool is_next = effect.place > cause.place && effect.place - cause.place <= to_next_layer;
  return blocks_gradient(cause, effect) || (cause.value == 1 && effect.value == 0 && cause.place > 0 && is_next);
}

double variance(const Layer& layer) {
  return layer.start_variance / static_cast<double>(layer.start_looks);
}

/// Whether all rows of a weight are equal, so that its units compute and learn the same.
bool has_equal_rows(const Elements& weight) {
  if (weight.dim() < 2 || weight.size(0) < 2) return false;
  const int64_t columns = weight.count() / weight.size(0);
  // Some processors sum equal units in different orders, so they differ by rounding after a few steps.
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
  // Takes only layers on the path to the last one, if autograd's graph is known, and none that was initialized with
  // zeros intentionally, such as an output or a gate.
  std::erase_if(layers, [&](const Layer* layer) {
    const auto is_its = [&](const ParameterState* each) { return each->runs == layer; };
    return (!model.path.empty() && std::ranges::none_of(model.path, is_its)) || variance(*layer) == 0 ||
           std::ranges::any_of(model.parameters, [&](const ParameterState& each) {
             return is_its(&each) && each.is_matrix() && each.began_at_zero;
           });
  });
  // A model that is far better than a guess in its first steps was trained before.
  if (layers.size() < 3 || model.guessing.is_far_better()) return;
  std::ranges::sort(layers, [](const Layer* a, const Layer* b) { return a->first_run < b->first_run; });
  const double first = variance(*layers.front()), last = variance(*layers.back());
  if (!(first > 0) || !std::isfinite(last)) return;
  const double steps = static_cast<double>(layers.size() - 1);
  const double factor = std::pow(last / first, 1 / steps);
  // The usual initialization shrinks the variance per layer to a tenth with ReLU and to a fortieth with sigmoid.
  constexpr double more_to_shrink = 3;
  constexpr std::size_t layers_to_shrink = 4;
  const double limit = judge.limit("variance_factor");
  const bool grows = factor > limit;
  // A drop at a single layer, for example if all samples become the same, does not come from the initial weights.
  const auto shrinks_by = [&](double share) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < layers.size(); ++i)
      count += variance(*layers[i]) < share * variance(*layers[i - 1]) ? 1 : 0;
    return 2 * count >= layers.size() - 1;
  };
  const double least = 1 / (more_to_shrink * limit);
  const bool shrinks = factor < least && layers.size() >= layers_to_shrink && shrinks_by(least);
  if (!grows && !shrinks) return;
  judge.tell({.module = layers.back()->module, .value = factor, .threshold = grows ? limit : least},
             sentence("at the first step the variance of the outputs goes from ", first, " at '", layers.front()->name,
                      "' to ", last, " at '", layers.back()->name, "', by a factor of ", factor, " per layer"));
}

/// Reports uninitialized weights, which contain old memory.
void judge_sizes(const Judge& judge, const Model& model) {
  constexpr double largest = 1e6, smallest = 1e-20;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || !each.is(LOUPE_PARAMETER_TRAINABLE) || !(each.first_norm > 0)) continue;
    const double size = each.first_norm / std::sqrt(static_cast<double>(each.parameter->numel));
    if (size < largest && size > smallest) continue;
    judge.tell({.severity = LOUPE_SEVERITY_ERROR,
                .module = each.module,
                .parameter = each.name,
                .value = size,
                .threshold = size > largest ? largest : smallest},
               sentence(shown(each), " begins with a root mean square of ", size, ", like uninitialized memory"),
               "initialize tensors made by torch::empty, for example with torch::nn::init::kaiming_uniform_");
  }
}

void judge_first_loss(const Judge& judge, const Model& model) {
  constexpr double far_above = 30;
  if (model.classes < 2) return;
  const double guessing = std::log(static_cast<double>(model.classes));
  if (!(model.first_cross_entropy > far_above * guessing)) return;
  judge.tell(
      {.module = model.root, .value = model.first_cross_entropy, .threshold = far_above * guessing, .tag = "Loss"},
      sentence("the first cross entropy is ", model.first_cross_entropy, ", while guessing among ", model.classes,
               " classes gives ", guessing, ": the scores of the untrained model are far too large"),
      "check the initial weights, for uninitialized memory or a large scale, and that the inputs are normalized");
}

/// Reports layers whose units all have the same weights.
void look_for_equal_units(const Judge& judge, Model& model) {
  model.has_equal_units = false;
  for (const ParameterState& each : model.parameters) {
    const Layer* layer = each.runs;
    const bool has_units = layer != nullptr && (layer->role == Role::linear || layer->role == Role::convolution);
    if (!has_units || !each.is_matrix() || !each.is(LOUPE_PARAMETER_TRAINABLE) || each.steps_with_gradient < 2)
      continue;
    bool equal = false;
    read(judge.host, each, false, [&](const Elements& weight) { equal = has_equal_rows(weight); });
    if (!equal) continue;
    model.has_equal_units = true;
    judge.tell({.severity = LOUPE_SEVERITY_ERROR, .module = each.module, .parameter = each.name},
               sentence("all units of '", each.layer, "' still have the same weights after ", each.steps,
                        " steps: they learn the same and act as one"),
               "initialize the weights at random, for example with torch::nn::init::kaiming_uniform_");
  }
}

/// Whether a completely silent layer cuts off all layers before it: all gradients there are 0.
bool cuts_off(const Model& model, const Layer& layer) {
  return std::ranges::none_of(model.parameters, [&](const ParameterState& each) {
    const bool is_before = each.runs != nullptr && each.runs->first_run > 0 && each.runs->first_run <= layer.first_run;
    return is_before && each.is_matrix() && each.gradient_norm_sum > 0;
  });
}

/// Whether this share of silent units may keep the loss from falling; good networks have some silent units, too.
bool may_hold_back(const Judge& judge, const Situation& situation, double share) {
  constexpr double nearly_all = 0.9;
  if (situation.trend == Trend::falls) return false;
  // Agents see few situations at a time, in which many units stay silent.
  const bool says_little = situation.has_other_models || situation.trend == Trend::unknown;
  return share >= (says_little ? nearly_all : judge.limit("dead_share"));
}

/// The share of a layer's units that were silent for all samples of the window; 0 below the limit.
double silent_share(const Judge& judge, const Layer& layer) {
  constexpr int64_t fewest_looks = 4, fewest_samples = 64;
  const auto units = static_cast<int64_t>(layer.alive.size());
  if (layer.role != Role::rectifier || units == 0 || layer.looks < fewest_looks || layer.samples < fewest_samples)
    return 0;
  const double share = static_cast<double>(units - layer.alive_units) / static_cast<double>(units);
  return share < judge.limit("dead_share") ? 0 : share;
}

/// The same if it does harm; else 0.
double dead_share(const Judge& judge, const Situation& situation, const Layer& layer) {
  const double share = silent_share(judge, layer);
  if (share == 0) return 0;
  return (share == 1 && cuts_off(*situation.model, layer)) || may_hold_back(judge, situation, share) ? share : 0;
}

/// Whether about as many units were silent in the first batch.
bool began_silent(const Layer& layer, double share) {
  constexpr double nearly_as_many = 0.9;
  return layer.silent_at_first >= nearly_as_many * share;
}

std::string silent_units(const Layer& layer, double share) {
  const auto units = static_cast<int64_t>(layer.alive.size());
  return sentence(units - layer.alive_units, " of ", units, " units of '", layer.name, "' (", percent(share), ")");
}

/// Units that fell silent after unusually large steps, which are the cause.
void judge_high_rate(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (model.overshoot.empty() || model.guessing.is_far_better()) return;
  for (const Layer& layer : model.layers) {
    const double share = silent_share(judge, layer);
    if (share == 0 || began_silent(layer, share)) continue;
    return judge.see({.module = model.root, .value = share, .threshold = judge.limit("dead_share"), .may_recede = true},
                     sentence(model.overshoot, "; now ", silent_units(layer, share), " are silent"));
  }
}

void judge_dead(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const double scale = model.passing.range.scale();
  for (const Layer& layer : model.layers) {
    const double share = dead_share(judge, situation, layer);
    if (share == 0) continue;
    constexpr double small = 0.05;
    const std::string advice =
        share == 1 && &layer == model.last_layer
            ? sentence("remove the '", layer.type, "' after the model's output, which cuts off values below 0")
        : !began_silent(layer, share) ? "lower the learning rate, or use LeakyReLU"
        : scale < small ? sentence("bring the model's input to unit scale: its root mean square is ", scale,
                                   ", so the biases decide which units are silent")
                        : "silent since the first step: check that the biases of the layer before do not start far "
                          "below 0 and that its input has unit scale, or use LeakyReLU";
    judge.see({.module = layer.module,
               .value = share,
               .threshold = judge.limit("dead_share"),
               .place = layer.first_run,
               .may_recede = true},
              sentence(silent_units(layer, share), " were silent for all ", layer.samples,
                       " samples of the last steps: no gradient passes through them",
                       situation.trend == Trend::stays ? ", and the loss does not improve" : ""),
              advice);
  }
}

void judge_saturated(const Judge& judge, const Situation& situation) {
  constexpr int64_t fewest = 512;
  for (Layer& layer : situation.model->layers) {
    // A confident output is at its bounds.
    if (layer.role != Role::bounded || &layer == situation.model->last_layer || layer.bounded_seen < fewest) continue;
    const double share = static_cast<double>(layer.bounded_pressed) / static_cast<double>(layer.bounded_seen);
    const bool is_first = !std::exchange(layer.was_judged, true);
    if (share <= judge.limit("saturated_share")) continue;
    layer.began_saturated = layer.began_saturated || is_first;
    // A network that learns may become confident.
    if (!layer.began_saturated && situation.has_loss_halved) continue;
    judge.see({.module = layer.module, .value = share, .threshold = judge.limit("saturated_share")},
              sentence(percent(share), " of the outputs of '", layer.name, "' are at the bounds of ", layer.type,
                       ", where its slope is nearly 0"));
  }
}

/// Whether neither an optimizer nor the program itself trains its scale and shift.
bool is_frozen(const Model& model, const Layer& layer) {
  const auto found = model.modules.find(layer.module);
  if (found == model.modules.end() || found->second.parameters.empty()) return false;
  const auto& parameters = found->second.parameters;
  return std::ranges::all_of(parameters, [](const ParameterState* each) {
    return each->parameter != nullptr && !each->is(LOUPE_PARAMETER_TRAINABLE) && !each->is(LOUPE_PARAMETER_OPTIMIZED) &&
           each->steps == 0 && !each->ever_changed;
  });
}

void judge_start(const Judge& judge, const Situation& situation) {
  constexpr uint64_t start = 3;
  if (situation.model->steps == 1) {
    judge_sizes(judge, *situation.model);
    judge_first_loss(judge, *situation.model);
  }
  if (situation.model->steps != start) return;
  judge_variances(judge, *situation.model);
  look_for_equal_units(judge, *situation.model);
}

void judge_equal_units(const Judge& judge, const Situation& situation) {
  if (situation.model->has_equal_units) look_for_equal_units(judge, *situation.model);
}

void judge_constant(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const Layer* first = nullptr;
  for (const Layer& layer : model.layers) {
    if (!layer.is_constant()) continue;
    if (first == nullptr || layer.first_run < first->first_run) first = &layer;
  }
  if (first == nullptr) return;
  judge.see(
      {.module = first->module, .value = 0, .place = first->first_run},
      sentence("the output of '", first->name, "' is the same for every sample",
               (first->constant_spread > 0 ? " except for " + number(first->constant_spread) + " of its size" : ""),
               ", for any input"));
}

/// A softmax over one element is always 1.
void judge_lone_softmax(const Judge& judge, const Situation& situation) {
  const Layer* layer = situation.model->step.lone_softmax;
  if (layer == nullptr || layer->module == nullptr) return;
  judge.tell(
      {.module = layer->module, .value = 1, .place = layer->first_run},
      sentence("'", layer->name, "' is a softmax over one element: its output is the same for any input, and no ",
               "gradient passes through it"),
      "give it two elements or more, for example one for each action or class, or use a sigmoid; check its "
      "dimension");
}

/// Reports two linear layers in a row, which can do no more than one.
void judge_linear_chain(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const auto weight_of = [&](const Layer& layer) -> const loupe_parameter* {
    if (layer.role != Role::linear || layer.only_selects) return nullptr;
    const auto found = std::ranges::find_if(model.parameters, [&](const ParameterState& each) {
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
    // A product of narrow factors intentionally has fewer parameters than one large matrix.
    const int64_t in = first->sizes[1], between = first->sizes[0], out = second->sizes[0];
    if (between < in && between < out) continue;
    ++more;
    if (before != nullptr && before->first_run < layer.first_run) continue;
    before = &layer;
    behind = next;
  }
  if (before == nullptr) return;
  judge.see({.module = behind->module}, sentence("'", behind->name, "' takes the output of '", before->name,
                                                 "' unchanged: two linear layers in a row can do no more than one",
                                                 more <= 0   ? ""
                                                 : more == 1 ? "; so does another"
                                                             : sentence("; so do ", more, " more")));
}

void judge_input_scale(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const bool normalizes = model.first_layer != nullptr && model.first_layer->role == Role::normalization;
  const InputRange& range = model.passing.range;
  if (model.first_layer != nullptr && range.is_zero()) {
    return judge.tell(
        {.severity = LOUPE_SEVERITY_ERROR, .module = model.first_layer->module},
        sentence("the model's input is all zeros: each of ", range.count, " measured elements"),
        "check how it is computed: an integer divided by an integer, such as pixel / 255, is rounded down to 0");
  }
  if (range.count < InputRange::fewest || normalizes || model.first_layer == nullptr) return;
  const double mean = range.sum / static_cast<double>(range.count), scale = range.scale();
  const double low = 0.01 / judge.limit("input_scale");
  if (scale <= judge.limit("input_scale") && scale >= low) return;
  const auto silent = std::ranges::count_if(model.layers, [&](const Layer& layer) {
    const auto units = static_cast<double>(layer.alive.size());
    return layer.role == Role::rectifier && units > 0 && layer.looks > 0 &&
           units - static_cast<double>(layer.alive_units) >= judge.limit("dead_share") * units;
  });
  const double limit = scale > judge.limit("input_scale") ? judge.limit("input_scale") : low;
  judge.tell(
      {.severity = silent > 0 ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_WARNING,
       .module = model.first_layer->module,
       .value = scale,
       .threshold = limit},
      sentence("the model's input is not near unit scale: its mean is ", mean, " and its root mean square ", scale,
               silent > 0 ? sentence("; most units of ", silent,
                                     silent == 1 ? " layer after it are silent" : " layers after it are silent")
                          : ""));
}

void judge_small_batch_norm(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (model.step.small_norm == nullptr) return;
  judge.tell({.module = model.step.small_norm->module,
              .value = static_cast<double>(model.step.small_norm_values),
              .threshold = 2},
             sentence("'", model.step.small_norm->name, "' normalizes by the statistics of ",
                      model.step.small_norm_values, " values per channel: its output says little about them"));
}

void judge_running_momentum(const Judge& judge, const Situation& situation) {
  constexpr double most = 0.5;
  for (const Layer& layer : situation.model->layers) {
    if (layer.running_momentum <= most || layer.trained_at == 0) continue;
    judge.tell(
        {.module = layer.module, .value = layer.running_momentum, .threshold = most},
        sentence("'", layer.name, "' has a momentum of ", layer.running_momentum,
                 ", the share of the newest batch in its running statistics: in evaluation it normalizes by those of ",
                 "the last batch or two"));
  }
}

void judge_frozen_norm(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  constexpr uint32_t epochs_enough = 2;
  const Layer* first = nullptr;
  int more = -1;
  const bool any_trains =
      std::ranges::any_of(model.parameters, [](const ParameterState& each) { return each.steps_with_gradient > 0; });
  for (Layer& layer : model.layers) {
    const bool moves = layer.running_momentum > 0 && any_trains && layer.trained_at != 0 &&
                       layer.trained_at >= model.trained_before_tick;
    layer.frozen_epochs = moves && is_frozen(model, layer) ? layer.frozen_epochs + 1 : 0;
    if (layer.frozen_epochs < epochs_enough) continue;
    if (first == nullptr) first = &layer;
    ++more;
  }
  model.trained_before_tick = model.step_now;
  if (first == nullptr) return;
  // it may be intended
  judge.tell({.severity = LOUPE_SEVERITY_INFO, .module = first->module},
             sentence("'", first->name, "'",
                      (more > 0 ? " and " + std::to_string(more) + " more batch norm" + (more == 1 ? "" : "s") + " are"
                                : " is"),
                      " frozen, but in training mode: the running mean and variance still move with each batch, and "
                      "the output of the frozen part changes"));
}

}  // namespace

std::vector<Rule> activation_rules() {
  return {
      {.name = "high_learning_rate",
       .severity = LOUPE_SEVERITY_ERROR,
       .tag = "Weight Update Ratio",
       .help = "error; steps changed the weights far too much, and units have been silent since",
       .measure =
           "the change of the weights by a step, beyond update_high, and the share of silent units, beyond dead_share",
       .remedy = "lower the learning rate: a normal step changes a weight by 1e-4 to 1e-2 of its norm",
       .looks = {{When::window, &judge_high_rate}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"dead_units", "saturated_activation", "constant_output", "update_ratio",
                                     "exploding_gradient", "vanishing_gradient", "unchanged_parameter", "loss_spike",
                                     "diverging_loss", "loss_oscillating", "loss_not_decreasing"},
                         .strength = Strength::sure}},
       .example = R"(-torch::optim::Adam optimizer(model->parameters(), 1.0);
+torch::optim::Adam optimizer(model->parameters(), 1e-3);)"},
      {.name = "dead_units",
       .severity = LOUPE_SEVERITY_ERROR,
       .tag = "Output Activations",
       .help = "error; ReLU-like units are silent for a whole window of samples, and nothing passes or the loss does "
               "not fall",
       .remedy =
           "lower the learning rate, normalize the input, check that biases do not start far below 0, or use LeakyReLU",
       .looks = {{When::window, &judge_dead}},
       .limits =
           {{"dead_share", 0.5,
             "share of a layer's units silent for a whole window that is an error while the loss does not fall; 0.9 "
             "if its trend is not known, and 1 if it falls",
             0.0, 1.0}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"unchanged_parameter"}, .strength = Strength::sure, .agrees = &silences},
                        {.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 2,
       .example = R"(-// One such step leaves the biases of ReLUs far below 0.
-torch::optim::SGD optimizer(model->parameters(), 5.0);
+torch::optim::SGD optimizer(model->parameters(), 0.05);)"},
      {.name = "saturated_activation",
       .tag = "Output Norm",
       .help = "warning; the outputs of a tanh or sigmoid are at its bounds",
       .remedy =
           "make its inputs smaller: normalize before it, initialize with smaller weights, or lower the learning rate",
       .looks = {{When::window, &judge_saturated}},
       .limits = {{"saturated_share", 0.5,
                   "share of a tanh's or sigmoid's outputs within 0.5 % of the bounds; if it began lower, only while "
                   "the loss has not halved",
                   0.0, 1.0}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 2,
       .example = R"(-// With pixels from 0 to 255 tanh is -1 or 1, and its slope 0.
-auto hidden = torch::tanh(first->forward(pixels));
+auto hidden = torch::tanh(first->forward(pixels / 127.5 - 1));)"},
  };
}

std::vector<Rule> layer_rules() {
  return {
      {.name = "small_batch_norm",
       .help = "warning; batch statistics of one or two values",
       .measure = "the number of values per channel in training: 2 or fewer",
       .remedy = "use larger batches, leave out the last incomplete one, or use GroupNorm or LayerNorm",
       .looks = {{When::step, &judge_small_batch_norm}},
       .example = R"(-// Two values a channel, for a BatchNorm1d:
-auto options = torch::data::DataLoaderOptions().batch_size(2);
+auto options =
+    torch::data::DataLoaderOptions().batch_size(32).drop_last(true);)"},
      {.name = "running_statistics",
       .help = "warning or info; a batch norm keeps only the statistics of the last batch, or moves in a frozen part",
       .measure = "a batch norm's momentum, above 0.5, and its mode where nothing trains it",
       .remedy = "use a momentum of about 0.1 (0.9 or 0.99 in other libraries is 0.1 or 0.01 here), and call "
                 "eval() on a frozen part, after each model->train()",
       .looks = {{When::tick, &judge_running_momentum}, {When::tick, &judge_frozen_norm}},
       .example = R"(-// What other libraries call 0.9 is 0.1 here.
-auto options = torch::nn::BatchNorm2dOptions(64).momentum(0.9);
+auto options = torch::nn::BatchNorm2dOptions(64).momentum(0.1);)"},
      {.name = "poor_initialization",
       .help = "error or warning; equal units, or a variance that grows or shrinks by layer",
       .remedy = "initialize weights at random for their activation (torch::nn::init::kaiming_normal_ for ReLU, "
                 "xavier_normal_ for tanh), or normalize between layers",
       .looks = {{When::step, &judge_start}, {When::window, &judge_equal_units}},
       .limits =
           {{"variance_factor", 10.0,
             "factor a layer by which the outputs' variance grows at the first step; three times as much if it shrinks",
             1.0}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}, {.effects = {"non_finite"}, .strength = Strength::hint}},
       .example = R"( for (auto& each : model->parameters()) {
-  torch::nn::init::constant_(each, 0.1);  // all units stay the same
+  if (each.dim() > 1) torch::nn::init::kaiming_uniform_(each);
 })"},
      {.name = "unnormalized_input",
       .help = "warning or error; inputs far from unit scale; an error if all are 0, or leave units silent",
       .remedy = "subtract the training data's mean and divide by its standard deviation",
       .looks = {{When::window, &judge_input_scale}},
       .limits =
           {{"input_scale", 10.0,
             "root mean square of the model's input, above which it is not normalized; the lower limit is 0.01 over "
             "this",
             0.0}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"vanishing_gradient", "dead_units", "constant_output"},
                         .strength = Strength::sure},
                        {.effects = {"exploding_gradient", "saturated_activation", "loss_spike", "loss_oscillating",
                                     "diverging_loss", "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-auto x = image.to(torch::kFloat);  // from 0 to 255
+auto x = (image.to(torch::kFloat) - mean) / deviation;)"},
      {.name = "constant_output",
       .help = "warning; a layer's output does not depend on its input",
       .measure = "differences from sample to sample: at most 1e-4 of a layer's output, and above 1e-2 of its input",
       .remedy = "check its weights and saturated layers before it; too large a learning rate can cause this; "
                 "give a softmax two elements or more",
       .looks = {{When::step, &judge_lone_softmax}, {When::window, &judge_constant}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"unchanged_parameter"}, .strength = Strength::sure, .agrees = &blocks_gradient},
                        {.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 2,
       .example = R"( torch::nn::Linear head(128, 1);
-auto p = torch::softmax(head->forward(x), 1);  // of one value: 1
+auto p = torch::sigmoid(head->forward(x));)"},
      {.name = "linear_chain",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; one linear layer takes the output of another unchanged",
       .measure = "each linear layer's input, compared with the output of the layer before",
       .remedy = "put an activation between them, such as a ReLU, or leave one out",
       .looks = {{When::window, &judge_linear_chain}},
       .is_blind_on_devices = true,
       .example = R"( torch::nn::Sequential net(torch::nn::Linear(784, 256),
+                          torch::nn::ReLU(),
                           torch::nn::Linear(256, 10));)"},
  };
}

}  // namespace loupe::health
