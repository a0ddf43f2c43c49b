#ifndef LOUPE_DETAIL_LINES_H
#define LOUPE_DETAIL_LINES_H

#include <loupe/lens.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe {

/// The names that YAML uses for ways to make one number of a series.
inline const Strings& aggregation_names() {
  static const auto& names = *new Strings{"mean", "median", "max", "min", "Q1", "Q3", "IQR", "std"};
  return names;
}
/// The names that YAML uses for bands.
inline const Strings& band_names() {
  static const auto& names = *new Strings{"std", "Q1-Q3", "min-max"};
  return names;
}

/// The LOUPE_AGGREGATE_MEAN, … of a name; throws Error for an unknown one.
inline uint32_t aggregation_from(const std::string& name) {
  for (std::size_t i = 0; i < aggregation_names().size(); ++i) {
    if (aggregation_names()[i] == name) return static_cast<uint32_t>(i) + 1;
  }
  throw Error("'" + name + "' is no aggregation");
}

inline bool is_quantile(uint32_t aggregation) {
  return aggregation == LOUPE_AGGREGATE_MEDIAN || aggregation == LOUPE_AGGREGATE_Q1 ||
         aggregation == LOUPE_AGGREGATE_Q3 || aggregation == LOUPE_AGGREGATE_IQR;
}

/// Which lines and bands a lens draws of a series, as its options `line` and `range` say.
class Lines {
 public:
  /// @param lines aggregation names  @param bands band names; "none" stands for no line or band, and one that is named
  /// twice is one
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

  /// Reports the lines and bands of one series, each name after `prefix`. Nothing when the series is empty.
  void write(Report& report, const std::string& tag, const std::string& layer, const Source& source,
             const std::string& series, const std::string& prefix = "") const {
    if (const auto found = source.index_of(series)) write(report, tag, layer, source, *found, prefix);
  }
  /// The same of a series by its place.
  void write(Report& report, const std::string& tag, const std::string& layer, const Source& source, std::size_t series,
             const std::string& prefix) const {
    const uint64_t events = source.count(series);
    for (const Line& line : lines_) {
      const auto value = source.get(series, line.aggregation);
      if (value) report.value(tag, layer, prefix + line.name, *value, events);
    }
    for (const std::string& band : bands_) write_band(report, tag, layer, source, series, prefix, band, events);
  }

 private:
  struct Line {
    std::string name;
    uint32_t aggregation;
  };

  static void write_band(Report& report, const std::string& tag, const std::string& layer, const Source& source,
                         std::size_t series, const std::string& prefix, const std::string& band, uint64_t events) {
    if (band == "std") {
      const auto mean = source.get(series, LOUPE_AGGREGATE_MEAN);
      const auto deviation = source.get(series, LOUPE_AGGREGATE_STD);
      if (mean && deviation) {
        report.range(tag, layer, prefix + "-σ", prefix + "+σ", *mean - *deviation, *mean + *deviation, events);
      }
      return;
    }
    const bool quartiles = band == "Q1-Q3";
    const auto low = source.get(series, quartiles ? LOUPE_AGGREGATE_Q1 : LOUPE_AGGREGATE_MIN);
    const auto high = source.get(series, quartiles ? LOUPE_AGGREGATE_Q3 : LOUPE_AGGREGATE_MAX);
    if (low && high) {
      report.range(tag, layer, prefix + (quartiles ? "Q1" : "min"), prefix + (quartiles ? "Q3" : "max"), *low, *high,
                   events);
    }
  }

  std::vector<Line> lines_;
  Strings bands_;
};

inline Option line_option(const char* name = "line", const char* standard = "mean") {
  Strings choices = aggregation_names();
  choices.push_back("none");
  return {name, Strings{standard}, "the lines drawn of an epoch's values", choices};
}
inline Option range_option(const char* name = "range", const Strings& standard = {"std", "min-max"}) {
  Strings choices = band_names();
  choices.push_back("none");
  return {name, standard, "the bands drawn of an epoch's values", choices};
}

}  // namespace loupe

#endif
