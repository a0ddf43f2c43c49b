#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace loupe::prometheus {

/// A label: a name that the format allows, and any text.
using Label = std::pair<const char*, std::string>;

/// One metric with all its samples, in Prometheus's text format. Of two samples with the same labels the last counts,
/// for the format allows one.
class Metric {
 public:
  /// @param type "gauge", or "counter" for what only grows
  Metric(const char* name, const char* help, const char* type = "gauge") : name_(name), help_(help), type_(type) {}

  void set(std::initializer_list<Label> labels, double value);
  void clear() { samples_.clear(); }
  /// "" without samples.
  std::string text() const;

 private:
  std::string name_, help_, type_;
  std::map<std::string, double> samples_;
};

}  // namespace loupe::prometheus
