#pragma once

#include <loupe/lenses/stream_options.h>

#include <cmath>
#include <optional>

namespace loupe {

/// The measurement of an event; null if there are no numbers: the tensor is empty, or its dtype cannot be measured.
inline const Measurement* measured(const Event& event, uint32_t needed) {
  if (!event.has_measurement()) return nullptr;
  const Measurement& measurement = event.measurement();
  const bool filled = (measurement.measures & needed) == needed;
  return filled && measurement.numel > 0 ? &measurement : nullptr;
}

/// The value of an event whose tensor has NaN or Inf elements. Ignoring these would give a value that looks valid but
/// is not.
inline std::optional<double> non_finite(const Measurement& measurement) {
  if (measurement.nan_count != 0) return NAN;
  if (measurement.inf_count != 0) return INFINITY;
  return std::nullopt;
}

inline Option epsilon_option(const char* help) {
  return {"eps", 1e-8, help, 0.0};
}

}  // namespace loupe
