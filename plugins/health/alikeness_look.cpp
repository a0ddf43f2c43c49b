// Checks in a few steps, for a few rows, whether different samples give different outputs.

#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/watches.h"

namespace loupe::health {

/// A pass is measured if its input is; see Model::Pass::input_share.
void OutputWatch::look_for_alikeness(const Event& event) {
  constexpr uint64_t often = 4, start_steps = 3;
  constexpr double clearly = 0.05;
  if (!event.grad_enabled()) return;
  Model::Pass& pass = model_.pass;
  const bool is_start = model_.steps < start_steps, looks_whole = model_.resting.is_looking();
  if (pass.first == &layer_ && event.input_count() > 0 && (is_start || looks_whole || events_ % often == 1))
    pass.has_various_rows = RowSpread::of(Elements(event.input(0).raw())).share() > clearly;
  Alikeness& alike = layer_.alike;
  if (model_.last_layer == &layer_) {
    const bool is_again = alike.ran_at == model_.step_now;
    if (alike.runs_again) alike.take_first_row(Elements(event.tensor().raw()), is_again);
    alike.runs_again = alike.runs_again || is_again;
    alike.ran_at = model_.step_now;
    if (pass.has_various_rows)
      (is_start ? alike.at_start : alike.now).add(RowSpread::of(Elements(event.tensor().raw())));
  }
  if (layer_.role == Role::softmax && (is_start || looks_whole || events_ % often == 1))
    look_at_answers(event, is_start);
  if (!looks_whole) return;
  if (layer_.module->family == LOUPE_FAMILY_EMBEDDING) {
    look_at_choice(event);
  } else if (layer_.is_maker()) {
    look_for_code(event);
  }
}

/// Measures how certain a softmax over the columns is, and which column it prefers.
void OutputWatch::look_at_answers(const Event& event, bool is_start) {
  constexpr int64_t fewest_rows = 8, most_rows = 16, most_classes = 256;
  const Elements output(event.tensor().raw());
  if (!output.readable() || !output.floating() || output.dim() != 2 || output.size(0) < fewest_rows) return;
  const int64_t classes = output.size(1), rows = std::min(most_rows, output.size(0));
  if (classes < 2 || classes > most_classes) return;
  const bool is_logarithm = layer_.type.front() == 'L' || layer_.type.front() == 'l';
  Alikeness::Answers& answers = is_start ? layer_.alike.answers_at_start : layer_.alike.answers;
  answers.classes = classes;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = i * output.size(0) / rows;
    double entropy = 0, sum = 0, highest = -1;
    int64_t likeliest = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double value = output.at(row * classes + c), chance = is_logarithm ? std::exp(value) : value;
      sum += chance;
      if (chance > 0) entropy -= chance * std::log(chance);
      if (chance > highest) likeliest = c;
      highest = std::max(highest, chance);
    }
    constexpr double near = 0.05;
    if (!(std::abs(sum - 1) < near)) return;  // the softmax is over another dimension
    answers.take(entropy / std::log(static_cast<double>(classes)), likeliest);
  }
}

/// Notes the rows that an embedding looks up, if the layer before computed one row of its width for each.
void OutputWatch::look_at_choice(const Event& event) {
  constexpr int64_t fewest = 8, most = 32;
  const TensorView output = event.tensor();
  const Model::Pass::Made& made = model_.pass.made;
  if (event.input_count() == 0 || output.dim() < 2 || made.layer == nullptr || made.count != output.numel()) return;
  const Elements rows(event.input(0).raw());
  const int64_t width = output.size(output.dim() - 1);
  if (!rows.readable() || rows.floating() || rows.count() < fewest || (made.last != width && made.second != width))
    return;
  ++layer_.alike.choice.looks;
  model_.has_codebook = true;
  rows.sample(most, [&](int64_t place) { layer_.alike.choice.take(static_cast<int64_t>(rows.at(place))); });
}

/// Finds the two layers that compute the mean and the variance of a code: a third layer gets a sample of it.
void OutputWatch::look_for_code(const Event& event) {
  Model::Pass::Made& made = model_.pass.made;
  const TensorView output = event.tensor();
  if (event.input_count() == 0 || output.dim() < 2) return;
  const loupe_tensor* input = event.input(0).raw();
  Model::Pass::Made now{&layer_,
                        input->data,
                        output.raw()->data,
                        output.numel(),
                        output.size(output.dim() - 1),
                        output.size(1),
                        Elements(output.raw()).mean_square()};
  if (made.layer != nullptr && made.layer != &layer_ && made.input == now.input && made.count == now.count) {
    // Three such layers are queries, keys and values.
    now.is_one_of_many = made.before != nullptr || made.is_one_of_many;
    if (!now.is_one_of_many) {
      now.before = made.layer;
      now.output_before = made.output;
      now.square_before = made.square;
    }
  } else if (made.before != nullptr && input->numel == made.count && now.input != made.output &&
             now.input != made.output_before) {
    Alikeness::Code& code = made.layer->alike.code;
    if (code.other != made.before) code = {};
    code.other = made.before;
    code.columns = made.count / std::max<int64_t>(1, output.size(0));
    if (model_.pass.has_various_rows && std::isfinite(made.square + made.square_before)) {
      code.squares += made.square;
      code.other_squares += made.square_before;
      ++code.looks;
    }
  }
  made = now;
}

}  // namespace loupe::health
