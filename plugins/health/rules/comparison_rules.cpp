// Rules that compare the data of a step: targets with inputs, losses with their arguments, gradients before and after a
// clip, the rows of a batch.

#include <loupe/draft/tensor_math.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

constexpr uint32_t looks_needed = 3;

// Targets and inputs.

void judge_shift(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const TokenShift& shift = model.passing.shift;
  constexpr int64_t places_enough = 256;
  if (shift.by < 0 || shift.by == 1 || shift.takes_next) return;
  if (shift.looks < looks_needed || shift.places < places_enough) return;
  if (shift.by == 0) {
    // A model that does not look ahead can also copy; an encoder and decoder may be intended to.
    constexpr double tiny = 0.05;
    const bool looks_back = (shift.is_causal && shift.recurrent == 0) || (shift.recurrent == 1 && !shift.is_causal);
    if (shift.sees_all || !looks_back || !(shift.loss < tiny)) return;
    return judge.tell(
        {.module = model.root, .value = 0, .threshold = 1},
        sentence("the targets equal the model's own input at all ", shift.places,
                 " compared positions, and the loss is ", percent(shift.loss),
                 " of a guess: the model, which sees no later position, has learned to copy"),
        "predict the next word: use the targets tokens.slice(1, 1) with the inputs tokens.slice(1, 0, -1)");
  }
  judge.tell({.module = model.root, .value = static_cast<double>(shift.by), .threshold = 1},
             sentence("the targets are the model's own input shifted by ", shift.by, " positions, in all ",
                      shift.places, " compared ones: the model learns the word ", shift.by, " positions later"),
             "shift them once: if the data set already gives shifted targets, leave out the slice before the loss");
}

void judge_same_columns(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const SameColumns& same = model.passing.same;
  const int64_t first = same.column(), steps = same.columns / same.in_step;
  if (!same.is_known() || first < 0 || model.acts()) return;
  const std::string rows = sentence(", bit for bit, in all ", same.rows, " compared rows");
  if (same.width == same.columns && same.width > 1 && first == 0) {
    if (same.drops || same.narrowest < same.width) return;
    return judge.tell({.severity = LOUPE_SEVERITY_INFO, .module = model.input_module(), .value = 1},
                      sentence("the target is the whole input", rows, ", and no layer outputs fewer than ", same.width,
                               " numbers per sample: the model can pass it through unchanged"),
                      "make a layer in between narrower, or mask a part of the input");
  }
  // An auto-encoder's input may also have a condition, after the part to reconstruct.
  const int64_t overlap = same.overlap(first);
  const bool is_whole = overlap == same.width;
  if (is_whole && same.width > 1 && 4 * same.width > same.columns) return;
  const bool is_last_step = first + same.width == same.columns;
  const std::string where =
      !is_whole ? sentence("the first ", overlap, " of the ", same.width, " targets are the last ", overlap, " of the ",
                           same.columns, " numbers that go into the model")
      : steps > 1 ? sentence("the target is in time step ", first / same.in_step + 1, " of ", steps,
                             is_last_step ? ", the last," : "", " of the model's own input")
                  : sentence("the target is ", same.width == 1 ? "column " : "columns from ", first + 1, " of the ",
                             same.columns, " of the model's own input");
  judge.tell({.module = model.input_module(), .value = static_cast<double>(first)},
             sentence(where, rows, ": it is given the answer"));
}

// The arguments of loss functions.

void judge_target_range(const Judge& judge, const Situation& situation) {
  const TargetRange& targets = situation.model->passing.targets;
  if (!targets.is_wrong()) return;
  judge.tell({.module = situation.model->output_module(),
              .value = targets.largest > 1 ? targets.largest : targets.smallest,
              .threshold = 1},
             sentence(targets.function, " takes targets from 0 to 1, but is given some from ", targets.smallest, " to ",
                      targets.largest, ": the loss then has no lower bound"),
             targets.largest > 100 ? "divide them by their largest value: a mask of 0 and 255 by 255"
                                   : "use 0 for no and 1 for yes; for class numbers, use cross_entropy");
}

/// The part of the targets that a bounded output cannot reach keeps the loss high.
void judge_unreachable(const Judge& judge, const Situation& situation) {
  constexpr uint32_t looks_enough = 8;
  constexpr double little = 0.1;
  const UnreachableTargets& targets = situation.model->passing.unreachable;
  const double share = targets.squares_beyond / targets.squares;
  if (targets.looks < looks_enough || !(share > little)) return;
  judge.tell(
      {.severity = LOUPE_SEVERITY_WARNING,
       .module = situation.model->output_module(),
       .value = share,
       .threshold = little},
      sentence(
          targets.function, " compares the output of a ", targets.maker, ", ",
          std::isinf(targets.high) ? "which is never below 0" : sentence("from ", targets.low, " to ", targets.high),
          ", with targets from ", targets.smallest, " to ", targets.largest, ": ",
          percent(static_cast<double>(targets.beyond) / static_cast<double>(targets.count)),
          " of them are out of its reach"),
      sentence("leave out the ", targets.maker, " at the end of the model, or scale the targets into its range"));
}

void judge_bounded_scores(const Judge& judge, const Situation& situation) {
  BoundedScores& scores = situation.model->passing.scores;
  scores.end_epoch();
  constexpr int epochs_enough = 3;
  constexpr double most = 0.15;
  if (scores.epochs < epochs_enough || !(scores.now > most * scores.guess) || scores.now < scores.floor) return;
  judge.tell({.module = situation.model->output_module(), .value = scores.now, .threshold = scores.floor},
             sentence("cross_entropy is given scores between -1 and 1 for ", scores.classes,
                      " classes, like cosines: the loss is ", scores.now, " and cannot fall below ", scores.floor,
                      "; a guess gives ", scores.guess));
}

void judge_misread_input(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const InputRange& range = model.passing.range;
  if (!range.is_misread()) return;
  const bool is_huge = range.huge > 0;
  judge.tell(
      {.module = model.input_module(), .value = range.example},
      sentence(is_huge ? range.huge : range.denormal, " of ", range.seen, " read elements of the model's input are ",
               is_huge ? "beyond 1e30" : "smaller than any normal number, other than 0", ", such as ", range.example,
               ": numbers of another type or byte order look like that"));
}

void judge_tiny_input(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  constexpr double tiny = 0.05;
  const double largest = model.passing.range.largest;
  const bool normalizes = model.first_layer == nullptr || model.first_layer->role == Role::normalization;
  if (!situation.is_stuck || normalizes || !(largest > 0) || largest >= tiny) return;
  judge.see({.module = model.input_module(), .value = largest, .threshold = tiny},
            sentence("the largest number in the model's input is ", largest, ", and the loss does not fall"));
}

// Softmax.

void judge_softmax(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  SoftmaxLook& softmax = model.passing.softmax;
  const Layer* layer = softmax.over_batch;
  const Model::Step& step = model.step;
  // All nodes of one graph are in each step, and may exchange information.
  const bool is_same = step.input.equals(model.last_input);
  const bool is_batch = layer != nullptr && softmax.rows == step.input_rows && step.targets > 0 && !is_same &&
                        (step.targets == softmax.rows || (softmax.is_attention && step.targets % softmax.rows == 0));
  if (layer == nullptr && !model.resting.is_looking()) return;
  softmax.steps = is_batch ? softmax.steps + 1 : 0;
  if (softmax.steps < looks_needed) return;
  judge.tell({.module = layer->module, .place = layer->first_run},
             sentence("the softmax '", layer->name, "' is taken over the ", softmax.rows,
                      " samples of the batch: each of ", "its columns adds up to 1 over the batch, but the ",
                      softmax.inner, " numbers of a sample do not, so samples mix"));
}

// Between backward and step.

/// A limit that people would write: 1, 0.5, 2, 0.1.
bool is_round(double value) {
  const double digits = value / std::pow(10, std::floor(std::log10(value) + 1e-6));
  constexpr double same = 2e-4;
  for (const double each : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0}) {
    if (std::abs(digits - each) < same * each) return true;
  }
  return false;
}

/// A clip leaves the same norm, or the same largest element, in all steps. With a scaled loss, the limit is this times
/// the scale if the clip came first, and this itself if the clip came last.
void judge_scaled_clip(const Judge& judge, const Situation& situation) {
  const ClippedSteps& clipped = situation.model->window.clipped;
  const double scale = situation.passes != nullptr ? situation.passes->scale.load() : 1;
  constexpr double same = 2e-3, other = 1e-2, usual = 64;
  if (clipped.count < fewest_looks_in_window || clipped.count < clipped.looks || scale < usual) return;
  const bool is_norm = clipped.after.spread() < same;
  if ((!is_norm && clipped.largest.spread() >= same) || clipped.before.spread() < other) return;
  const double left = is_norm ? clipped.after.high : clipped.largest.high, limit = left * scale;
  // Check both norms: the result is far below the gradients' own, and the limit is below the scaled ones.
  const double own = clipped.before.low / scale, far = is_norm ? 0.01 : 0.1;
  if (!(clipped.after.high < far * own) || limit > clipped.before.low || (is_round(left) && !is_round(limit))) return;
  const bool matters = clipped.shrinks_steps;
  judge.tell({.severity = matters ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO,
              .module = situation.model->root,
              .value = clipped.after.high,
              .threshold = own},
             sentence("the gradients are clipped to ", is_norm ? "a norm of " : "elements of ", limit,
                      " while they still contain the loss scale of ", scale,
                      ", and divided by it afterwards: a step uses "
                      "a norm of ",
                      clipped.after.high, ", although the norm of the gradients is ", own, " and more"),
             sentence("divide the gradients by the scale first, then clip them",
                      matters ? "" : "; this optimizer divides by their size, so little changes"));
}

void judge_accumulation(const Judge& judge, const Situation& situation) {
  Passes* passes = situation.passes;
  if (passes == nullptr) return;
  const Model& model = *situation.model;
  const Passes::Step step = passes->end_step();
  constexpr double far = 4, whole = 0.02;
  constexpr uint32_t steps_enough = 4;
  constexpr std::size_t several = 3;
  const bool is_known = step.passes > 1 && step.is_even();
  const bool is_uneven = is_known && static_cast<double>(step.most) >= far * static_cast<double>(step.fewest);
  if (step.passes > 1 && step.is_known) passes->uneven_steps = is_uneven ? passes->uneven_steps + 1 : 0;
  if (is_uneven && passes->uneven_steps >= steps_enough) {
    judge.tell(
        {.module = model.root, .value = static_cast<double>(step.most), .threshold = static_cast<double>(step.fewest)},
        sentence("a step adds up ", step.passes, " backward passes, whose losses are means over ", step.fewest, " to ",
                 step.most, " targets each: a target among ", step.fewest, " weighs as much as ",
                 step.most / step.fewest, " among ", step.most),
        "sum the losses with reduction(torch::kSum), and divide by the number of targets in the whole step");
  }
  // Gradients that are cleared between passes do not grow from pass to pass.
  const auto& squares = model.passing.squares;
  const bool is_seen = step.passes >= several && step.passes <= squares.size() && squares[0] > 0;
  const double grown = is_seen ? std::sqrt(squares[step.passes - 1] / squares[0]) : 0;
  if (!model.resting.is_looking() || !(grown > 0)) return;
  const bool is_summed = is_known && std::abs(step.largest - 1) < whole && std::abs(step.smallest - 1) < whole;
  passes->summed_steps = is_summed ? passes->summed_steps + 1 : 0;
  passes->growth = is_summed ? passes->growth + std::log(grown) : 0;
  constexpr double grows = 1.4;
  if (passes->summed_steps < steps_enough || passes->growth < std::log(grows) * passes->summed_steps) return;
  judge.tell({.module = model.root, .value = static_cast<double>(step.passes), .threshold = 1},
             sentence("a step adds up the gradients of ", step.passes,
                      " backward passes, each of a mean, without dividing them by ", step.passes,
                      ": the learning rate acts as if it were ", step.passes, " times as high"),
             sentence("divide each loss by ", step.passes, " before backward(), or lower the learning rate"));
}

// Rows and starts.

void judge_repeats(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  RepeatedRows& repeats = model.passing.repeats;
  constexpr uint32_t batches_enough = 8;
  if (!model.step.input.is_known) return;
  repeats.batches = repeats.times > 0 && repeats.has_same_targets ? repeats.batches + 1 : 0;
  if (repeats.batches < batches_enough || model.acts()) return;
  judge.tell(
      {.severity = repeats.outputs_differ ? LOUPE_SEVERITY_INFO : LOUPE_SEVERITY_WARNING,
       .module = model.input_module(),
       .value = static_cast<double>(repeats.times),
       .threshold = 1},
      sentence("each row of a batch of ", repeats.rows, " occurs ", repeats.times, " times, with its target, in ",
               repeats.batches, " batches in a row", model.had_gaps ? " that were measured" : ""),
      sentence(repeats.outputs_differ ? "unless the model should draw several times for each sample, " : "",
               "give each worker of the loader its own seed, such as seed + worker: workers with the same seed "
               "draw the same samples"));
}

void judge_lost_state(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  constexpr double trained = 0.5;
  if (model.steps != 1 || model.classes < 2 || situation.optimizer == nullptr) return;
  const double guess = std::log(static_cast<double>(model.classes));
  if (!(model.first_cross_entropy < trained * guess)) return;
  bool is_new = false;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !each.is_matrix()) continue;
    judge.host.lend_parameter(each.module, each.name.c_str(), false, [&](const loupe_tensor& tensor) {
      draft::lend_optimizer_states(judge.host, tensor, [&](std::string_view name, const loupe_tensor& state) {
        const Elements step(&state);
        if (name == "step" && step.readable()) is_new = step.at(0) <= 1;
      });
    });
    break;
  }
  if (!is_new) return;
  judge.tell({.module = model.root, .value = model.first_cross_entropy, .threshold = guess},
             sentence("the weights are already trained, as the first loss is ", model.first_cross_entropy,
                      " and a guess gives ", guess, ", but ", situation.optimizer->type,
                      " begins at its first step, without its averages of the gradients"));
}

void judge_held_frozen(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (model.steps == 0) return;
  int64_t frozen = 0, all = 0;
  const ParameterState* first = nullptr;
  std::size_t more = 0;
  for (const ParameterState& each : model.parameters) {
    if (each.parameter == nullptr || !each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    all += each.parameter->numel;
    if (each.is(LOUPE_PARAMETER_TRAINABLE) || each.steps_with_gradient > 0 || each.seen_gradients > 0) continue;
    frozen += each.parameter->numel;
    if (first == nullptr)
      first = &each;
    else
      ++more;
  }
  if (first == nullptr || frozen == all) return;
  const bool is_embedding = first->module->family == LOUPE_FAMILY_EMBEDDING;
  const double share = static_cast<double>(frozen) / static_cast<double>(all);
  judge.tell({.module = first->module, .parameter = first->name, .value = share},
             sentence("the optimizer holds ", shown(*first), more > 0 ? sentence(" and ", more, " more") : "",
                      ", which ", more > 0 ? "require" : "requires", " no gradient and never ",
                      more > 0 ? "change" : "changes", ": ", percent(share), " of the elements in its groups"),
             is_embedding ? "Embedding::from_pretrained freezes by default: to train its rows, use "
                            "EmbeddingFromPretrainedOptions().freeze(false)"
                          : "to train it, call requires_grad_(true); else leave it out of the optimizer");
}

// Validation.

bool holds(const Judge& judge, const Layer& layer, const char* name, double value) {
  bool is_all = false;
  read(judge.host, layer.module, name, false, [&](const Elements& elements) {
    is_all = true;
    for (int64_t place = 0; is_all && place < elements.count(); ++place) is_all = elements.at(place) == value;
  });
  return is_all;
}

void judge_unseen_norm(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (situation.passes != nullptr && std::exchange(model.passing.ran_without_grad, false))
    situation.passes->evaluates_models = true;
  if (situation.passes != nullptr && model.has_batch_norm()) situation.passes->has_batch_norm = true;
  const bool is_trained = std::ranges::any_of(
      model.parameters, [](const ParameterState& each) { return each.steps > 0 || each.ever_changed; });
  const Layer* first = nullptr;
  std::size_t more = 0;
  for (Layer& layer : model.layers) {
    const bool was_evaluated = std::exchange(layer.was_evaluated, false);
    if (!layer.is_batch_norm || layer.module == nullptr || !was_evaluated || layer.trained_at != 0) continue;
    if (!is_trained || layer.learns_in_evaluation || !holds(judge, layer, "running_mean", 0)) continue;
    if (!holds(judge, layer, "running_var", 1) || !holds(judge, layer, "num_batches_tracked", 0)) continue;
    if (first == nullptr)
      first = &layer;
    else
      ++more;
  }
  if (first == nullptr) return;
  judge.tell({.module = first->module, .value = 0, .place = first->first_run},
             sentence("the batch norm", more > 0 ? "s '" : " '", first->name,
                      more > 0 ? sentence("' and ", more, " more evaluate") : "' evaluates",
                      " but never saw a batch: the running mean is 0 and the variance 1, as at the start, although the "
                      "weights have been trained"));
}

void judge_validation(const Judge& judge, const Situation& situation) {
  const auto& trained = situation.losses->training.epochs;
  const auto& held_out = situation.losses->validation.epochs;
  const bool is_other = situation.passes != nullptr && situation.passes->evaluates_others();
  constexpr std::size_t epochs_enough = 5;
  constexpr double never = 0.98, far_above = 2, grew = 1.2, level = 1.005;
  const double start = situation.losses->training.start;
  if (situation.acts || held_out.size() < epochs_enough || trained.size() < epochs_enough || !(start > 0)) return;
  const auto [at_lowest, at_highest] = std::ranges::minmax_element(held_out, {}, &Losses::Epoch::mean);
  const double lowest = at_lowest->mean;
  // Each change of a model that learns moves its validation loss.
  const double fell_to = at_highest->mean < level * lowest ? 0.5 : 0.2;
  const double now = trained.back().mean, held_out_now = held_out.back().mean;
  // A loss that grows is overfitting, which has its own rule.
  const bool stands = lowest >= never * std::max(start, held_out.front().mean) && held_out_now <= grew * lowest;
  const bool never_fell = now >= 0 && now < fell_to * start && stands;
  // A different model than the trained one, such as an average of its weights, should follow it.
  const bool departs = is_other && lowest > 0 && held_out_now > grew * lowest && held_out_now > far_above * now;
  if (!never_fell && !departs) return;
  const bool may_lack_batches = is_other && situation.passes->has_batch_norm;
  judge.tell({.value = held_out_now, .threshold = lowest},
             sentence("the training loss fell from ", start, " to ", now, ", and the validation loss, now ",
                      held_out_now, ", was never below ", lowest,
                      is_other ? ": the validation runs another model, since the trained one never ran without "
                                 "gradients"
                               : ": the validation does not use what was learned",
                      may_lack_batches ? "; the batch norms of that model may never have seen a batch" : ""),
             may_lack_batches
                 ? "also copy the buffers where the parameters are copied or averaged, so that the running mean and "
                   "variance follow: for each of model->buffers(), buffer.copy_(trained buffer)"
                 : "check that the validation uses the trained model, or a copy that follows it, in evaluation mode, "
                   "and makes its inputs and targets in the same way as the training");
}

}  // namespace

std::vector<Rule> comparison_rules() {
  return {
      {.name = "target_in_input",
       .help = "warning or info; the input contains the answer, or targets are shifted by more than one position",
       .measure =
           "columns of the input that equal the targets in all of 256 rows; for words, the share of targets that "
           "are the input shifted by 0, 2 or 3 positions: at least 98 %, three times",
       .remedy = "end the input before the forecast, leave the answer's column out of it, and shift targets by one "
                 "position, once",
       .looks = {{When::step, &judge_shift}, {When::step, &judge_same_columns}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"overfitting"}}},
       .example = R"(-auto window = series.slice(0, at, at + 25);
-auto target = series.slice(0, at + 24, at + 25);  // its last value
+auto window = series.slice(0, at, at + 24);
+auto target = series.slice(0, at + 24, at + 25);)"},
      {.name = "target_range",
       .severity = LOUPE_SEVERITY_ERROR,
       .tag = "Loss",
       .help = "error or warning; a binary cross entropy is given targets outside 0 to 1, or a distance targets that a "
               "tanh, sigmoid or ReLU before it cannot reach",
       .measure =
           "all targets of 3 batches; a single number other than 0 and 1 may mark masked targets; for a distance "
           "the squares of the part out of reach, a tenth of the targets' squares in 8 steps",
       .remedy = "divide masks of 0 and 255 by 255; for class numbers, use cross_entropy",
       .looks = {{When::step, &judge_target_range}, {When::step, &judge_unreachable}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"unbounded_loss", "exploding_gradient", "dead_units", "saturated_activation",
                                     "constant_output", "loss_spike", "diverging_loss", "update_ratio",
                                     "loss_not_decreasing", "target_scale"}}},
       .example = R"(-auto mask = file.to(torch::kFloat);  // 0 and 255
+auto mask = file.to(torch::kFloat) / 255;
 auto loss = F::binary_cross_entropy_with_logits(scores, mask);)"},
      {.name = "bounded_scores",
       .tag = "Loss",
       .help = "warning; a cross entropy of scores between -1 and 1, which keep the loss high",
       .measure = "scores between -1 and 1, up to 0.8 and more, that are right for half of the samples, for 3 epochs, "
                  "while the loss is above 15 % of a guess",
       .remedy = "divide the scores by a temperature, such as 0.1, or multiply them by a learned scale",
       .looks = {{When::tick, &judge_bounded_scores}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-auto alike = torch::matmul(a, b.t());  // cosines
+auto alike = torch::matmul(a, b.t()) / 0.1;
 auto loss = torch::cross_entropy_loss(alike, torch::arange(64));)"},
      {.name = "misread_input",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error; inputs that look like numbers of another type",
       .measure =
           "elements of a float input beyond 1e30, or an eighth of them smaller than normal numbers, in 2 batches",
       .remedy =
           "read the data with the type in which they are stored (an option of from_blob), then convert them with "
           "to(torch::kFloat)",
       .looks = {{When::step, &judge_misread_input}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"non_finite", "unnormalized_input", "exploding_gradient", "dead_units",
                                     "constant_output", "loss_spike", "diverging_loss", "poor_initialization",
                                     "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-// The file holds int32.
-auto x = torch::from_blob(bytes.data(), {count, 8}, torch::kFloat);
+auto x = torch::from_blob(bytes.data(), {count, 8}, torch::kInt)
+             .to(torch::kFloat);)"},
      {.name = "tiny_input",
       .help = "warning; all inputs are near 0, and the loss does not fall",
       .measure = "the largest number in the input over a window, below 0.05, while the loss has fallen by less "
                  "than a tenth",
       .remedy = "bring the input to unit scale: divide it once, not by 255 both in the data set and in the loop",
       .looks = {{When::window, &judge_tiny_input}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"vanishing_gradient", "dead_units", "constant_output", "update_ratio",
                                     "loss_not_decreasing"}}},
       .example = R"(-auto x = image.to(torch::kFloat) / 255 / 255;
+auto x = image.to(torch::kFloat) / 255;)"},
      {.name = "softmax_dimension",
       .help = "warning; a softmax is taken over the samples of the batch",
       .measure = "sums of a softmax's output over the samples and over each other dimension, in 3 steps in a row",
       .remedy = "take the softmax over the dimension to normalize, such as -1: dimension 0 holds the samples",
       .looks = {{When::step, &judge_softmax}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-auto weights = torch::softmax(scores, 0);  // 32 x 12: samples x time
+auto weights = torch::softmax(scores, 1);)"},
      {.name = "scaled_clip",
       .tag = "Weight Gradient Norm",
       .help = "warning or info; gradients are clipped while they still contain the loss scale",
       .measure = "the gradients' norm after backward and at the step, and the loss scale: the same norm in all steps, "
                  "below a hundredth of their own, or the same largest element and a norm below a tenth",
       .remedy = "divide the gradients by the scale first, then clip them",
       .looks = {{When::window, &judge_scaled_clip}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"exploding_gradient", "vanishing_gradient", "tiny_clip", "update_ratio",
                                     "loss_not_decreasing"}}},
       .example = R"( (loss * scale).backward();
+for (auto& each : model->parameters()) each.mutable_grad().div_(scale);
 torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
-for (auto& each : model->parameters()) each.mutable_grad().div_(scale);)"},
      {.name = "accumulation",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; a step's backward passes weigh few and many targets alike, or their sum is not divided",
       .measure =
           "the loss of each backward pass of a step, the mean over its targets and their number: 4 times as many "
           "in one as in another, in 4 steps in a row; or no factor, and gradients that grow from pass to pass",
       .remedy = "divide by the number of targets of the whole step, or by the number of passes",
       .looks = {{When::step, &judge_accumulation}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"exploding_gradient", "loss_spike", "loss_oscillating", "diverging_loss",
                                     "update_ratio", "loss_not_decreasing"},
                         .strength = Strength::hint}},
       .example = R"(-for (auto& part : parts)  // of 2 or of 20 targets
-  (mean_loss(part) / parts.size()).backward();
+for (auto& part : parts)
+  (summed_loss(part) / targets_of_all_parts).backward();
 optimizer.step();)"},
      {.name = "copied_rows",
       .help = "warning or info; each row of a batch occurs several times; info if the model itself is random",
       .measure = "equal rows of a batch, each as often as the others and with one target, in 8 batches in a row of "
                  "the first 32 and after; whether the model's outputs for equal rows are equal",
       .remedy = "give each worker of the loader its own seed",
       .looks = {{When::step, &judge_repeats}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_oscillating", "overfitting"}}},
       .example = R"( for (int worker = 0; worker < 4; ++worker)
-  generators.emplace_back(seed);  // all draw the same
+  generators.emplace_back(seed + worker);)"},
      {.name = "lost_state",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; trained weights and an optimizer that begins at its first step",
       .measure = "the first cross entropy, below half of a guess, with an optimizer at its first step",
       .remedy = "if training continues from a checkpoint, save and load the optimizer, too: torch::save(optimizer, "
                 "path) and torch::load(optimizer, path)",
       .looks = {{When::step, &judge_lost_state}},
       .is_blind_on_devices = true,
       .example = R"( torch::load(model, "model.pt");
 torch::optim::Adam optimizer(model->parameters(), 1e-3);
+torch::load(optimizer, "optimizer.pt");)"},
      {.name = "held_frozen",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; the optimizer holds parameters that require no gradient",
       .measure = "parameters of the optimizer that require no gradient at the end of an epoch, and never got one",
       .remedy = "call requires_grad_(true), use freeze(false) for an Embedding, or leave them out of the optimizer",
       .looks = {{When::tick, &judge_held_frozen}},
       .example = R"(-// Frozen by default.
-words = torch::nn::Embedding::from_pretrained(vectors);
+words = torch::nn::Embedding::from_pretrained(
+    vectors,
+    torch::nn::EmbeddingFromPretrainedOptions().freeze(false));)"},
      {.name = "unseen_norm",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error; a batch norm evaluates but never saw a batch",
       .measure = "the buffers of batch norms that evaluate: mean 0, variance 1 and 0 batches, with trained weights",
       .remedy = "also copy the buffers where the parameters are copied or averaged: for each of model->buffers(), "
                 "buffer.copy_(trained buffer)",
       .looks = {{When::tick, &judge_unseen_norm}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"overfitting", "unrelated_validation"}}},
       .example = R"(-for (size_t i = 0; i < average->parameters().size(); ++i)
-  average->parameters()[i].mul_(0.99).add_(model->parameters()[i], 0.01);
+auto from = model->buffers(), to = average->buffers();
+for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);)"},
      {.name = "unrelated_validation",
       .tag = "Loss",
       .help =
           "warning; the training loss fell to a fifth, and the validation loss never fell, or, of a model that is not "
           "watched, grows",
       .measure =
           "the training loss, below a fifth of its start, and a validation loss that was never below that start, "
           "for 5 epochs, or below a half and one that stays within 0.5 %; or one that grows to twice the training "
           "loss, of a model that is not watched",
       .remedy = "validate the model that is trained, or a copy that follows it with its buffers",
       .looks = {{When::validation_epoch, &judge_validation}},
       .brings_about = {{.effects = {"overfitting"}}},
       .example = R"(-auto copy = std::make_shared<Net>();  // never trained
-validate(copy);
+validate(model);)"},
  };
}

}  // namespace loupe::health
