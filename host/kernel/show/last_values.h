#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace loupe {

/// The last value of each line of each layer of each tag.
class LastValues {
 public:
  /// Whether a value of that name was already put in this tick.
  enum class Put { first, same, other };
  /// Fast if values arrive in the same order at each tick. A value already put in this tick is not changed.
  Put put(std::string_view tag, std::string_view layer, std::string_view line, double value);
  /// Replaces the value that was put last.
  void replace(double value) { order_[expected_ - 1]->second.value = value; }
  void begin_tick() { ++tick_; }
  std::optional<double> find(std::string_view tag, std::string_view layer, std::string_view line) const;

 private:
  struct Last {
    double value;
    std::size_t place;  // its place in order_
    uint64_t tick;      // the tick in which it was put
  };
  using Values = std::unordered_map<std::string, Last>;

  Values values_;
  std::vector<Values::value_type*> order_;  // in order of first arrival; map nodes do not move
  Put renew(Last& last, double value) const;

  uint64_t tick_ = 0;
  std::size_t expected_ = 0;  // the position after the last put
  std::string name_;          // kept to reuse its memory
};

}  // namespace loupe
