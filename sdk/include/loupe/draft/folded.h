#pragma once

#include <loupe/preprocessor.h>

#include <optional>
#include <string>
#include <string_view>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The mean of the values under each label since the last tick.
class Folded : public Preprocessor {
 public:
  Request request() const override { return {}; }
  void process(const Event& event) override {
    find_or_add_series(event.label(), Series::Keep::running).push(event.scalar());
  }

  /// Nullopt if no value came.
  std::optional<double> mean(std::string_view label) const {
    for (std::size_t i = 0; i < series_count(); ++i) {
      if (series_name(i) == label && !series(i).empty()) return series(i).running().mean;
    }
    return std::nullopt;
  }
  /// The number of values.
  uint64_t count(std::string_view label) const {
    for (std::size_t i = 0; i < series_count(); ++i) {
      if (series_name(i) == label) return series(i).running().count;
    }
    return 0;
  }
};

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
