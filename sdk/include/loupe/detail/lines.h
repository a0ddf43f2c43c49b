#pragma once

#include <loupe/lens.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// YAML's names for aggregations of a series, in the order of Aggregate.
LOUPE_HIDDEN inline const Strings& aggregation_names() {
  static const auto& names = *new Strings{"mean", "median", "max", "min", "Q1", "Q3", "IQR", "std"};
  return names;
}
/// The names that YAML uses for bands.
LOUPE_HIDDEN inline const Strings& band_names() {
  static const auto& names = *new Strings{"std", "Q1-Q3", "min-max"};
  return names;
}

/// Throws Error for an unknown name.
inline Aggregate aggregation_from(const std::string& name) {
  for (std::size_t i = 0; i < aggregation_names().size(); ++i) {
    if (aggregation_names()[i] == name) return static_cast<Aggregate>(i);
  }
  throw Error("'" + name + "' is not an aggregation");
}

/// The lines and bands that a lens draws for a series, from its options `line` and `range`.
class Lines {
 public:
  /// @param lines aggregation names  @param bands band names; "none" stands for no line or band; a name given twice
  /// counts once
  Lines(const Strings& lines, const Strings& bands) : bands_(named_once(bands)) {
    for (const std::string& line : named_once(lines)) lines_.push_back({line, aggregation_from(line)});
  }
  /// The names without "none", each once.
  static Strings named_once(const Strings& names) {
    Strings once;
    for (const std::string& name : names) {
      if (name != "none" && std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
    }
    return once;
  }

  /// Whether the preprocessor must keep quantiles.
  bool need_quantiles() const {
    for (const Line& line : lines_) {
      if (is_quantile(line.aggregation)) return true;
    }
    for (const std::string& band : bands_) {
      if (band == "Q1-Q3") return true;
    }
    return false;
  }

  /// Reports the lines and bands of one series, each name after `prefix`. Nothing if the series is empty.
  void write(Report& report, const std::string& tag, const std::string& layer, const SeriesNumbers& numbers,
             const std::string& prefix = "") const {
    Report::Row row(report);
    for (const Line& line : lines_) {
      if (const auto value = numbers.get(line.aggregation)) row.value(prefix + line.name, *value);
    }
    for (const std::string& band : bands_) {
      if (!numbers.empty()) add_band(row, numbers, prefix, band);
    }
    row.tell(tag, layer, numbers.count());
  }

 private:
  struct Line {
    std::string name;
    Aggregate aggregation;
  };

  static void add_band(Report::Row& row, const SeriesNumbers& numbers, const std::string& prefix,
                       const std::string& band) {
    const auto number = [&](Aggregate aggregation) { return *numbers.get(aggregation); };
    if (band == "std") {
      const double mean = number(Aggregate::mean), deviation = number(Aggregate::std);
      return row.range(prefix + "-σ", prefix + "+σ", mean - deviation, mean + deviation);
    }
    const bool quartiles = band == "Q1-Q3";
    row.range(prefix + (quartiles ? "Q1" : "min"), prefix + (quartiles ? "Q3" : "max"),
              number(quartiles ? Aggregate::q1 : Aggregate::min), number(quartiles ? Aggregate::q3 : Aggregate::max));
  }

  std::vector<Line> lines_;
  Strings bands_;
};

inline Option line_option(const char* name = "line", const char* standard = "mean") {
  Strings choices = aggregation_names();
  choices.push_back("none");
  return {name, Strings{standard}, "the lines drawn for an epoch's values", choices};
}
inline Option range_option(const char* name = "range", const Strings& standard = {"std", "min-max"}) {
  Strings choices = band_names();
  choices.push_back("none");
  return {name, standard, "the bands drawn for an epoch's values", choices};
}

}  // namespace v1_0
}  // namespace loupe
