#pragma once

#include <loupe/lenses/stream_options.h>

#include <cmath>
#include <optional>

namespace loupe {

/// The event's measurement; null when there is nothing to make numbers of: an empty tensor, or one of a dtype that is
/// not measured.
inline const Measurement* measured(const Event& event, uint32_t needed) {
  if (!event.has_measurement()) return nullptr;
  const Measurement& measurement = event.measurement();
  const bool filled = (measurement.measures & needed) == needed;
  return filled && measurement.numel > 0 ? &measurement : nullptr;
}

/// The value of an event with NaN or Inf elements. A number from only the finite ones would look valid but would not
/// be.
inline std::optional<double> non_finite(const Measurement& measurement) {
  if (measurement.nan_count != 0) return NAN;
  if (measurement.inf_count != 0) return INFINITY;
  return std::nullopt;
}

inline Option epsilon_option(const char* help) {
  return {"eps", 1e-8, help, 0.0};
}

}  // namespace loupe
