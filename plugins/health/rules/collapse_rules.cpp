// Rules about outputs that are nearly the same for different samples.

#include <algorithm>
#include <cmath>

#include "health/rules/alikeness.h"
#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {

RowSpread RowSpread::of(const Elements& elements) {
  constexpr int64_t fewest_rows = 8, most_rows = 16, fewest_columns = 4, most_columns = 32;
  if (!elements.readable() || !elements.floating() || elements.dim() < 2 || elements.size(0) < fewest_rows) return {};
  const int64_t all_rows = elements.size(0), all_columns = elements.count() / all_rows;
  if (all_columns < fewest_columns) return {};
  const int64_t rows = std::min(most_rows, all_rows), columns = std::min(most_columns, all_columns);
  RowSpread spread;
  elements.read_by([&](const auto& at) {
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t column = columns == all_columns ? i : scattered_place(i, columns, all_columns);
      double sum = 0, squares = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const double value = at(row * all_rows / rows * all_columns + column);
        sum += value;
        squares += value * value;
      }
      const auto count = static_cast<double>(rows);
      const double mean = sum / count;
      spread.variance += std::max(squares / count - mean * mean, 0.0) / static_cast<double>(columns);
      spread.squares += squares / count / static_cast<double>(columns);
    }
  });
  spread.looks = 1;
  return std::isfinite(spread.squares) ? spread : RowSpread{};
}

void Alikeness::take_first_row(const Elements& output, bool is_same_step) {
  constexpr double clearly = 0.1;  // of the mean square, as in judge_embedding
  if (!output.readable() || !output.floating() || output.dim() < 2 || output.count() == 0) return;
  const auto all = output.count() / output.size(0), columns = std::min<int64_t>(std::ssize(first_row), all);
  double variance = 0, squares = 0;
  for (int64_t i = 0; i < columns; ++i) {
    double& before = first_row[static_cast<std::size_t>(i)];
    const double value = output.at(columns == all ? i : scattered_place(i, columns, all));
    variance += (value - before) * (value - before) / 4;
    squares += (value * value + before * before) / 2;
    before = value;
  }
  runs_differ = runs_differ || (is_same_step && variance > clearly * squares);
}

namespace {

constexpr int64_t looks_enough = 2;

/// Embeddings that agree because that makes the loss small. Outputs that a loss compares with targets may be as alike
/// as these, so such models are not judged.
void judge_embedding(const Judge& judge, const Situation& situation) {
  const Layer* layer = situation.model->last_layer;
  if (layer == nullptr || layer->module == nullptr || situation.compares_targets) return;
  // The rows of each run are of one class and may be alike.
  if (layer->alike.runs_differ) return;
  const RowSpread &start = layer->alike.at_start, &now = layer->alike.now;
  if (start.looks < looks_enough || now.looks < looks_enough) return;
  // If a loss compares outputs with outputs, their directions must differ; else the outputs must have become one point,
  // with several of them in each step.
  constexpr double alike = 0.1, far_less = 0.2;
  constexpr double one_point = 0.02, next_to_nothing = 0.05, shrunk = 0.01;
  const bool are_alike = situation.compares_outputs && now.share() < alike && now.share() < far_less * start.share();
  const bool are_one_point = layer->alike.runs_again && now.share() < one_point &&
                             now.share() < next_to_nothing * start.share() &&
                             now.mean_variance() < shrunk * start.mean_variance();
  if (!are_alike && !are_one_point) return;
  judge.see(
      {.module = layer->module, .value = now.share(), .threshold = are_alike ? alike : one_point},
      sentence("the output of '", layer->name,
               "' is nearly the same for all rows of a batch, though the inputs differ: ", percent(1 - now.share()),
               " of it is equal in all rows, compared with ", percent(1 - start.share()),
               " at the start, so it says little about a sample"),
      "the loss is small if all outputs are equal: make it push different samples apart (negatives, a margin or a "
      "variance term), or let one of two views go through detach() and a predictor, and normalize the output over "
      "the batch");
}

/// A code with mean 0 and variance 1 for every input.
void judge_code(const Judge& judge, const Situation& situation) {
  constexpr double nothing = 0.02;  // nats a sample
  constexpr uint64_t steps_enough_to_learn = 100;
  if (situation.model->steps < steps_enough_to_learn) return;
  for (const Layer& layer : situation.model->layers) {
    const Alikeness::Code& code = layer.alike.code;
    if (layer.module == nullptr || code.other == nullptr || code.looks < looks_enough) continue;
    if (code.other->module == nullptr || code.divergence() > nothing) continue;
    judge.see(
        {.module = layer.module, .value = code.divergence(), .threshold = nothing},
        sentence("'", code.other->name, "' and '", layer.name,
                 "' give nearly 0 for every sample (root mean "
                 "squares of ",
                 std::sqrt(code.other_mean_squares()), " and ", std::sqrt(code.mean_squares()),
                 "): as the mean and log variance of a code they are the same normal distribution for every "
                 "input, with a divergence of at most ",
                 code.divergence(), " per sample, so the decoder learns nothing about the sample"),
        "lower the weight of the divergence, at least in the first epochs, and check that it and the reconstruction "
        "error are both summed, or both averaged, over the elements of a sample");
  }
}

/// A policy that has become certain. The best policy may be certain, too; only the rewards show it.
void judge_policy(const Judge& judge, const Situation& situation) {
  constexpr int64_t rows_enough = 64;
  constexpr double was_open = 0.5, vanished = 0.02;
  if (situation.compares_classes) return;  // a classifier may be certain
  for (const Layer& layer : situation.model->layers) {
    const Alikeness::Answers &start = layer.alike.answers_at_start, &now = layer.alike.answers;
    if (layer.module == nullptr || layer.role != Role::softmax || start.rows == 0 || now.rows < rows_enough) continue;
    if (now.differ || start.mean_entropy() < was_open || now.mean_entropy() > vanished) continue;
    const double log_classes = std::log(static_cast<double>(now.classes));
    judge.see(
        {.severity = LOUPE_SEVERITY_INFO,
         .module = layer.module,
         .value = now.mean_entropy() * log_classes,
         .threshold = vanished * log_classes},
        sentence("'", layer.name, "' chooses ", now.answer, " of ", now.classes, " for all ", now.rows,
                 " measured rows, with an entropy of ", now.mean_entropy() * log_classes, ", compared with ",
                 start.mean_entropy() * log_classes, " at the start: the choice no longer depends on the input"),
        "if the rewards do not improve, check the sign and weight of the entropy bonus, which is subtracted from the "
        "loss, or lower the learning rate");
  }
}

void judge_choice(const Judge& judge, const Situation& situation) {
  constexpr int64_t looks_of_a_window = 4, seen_enough = 64, fewest_rows = 16, few = 32;
  for (const Layer& layer : situation.model->layers) {
    const Alikeness::Choice& choice = layer.alike.choice;
    if (layer.module == nullptr || choice.are_more || choice.looks < looks_of_a_window || choice.seen < seen_enough)
      continue;
    const int64_t rows = layer.module->parameter_count > 0 ? layer.module->parameters[0]->sizes[0] : 0;
    const auto used = static_cast<int64_t>(choice.count);
    if (rows < fewest_rows || used * few > rows) continue;
    judge.see(
        {.module = layer.module, .value = static_cast<double>(used), .threshold = static_cast<double>(rows) / few},
        sentence(used == 1 ? "one row" : sentence(used, " rows"), " of the ", rows, " of '", layer.name, "' ",
                 used == 1 ? "was" : "were", " chosen in all of the ", choice.seen,
                 " choices of the last measured steps: the others are never used, and get no "
                 "gradients"));
  }
}

}  // namespace

std::vector<Rule> collapse_rules() {
  return {
      {.name = "collapsed_output",
       .help = "warning or info; the outputs for different samples have become nearly the same: embeddings, the code "
               "of a VAE, the choices of a policy",
       .measure = "the share of the last output that differs by row: below 0.1, or 0.02 where no loss compares outputs",
       .remedy = "make the loss push samples apart, or lower the weight of a code's divergence or of an entropy bonus",
       .looks = {{When::window, &judge_embedding}, {When::window, &judge_code}, {When::window, &judge_policy}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"constant_output", "vanishing_gradient", "update_ratio", "dead_units"}}},
       .example = R"( auto z1 = encoder->forward(view1), z2 = encoder->forward(view2);
-// Smallest where all outputs are one.
-auto loss = -torch::cosine_similarity(z1, z2).mean();
+auto p1 = predictor->forward(z1), p2 = predictor->forward(z2);
+auto loss = -0.5 * (torch::cosine_similarity(p1, z2.detach()).mean() +
+                    torch::cosine_similarity(p2, z1.detach()).mean());)"},
      {.name = "unused_codes",
       .help = "warning; at most four rows of a codebook, and at most one in 32, are chosen",
       .measure = "the rows of a codebook that are chosen in 64 choices or more: at most four, and at most one in 32",
       .remedy = "initialize the rows with outputs of the encoder, such as those of the first batch, and re-initialize "
                 "unused rows with others",
       .looks = {{When::window, &judge_choice}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"constant_output", "dead_units", "poor_initialization", "loss_not_decreasing"}}},
       .example = R"(-// Far from what the encoder gives: one row is the nearest for all.
 torch::nn::Embedding codes(64, 8);
+torch::NoGradGuard none;
+codes->weight.copy_(encoder->forward(first_64_samples));)"},
  };
}

}  // namespace loupe::health
