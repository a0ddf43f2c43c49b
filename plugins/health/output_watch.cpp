#include <loupe/draft/abi/flags.h>
#include <loupe/draft/tensor_math.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "health/rules/elements.h"
#include "health/watches.h"

namespace loupe::health {
namespace {

/// Units are channels after a convolution, features elsewhere. An output of three dimensions may be either.
/// @param maker  the last linear layer or convolution of the pass so far, or null
int64_t unit_dimension(int64_t dim, const Layer* maker) {
  const bool is_series = dim == 3 && maker != nullptr && maker->role == Role::convolution && maker->is_over_series();
  return dim == 4 || dim == 5 || is_series ? 1 : dim - 1;
}

}  // namespace

void OutputWatch::process(const Event& event) {
  const bool can_look = place_ == LOUPE_PLACE_CPU && event.tensor();
  {
    const std::lock_guard lock(model_.mutex);
    take_numbers(event);
    if (can_look) look(event);
  }
  if (can_look && watched_.first_non_finite.is_taken()) explain(event);
  if (can_look && event.training() && event.grad_enabled()) look_at_start();
  look_at_path(watched_, model_, layer_, event);
}

void OutputWatch::take_numbers(const Event& event) {
  Model::Pass& pass = model_.pass;
  if (place_ == LOUPE_PLACE_CPU) model_.begin_run(layer_, event);
  if (event.has_measurement()) {
    const Measurement& measured = event.measurement();
    if (!is_finite(measured) && watched_.first_non_finite.meets_first())
      note_non_finite(event, origin_of(Origin::Place::output, event, measured, watched_));
    if (place_ == LOUPE_PLACE_CPU) pass.last_norm = std::sqrt(measured.sum_squares);
  } else if ((layer_.rests & LOUPE_DRAFT_REST_MEASURES) != 0) {
    read_input(event);
  }
  if (place_ != LOUPE_PLACE_CPU) return;
  pass.last = &layer_;
  if (layer_.is_maker()) pass.maker = &layer_;
}

/// If the input came unchanged from a layer that rests, that layer made it: its own input was finite.
void OutputWatch::note_non_finite(const Event& event, Origin origin) {
  // Measurements from a device come long after their pass, when its inputs are freed.
  if (place_ != LOUPE_PLACE_CPU) return watched_.first_non_finite.note(std::move(origin));
  model_.output_tally.take(model_);
  const Model::Pass& pass = model_.pass;
  origin.begins_pass = pass.first == &layer_;
  if (pass.last != nullptr) origin.before = pass.last->name;
  if (event.has_measurement() && event.tensor()) origin.where = Elements(event.tensor().raw()).place_of_non_finite();
  const Layer* from = layer_.neighbours.from;
  const bool is_behind_a_rest =
      from != nullptr && from->rests != 0 && from->is_maker() && (layer_.lacks_input || event.input_count() > 0);
  if (is_behind_a_rest && from->last_seen_before() == pass.last) {
    const Extent input = layer_.lacks_input ? Extent() : Elements(event.input(0).raw()).extent();
    if (layer_.lacks_input || !input.is_finite()) {
      origin.module = from->module;
      origin.shown_by = layer_.name;
      origin.where.clear();
      if (!layer_.lacks_input) {
        origin.nan_count = input.nan_count;
        origin.inf_count = input.inf_count;
        origin.numel = event.input(0).numel();
        origin.where = Elements(event.input(0).raw()).place_of_non_finite();
      }
      const double largest = from == pass.first ? pass.largest_input : NAN;
      at_rest_.module = from->module;
      at_rest_.inputs = {true, largest, pass.last_norm, ""};
    }
  }
  watched_.first_non_finite.note(std::move(origin));
}

/// Reads the batch itself, for a first layer whose output shows in the next one.
void OutputWatch::read_input(const Event& event) {
  if (event.input_count() == 0) return;
  const Extent input = Elements(event.input(0).raw()).extent();
  model_.pass.largest_input = input.largest;
  if (input.is_finite() || !watched_.first_non_finite.meets_first()) return;
  Measurement counts{};
  counts.nan_count = input.nan_count;
  counts.inf_count = input.inf_count;
  counts.numel = event.input(0).numel();
  note_non_finite(event, origin_of(Origin::Place::output, event, counts, watched_));
}

void OutputWatch::look(const Event& event) {
  ++events_;
  if (model_.pass.first == &layer_ && !model_.shared_rows.is_off) compare_rows(event);
  model_.passing.take_run(layer_, event,
                          {.is_first = model_.pass.first == &layer_, .is_last = model_.last_layer == &layer_});
  if (!event.training()) return;
  if (model_.pass.first == &layer_) look_at_input(event);
  if (model_.resting.is_looking()) model_.flow.take(layer_, event);
  const TensorView output = event.tensor();
  if (layer_.is_batch_norm) model_.take_batch(layer_, output);
  if (layer_.takes_time_first && model_.step.time_first == nullptr && event.input_count() > 0 &&
      event.input(0).dim() == 3) {
    model_.step.time_first = &layer_;
    model_.step.times = event.input(0).size(0);
    model_.step.sequences = event.input(0).size(1);
  }
  look_for_alikeness(event);
  const bool is_time = layer_.is_time(events_);
  if (layer_.role == Role::rectifier && is_time) look_for_life(output);
  if (model_.steps == 0 && layer_.start_looks == 0 && (layer_.role == Role::linear || layer_.role == Role::convolution))
    look_at_spread(output);
  const bool may_rest = model_.resting.is_looking() && (layer_.is_maker() || layer_.only_selects);
  if (is_time && layer_.role == Role::bounded) look_for_bounds(output);
  if (layer_.role == Role::softmax) look_for_one_element(output);
  if (layer_.role == Role::rectifier) return;  // dead_units reports those that are constant
  const bool is_open = is_time && layer_.varied_looks == 0;
  if (is_open || (may_rest && !layer_.neighbours.has_varied && !layer_.neighbours.was_constant))
    look_for_variation(event);
}

/// Notes which units were ever active, until enough were.
void OutputWatch::look_for_life(const TensorView& output) {
  const Elements elements(output.raw());
  if (!elements.readable() || output.dim() == 0 || output.numel() == 0) return;
  // An output with one dimension has one unit: a model with one output may drop that dimension.
  const bool is_one_unit = output.dim() == 1;
  const int64_t dimension = is_one_unit ? 0 : unit_dimension(output.dim(), model_.pass.maker);
  const int64_t units = is_one_unit ? 1 : output.size(dimension);
  if (static_cast<int64_t>(layer_.alive.size()) != units) {
    layer_.alive.assign(static_cast<std::size_t>(units), 0);
    layer_.alive_units = 0;
  }
  ++layer_.looks;
  layer_.samples += output.size(0);
  const auto silent_share = [&] {
    return static_cast<double>(units - layer_.alive_units) / static_cast<double>(units);
  };
  layer_.knows_life = silent_share() == 0 || silent_share() < watched_.dead_share;
  if (layer_.knows_life) return;
  int64_t inner = 1;
  for (int64_t d = dimension + 1; d < output.dim(); ++d) inner *= output.size(d);
  find_alive(elements, units, inner);
  if (model_.steps == 0 && std::isnan(layer_.silent_at_first)) layer_.silent_at_first = silent_share();
}

/// @param inner  the number of adjacent elements of a unit
void OutputWatch::find_alive(const Elements& elements, int64_t units, int64_t inner) {
  const int64_t outer = elements.count() / (units * inner);
  int64_t looked_at = 0;
  if (inner == 1 && elements.is_quick()) {
    // Start with a few whole rows, which show most units alive; read all rows while many are not, as reading single
    // units takes longer.
    constexpr int64_t few_rows = 8, units_a_cache_line = 16;
    const auto look_at_rows = [&](int64_t end) {
      elements.find_positive(units, looked_at, end, layer_.alive.data());
      layer_.alive_units = std::ranges::count(layer_.alive, uint8_t{1});
      looked_at = end;
    };
    look_at_rows(std::min(few_rows, outer));
    if ((units - layer_.alive_units) * units_a_cache_line > units) look_at_rows(outer);
    if (looked_at == outer) return;
  }
  elements.read_by([&](const auto& at) {
    const auto is_alive = [&](int64_t unit) {
      if (inner == 1) {
        for (int64_t place = looked_at * units + unit; place < elements.count(); place += units) {
          if (at(place) > 0) return true;
        }
        return false;
      }
      for (int64_t i = 0; i < outer; ++i) {
        for (int64_t j = 0; j < inner; ++j) {
          if (at((i * units + unit) * inner + j) > 0) return true;
        }
      }
      return false;
    };
    for (int64_t unit = 0; unit < units; ++unit) {
      uint8_t& alive = layer_.alive[static_cast<std::size_t>(unit)];
      if (alive != 0 || !is_alive(unit)) continue;
      alive = 1;
      ++layer_.alive_units;
    }
  });
}

/// Measures how much each unit varies over the batch, which a bias does not change.
void OutputWatch::look_at_spread(const TensorView& output) {
  constexpr int64_t most_units = 64, most_samples = 64;
  const Elements elements(output.raw());
  if (!elements.readable() || output.dim() < 2) return;
  const int64_t dimension = unit_dimension(output.dim(), &layer_), units = output.size(dimension);
  int64_t inner = 1;
  for (int64_t d = dimension + 1; d < output.dim(); ++d) inner *= output.size(d);
  const int64_t samples = output.numel() / units;
  if (samples < 2) return;
  double sum = 0;
  const int64_t looked_at = std::min(units, most_units), taken = std::min(samples, most_samples);
  for (int64_t unit = 0; unit < looked_at; ++unit) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < taken; ++i) {
      const int64_t sample = i * samples / taken;
      const double value = elements.at((sample / inner * units + unit) * inner + sample % inner);
      mean += value / static_cast<double>(taken);
      squares += value * value / static_cast<double>(taken);
    }
    sum += std::max(squares - mean * mean, 0.0);
  }
  layer_.start_variance += sum / static_cast<double>(looked_at);
  ++layer_.start_looks;
}

void OutputWatch::look_for_bounds(const TensorView& output) {
  constexpr int64_t most = 1024;
  constexpr double near = 0.005;  // a share of the width between the bounds
  const Elements elements(output.raw());
  if (!elements.readable()) return;
  const Bounds bounds = bounds_of(layer_.type);
  const double margin = near * (bounds.high - bounds.low);
  elements.sample(most, [&](int64_t place) {
    const double value = elements.at(place);
    ++layer_.bounded_seen;
    layer_.bounded_pressed += value < bounds.low + margin || value > bounds.high - margin ? 1 : 0;
  });
}

/// A softmax over one element is always 1, and its logarithm 0; over several elements not all are.
void OutputWatch::look_for_one_element(const TensorView& output) {
  constexpr uint32_t enough = 2;
  const Elements elements(output.raw());
  const bool is_logarithm = layer_.type.front() == 'L' || layer_.type.front() == 'l';
  const bool is_lone = elements.readable() && elements.count() > 1 && elements.at(0) == (is_logarithm ? 0 : 1) &&
                       elements.are_constant();
  layer_.lone_softmax_runs = is_lone ? layer_.lone_softmax_runs + 1 : 0;
  if (layer_.lone_softmax_runs >= enough && model_.step.lone_softmax == nullptr) model_.step.lone_softmax = &layer_;
}

/// How far the rows of a tensor differ: a column's largest difference from the first row, as a share of its own size
/// or of the median size in the first row, whichever is larger. Some of the rows and columns are looked at.
double OutputWatch::spread_of(const Elements& elements, double enough) {
  constexpr int64_t most_rows = 8, most_columns = 64;
  const int64_t rows = std::min(most_rows, elements.size(0)), all_columns = elements.count() / elements.size(0);
  const int64_t columns = std::min(most_columns, all_columns);
  return elements.read_by([&](const auto& at) {
    std::array<double, most_columns> first{}, sizes{};
    std::array<int64_t, most_columns> places{};
    for (int64_t i = 0; i < columns; ++i) {
      const auto c = static_cast<std::size_t>(i);
      places[c] = columns == all_columns ? i : scattered_place(i, columns, all_columns);
      first[c] = at(places[c]);
      sizes[c] = std::abs(first[c]);
    }
    const auto middle = sizes.begin() + columns / 2;
    std::nth_element(sizes.begin(), middle, sizes.begin() + columns);
    double spread = 0;
    // Most outputs that vary do so in the first few rows.
    for (int64_t row = 1; row < rows; ++row) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
        const double other = at(row * all_columns + places[c]), difference = std::abs(other - first[c]);
        if (difference == 0) continue;
        if (!std::isfinite(difference)) return double{INFINITY};
        spread = std::max(spread, difference / std::max({std::abs(first[c]), std::abs(other), *middle}));
        if (spread > enough) return spread;
      }
    }
    return spread;
  });
}

/// Notes whether different samples of a batch give different outputs.
void OutputWatch::look_for_variation(const Event& event) {
  constexpr double clearly = 1e-2, hardly = 1e-4;
  const TensorView output = event.tensor();
  if (event.input_count() == 0 || output.dim() < 2 || output.size(0) < 4) return;
  const Elements out(output.raw()), in(event.input(0).raw());
  if (!out.readable() || !in.readable() || in.dim() < 2 || in.size(0) != out.size(0)) return;
  if (in.count() == 0 || out.count() == 0) return;
  ++layer_.variation_looks;
  if (!(spread_of(in, clearly) > clearly)) return;
  const double spread = spread_of(out, hardly);
  const bool has_varied = spread > hardly;
  ++(has_varied ? layer_.varied_looks : layer_.constant_looks);
  if (!has_varied) layer_.constant_spread = spread;
  layer_.neighbours.has_varied = layer_.neighbours.has_varied || has_varied;
  layer_.neighbours.was_constant = !has_varied;
}

/// Compares, once an epoch, the weights at its first pass with those of the epoch before. Without the model's mutex.
void OutputWatch::look_at_start() {
  constexpr int64_t most_looked_at = 64;
  Model::Start::Weights weights;
  {
    const std::lock_guard lock(model_.mutex);
    if (model_.start.looked_at == model_.ticks) return;
    model_.start.looked_at = model_.ticks;
    weights.swap(model_.start.weights);
    weights.clear();
    for (const ParameterState& each : model_.parameters) {
      if (each.is_matrix() && each.is(LOUPE_PARAMETER_TRAINABLE) && each.is(LOUPE_PARAMETER_OPTIMIZED))
        weights.emplace_back(each.module, each.name);
    }
  }
  uint64_t found = 0;
  for (const auto& [module, name] : weights) {
    read(watched_.host, module, name, false,
         [&](const Elements& weight) { found = found * 31 + weight.hash(most_looked_at); });
  }
  const std::lock_guard lock(model_.mutex);
  Model::Start& start = model_.start;
  const bool is_same = !model_.is_broken && start.is_known && start.changed && found != 0 && found == start.hash;
  start.same = is_same ? start.same + 1 : 0;
  start.is_known = found != 0;
  start.hash = found;
  start.changed = false;
  start.weights.swap(weights);
}

/// Notes the inputs of the output with the first NaN or Inf. Without the model's mutex, since it asks for parameters.
void OutputWatch::explain(const Event& event) {
  Origin::Inputs inputs;
  if (watched_.first_non_finite.wants_inputs_of(layer_.module)) {
    inputs.finite = !layer_.lacks_input;
    for (std::size_t i = 0; i < event.input_count(); ++i) look_at_bad_input(event, i, inputs);
    look_at_parameters(layer_.module, inputs);
    if (inputs.finite && inputs.bad_parameter.empty() && inputs.masked_rows == 0)
      inputs.maker = draft::maker_of(watched_.host, event.tensor().raw());
    watched_.first_non_finite.explain(layer_.module, std::move(inputs));
    return;
  }
  if (at_rest_.module == nullptr || !watched_.first_non_finite.wants_inputs_of(at_rest_.module)) return;
  inputs = at_rest_.inputs;
  look_at_parameters(at_rest_.module, inputs);
  watched_.first_non_finite.explain(std::exchange(at_rest_.module, nullptr), std::move(inputs));
}

/// -Inf is valid in a mask, and in the input of a softmax, except in rows that contain nothing else.
void OutputWatch::look_at_bad_input(const Event& event, std::size_t index, Origin::Inputs& inputs) const {
  constexpr std::size_t first_mask = 3;  // after query, key and value
  const Elements input(event.input(index).raw());
  const bool is_mask = Module(layer_.module).family() == LOUPE_FAMILY_ATTENTION && index >= first_mask;
  if (is_mask || layer_.role == Role::softmax) {
    const int64_t masked = input.masked_rows(), keys = input.dim() > 0 ? input.size(input.dim() - 1) : 0;
    const bool explains = is_mask || (event.has_measurement() && event.measurement().nan_count == masked * keys);
    if (masked > 0 && explains) {
      inputs.masked_rows = masked;
      inputs.keys = keys;
      inputs.rows = input.count() / keys;
    }
    if (is_mask || inputs.masked_rows > 0) return;
  }
  const Extent extent = input.extent();
  inputs.largest = std::max(inputs.largest, extent.largest);
  if (extent.is_finite() || !inputs.finite) return;
  inputs.finite = false;
  inputs.where = input.place_of_non_finite();
  inputs.maker = draft::maker_of(watched_.host, event.input(index).raw());
}

/// Finds the first parameter of a module that holds NaN or Inf.
void OutputWatch::look_at_parameters(const loupe_module* module, Origin::Inputs& inputs) const {
  for (std::size_t i = 0; i < module->parameter_count && inputs.bad_parameter.empty(); ++i) {
    const char* name = module->parameters[i]->name;
    read(watched_.host, module, name, false, [&](const Elements& elements) {
      if (elements.extent().is_finite()) return;
      inputs.bad_parameter = name;
      inputs.where = elements.place_of_non_finite();
    });
  }
  if (inputs.bad_parameter.empty()) return;
  const std::lock_guard lock(model_.mutex);
  for (const ParameterState& each : model_.parameters) {
    if (each.module == module && each.name == inputs.bad_parameter) inputs.was_stepped = each.steps > 0;
  }
}

// Below: the input of a model.

/// Checks the first input of the first pass after a step: whether it is the previous one, and its scale. A few elements
/// can prove a change; equality needs all.
void OutputWatch::look_at_input(const Event& event) {
  constexpr int64_t most_looked_at = 256;
  if (event.input_count() == 0) return;
  const Elements input(event.input(0).raw());
  if (!input.readable()) return;
  // An agent that acts may stay in one state for a while.
  if (!model_.step.input.is_known && event.grad_enabled()) {
    Model::InputLook& look = model_.step.input;
    look.some = input.hash(most_looked_at);
    look.is_known = true;
    look.is_whole = input.count() <= most_looked_at;
    look.is_one_row = input.dim() < 2 || input.size(0) == 1;
    const bool may_be_last = look.some == model_.last_input.some && model_.may_repeat();
    if (!look.is_whole && (may_be_last || model_.reads_all_inputs())) {
      look.all = input.hash(input.count());
      look.is_whole = true;
    }
    look.is_constant = model_.epoch.takes_inputs() && input.are_constant();
    look.constant = look.is_constant ? input.at(0) : 0;
    look_at_rows(input);
    if (input.floating()) look.square = input.mean_square();
  }
  if (!event.grad_enabled()) return;
  model_.passing.range.take(input);
  if (events_ % 4 == 1) count_rows(input);
}

/// Notes whether all rows of a batch are the same: most differ in one of the few elements that are read first, and
/// equality needs all. The targets show later which dimension has the samples; see Model::Step::rows_are_samples().
void OutputWatch::look_at_rows(const Elements& input) {
  constexpr int64_t fewest_rows = 4, few_rows = 8, few_columns = 64;
  model_.step.input_rows = input.dim() > 0 ? input.size(0) : 0;
  // Either of the first two of (time, samples, features) may be as long as the targets.
  if (input.dim() == 3 && input.size(0) == input.size(1)) model_.step.input_rows = 0;
  // A row that is repeated intentionally is stored once.
  if (input.dim() < 2 || input.size(0) < fewest_rows || input.count() == 0 || input.repeats_first_row()) return;
  const int64_t columns = input.count() / input.size(0);
  model_.step.has_equal_rows = input.read_bits_by([&](const auto& bits) {
    const auto are_same = [&](int64_t rows, int64_t looked_at) {
      for (int64_t row = 1; row < rows; ++row) {
        for (int64_t i = 0; i < looked_at; ++i) {
          const int64_t column = looked_at == columns ? i : scattered_place(i, looked_at, columns);
          if (bits(row * columns + column) != bits(column)) return false;
        }
      }
      return true;
    };
    return are_same(std::min(few_rows, input.size(0)), std::min(columns, few_columns)) &&
           are_same(input.size(0), columns);
  });
}

/// Counts different rows, until there are enough.
void OutputWatch::count_rows(const Elements& input) {
  constexpr int64_t most_rows = 64;
  DistinctRows& known = model_.distinct_rows;
  if (known.is_many || !HashedRows::fits(input) || input.size(0) < DistinctRows::fewest_in_batch) return;
  const HashedRows hashed(input);
  const int64_t rows = std::min(most_rows, hashed.rows());
  for (int64_t row = 0; row < rows && !known.is_many; ++row)
    known.take(hashed.quick(row), [&] { return hashed.whole(row); });
  known.smallest_batch = known.looks == 0 ? rows : std::min(known.smallest_batch, rows);
  ++known.looks;
}

}  // namespace loupe::health
