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
  /// Whether a value of that name was put in this tick already.
  enum class Put { first, same, other };
  /// Fast if values arrive in the same order at each tick. What was put in this tick
  /// already stays as it is.
  Put put(std::string_view tag, std::string_view layer, std::string_view line, double value);
  /// The one that was put last has this value all the same.
  void replace(double value) { order_[expected_ - 1]->second.value = value; }
  void begin_tick() { ++tick_; }
  std::optional<double> find(std::string_view tag, std::string_view layer, std::string_view line) const;

 private:
  struct Last {
    double value;
    std::size_t place;  // in order_
    uint64_t tick;      // in which it was put
  };
  using Values = std::unordered_map<std::string, Last>;

  Values values_;
  std::vector<Values::value_type*> order_;  // in order of first arrival; map nodes do not move
  Put renew(Last& last, double value) const;

  uint64_t tick_ = 0;
  std::size_t expected_ = 0;  // the one behind the last that was put
  std::string name_;          // kept for its memory
};

}  // namespace loupe
