#include <algorithm>
#include <cmath>
#include <limits>

#include "health/elements.h"
#include "health/watches.h"

namespace loupe::health {
namespace {

/// Units are channels after a convolution, features elsewhere.
int64_t unit_dimension(int64_t dim) {
  if (dim == 4 || dim == 5) return 1;
  return dim - 1;
}

uint64_t mixed(uint64_t hash, uint64_t bits) {
  return (hash ^ bits) * 0x9e3779b97f4a7c15 ^ hash >> 29;
}

}  // namespace

Request OutputLook::request() const {
  Request request;
  request.wants_tensor = true;
  return request;
}

void OutputLook::process(const Event& event) {
  ++events_;
  if (!event.tensor()) return;
  if (watched_.trail.wants_inputs_of(layer_.module)) explain(event);
  const std::lock_guard lock(model_.mutex);
  if (model_.pass.first == &layer_ && event.training()) look_at_input(event);
  if (!event.training()) return;
  const TensorView output = event.tensor();
  if (layer_.type.compare(0, 9, "BatchNorm") == 0 && output.dim() >= 2) {
    const int64_t values = output.size(1) > 0 ? output.numel() / output.size(1) : 0;
    if (layer_.fewest_for_statistics == 0 || values < layer_.fewest_for_statistics)
      layer_.fewest_for_statistics = values;
  }
  if (layer_.role == Role::rectifier) look_for_life(output);
  if (model_.steps == 0 && layer_.start_looks == 0 && (layer_.role == Role::linear || layer_.role == Role::convolution))
    look_at_spread(output);
  // The rest changes slowly: some events are enough.
  if (events_ % 4 != 1) return;
  if (layer_.role == Role::bounded) look_for_bounds(output);
  look_for_variation(event);
}

/// The first input of the first pass after a step: whether it is the one before, and of what scale it is.
void OutputLook::look_at_input(const Event& event) {
  constexpr int64_t most_hashed = 1024;
  if (event.input_count() == 0) return;
  const Elements input(event.input(0).raw());
  if (!input.readable()) return;
  if (!model_.has_input_hash) {
    uint64_t hash = static_cast<uint64_t>(input.count());
    input.sample(most_hashed, [&](int64_t place) { hash = mixed(hash, input.bits(place)); });
    model_.input_hash = hash;
    model_.has_input_hash = true;
  }
  if (!input.floating() || events_ % 4 != 1) return;
  input.sample(most_hashed, [&](int64_t place) {
    const double value = input.at(place);
    if (!std::isfinite(value)) return;
    model_.input_sum += value;
    model_.input_sum_squares += value * value;
    ++model_.input_count;
  });
}

/// Which units were ever active. Only those that were not are looked at, so that it costs little once most were; and
/// after the first events of a window some are enough.
void OutputLook::look_for_life(const TensorView& output) {
  constexpr int64_t looked_at_first = 4;
  if (layer_.looks >= looked_at_first && events_ % 4 != 1) return;
  const Elements elements(output.raw());
  if (!elements.readable() || output.dim() < 2) return;
  const int64_t dimension = unit_dimension(output.dim());
  const int64_t units = output.size(dimension);
  if (static_cast<int64_t>(layer_.alive.size()) != units) {
    layer_.alive.assign(static_cast<std::size_t>(units), 0);
    layer_.alive_units = 0;
  }
  ++layer_.looks;
  layer_.samples += output.size(0);
  if (layer_.alive_units == units) return;
  int64_t inner = 1;
  for (int64_t d = dimension + 1; d < output.dim(); ++d) inner *= output.size(d);
  const int64_t outer = output.numel() / (units * inner);
  const float* floats = elements.floats();
  const auto is_active = [&](int64_t place) { return (floats != nullptr ? floats[place] : elements.at(place)) > 0; };
  for (int64_t unit = 0; unit < units; ++unit) {
    if (layer_.alive[static_cast<std::size_t>(unit)] != 0) continue;
    bool is_alive = false;
    for (int64_t i = 0; i < outer && !is_alive; ++i) {
      for (int64_t j = 0; j < inner && !is_alive; ++j) is_alive = is_active((i * units + unit) * inner + j);
    }
    if (!is_alive) continue;
    layer_.alive[static_cast<std::size_t>(unit)] = 1;
    ++layer_.alive_units;
  }
}

/// How much each unit varies over the batch, which a bias does not change.
void OutputLook::look_at_spread(const TensorView& output) {
  constexpr int64_t most_units = 64, most_samples = 64;
  const Elements elements(output.raw());
  if (!elements.readable() || output.dim() < 2) return;
  const int64_t dimension = unit_dimension(output.dim()), units = output.size(dimension);
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

void OutputLook::look_for_bounds(const TensorView& output) {
  constexpr int64_t most = 1024;
  constexpr double near = 0.005;  // of the width between the bounds
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

/// Whether the samples of a batch give different outputs, where they went in different.
void OutputLook::look_for_variation(const Event& event) {
  constexpr int64_t most_rows = 8, most_columns = 64;
  const TensorView output = event.tensor();
  if (event.input_count() == 0 || output.dim() < 2 || output.size(0) < 4) return;
  const Elements out(output.raw()), in(event.input(0).raw());
  if (!out.readable() || !in.readable() || in.dim() < 2 || in.size(0) != out.size(0)) return;
  const auto varies = [&](const Elements& elements) {
    const int64_t rows = elements.size(0), columns = elements.count() / rows;
    for (int64_t c = 0; c < std::min(most_columns, columns); ++c) {
      const int64_t column = columns <= most_columns ? c : c * (columns - 1) / (most_columns - 1);
      const double first = elements.at(column);
      for (int64_t row = 1; row < std::min(most_rows, rows); ++row) {
        const double value = elements.at(row * columns + column);
        if (std::abs(value - first) > 1e-4 * std::max(std::abs(first), std::abs(value))) return true;
      }
    }
    return false;
  };
  if (!varies(in)) return;
  ++(varies(out) ? layer_.varied_looks : layer_.constant_looks);
}

/// What went into the output that holds the first NaN or Inf. Without the model's mutex: parameters are asked for.
void OutputLook::explain(const Event& event) {
  Origin::Inputs inputs;
  for (std::size_t i = 0; i < event.input_count(); ++i) {
    const Elements input(event.input(i).raw());
    if (!input.readable()) continue;
    for (int64_t place = 0; place < input.count(); ++place) {
      const double value = input.at(place);
      if (!std::isfinite(value)) inputs.finite = false;
      if (std::isfinite(value)) inputs.largest = std::max(inputs.largest, std::abs(value));
    }
  }
  for (std::size_t i = 0; i < layer_.module->parameter_count; ++i) {
    const char* name = layer_.module->parameters[i]->name;
    watched_.host.lend_parameter(layer_.module, name, false, [&](const loupe_tensor& tensor) {
      const Elements elements(&tensor);
      if (!elements.readable() || !inputs.bad_parameter.empty()) return;
      for (int64_t place = 0; place < elements.count(); ++place) {
        if (std::isfinite(elements.at(place))) continue;
        inputs.bad_parameter = name;
        return;
      }
    });
  }
  watched_.trail.explain(layer_.module, std::move(inputs));
}

}  // namespace loupe::health
