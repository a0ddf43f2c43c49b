#include "findings/baseline.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "core/json_bounds.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;
constexpr int format = 1;

/// The first epochs are phases of their own, later ones grow longer: training changes most at its beginning.
std::vector<double> phases_of(const std::set<double>& epochs) {
  constexpr double growth = 1.25;
  std::vector<double> starts;
  for (const double epoch : epochs) {
    if (starts.empty() || epoch >= growth * starts.back()) starts.push_back(epoch);
  }
  return starts;
}

/// The values of the runs in one phase.
struct Seen {
  double low = INFINITY, high = -INFINITY;
  std::set<std::size_t> runs;
  void add(double value, std::size_t run) {
    low = std::min(low, value);
    high = std::max(high, value);
    runs.insert(run);
  }
  void add(const Seen& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

/// The fewer runs there are, the more of the expected range lies outside of their smallest and largest value.
Baseline::Span widened(const Seen& seen, double series_magnitude, bool is_share) {
  const double share = 0.25 + 2 / static_cast<double>(seen.runs.size());
  const double magnitude = std::max(std::abs(seen.low), std::abs(seen.high));
  const double margin = share * std::max(seen.high - seen.low, 0.25 * magnitude) + 0.05 * series_magnitude;
  double low = seen.low - margin;
  // A value that is always positive, such as a norm, shrinks by factors; at 0 it has collapsed. One that comes near to
  // 0 in good runs, as the share of units that are silent does, may as well be 0.
  constexpr double near = 1e-2;
  const double nearly_none = near * (is_share ? 1 : std::max(magnitude, series_magnitude));
  if (seen.low > nearly_none && low <= 0) {
    const double log_margin = share * std::max(std::log(seen.high / seen.low), 0.2);
    constexpr double least_factor = 3;
    low = seen.low * std::exp(-2 * log_margin) / least_factor;
  }
  return {low, seen.high + margin};
}

double number_of(const Json& json) {
  return json.is_null() ? NAN : json.get<double>();
}
Json number(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

}  // namespace

Baseline Baseline::of(const std::vector<Run>& runs, const std::set<std::string>& shares) {
  Baseline baseline;
  baseline.runs_ = runs.size();
  std::set<double> epochs;
  for (const Run& run : runs) {
    for (const auto& [key, values] : run) {
      for (const auto& [epoch, value] : values) epochs.insert(epoch);
    }
  }
  baseline.starts_ = phases_of(epochs);
  const std::size_t phases = baseline.starts_.size();
  std::map<Key, std::vector<Seen>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, values] : runs[i]) {
      std::vector<Seen>& seen = all.try_emplace(key, phases).first->second;
      for (const auto& [epoch, value] : values) {
        if (std::isfinite(value)) seen[baseline.phase_of(epoch)].add(value, i);
      }
    }
  }
  for (const auto& [key, seen] : all) {
    double magnitude = 0;
    for (const Seen& each : seen) {
      if (!each.runs.empty()) magnitude = std::max({magnitude, std::abs(each.low), std::abs(each.high)});
    }
    std::vector<Span>& spans = baseline.series_[key];
    for (std::size_t i = 0; i < phases; ++i) {
      if (seen[i].runs.empty()) {
        spans.push_back({NAN, NAN});
        continue;
      }
      // A good run may be a little ahead of the others, or behind.
      Seen around = seen[i];
      if (i > 0) around.add(seen[i - 1]);
      if (i + 1 < phases) around.add(seen[i + 1]);
      spans.push_back(widened(around, magnitude, shares.count(std::get<0>(key)) != 0));
    }
  }
  baseline.note_layers();
  return baseline;
}

void Baseline::note_layers() {
  for (const auto& [key, spans] : series_) {
    const auto& [tag, layer, line] = key;
    if (layer != tag) layers_.insert(layer);
  }
}

std::size_t Baseline::phase_of(double epoch) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), epoch);
  return after == starts_.begin() ? 0 : static_cast<std::size_t>(after - starts_.begin()) - 1;
}

const Baseline::Span* Baseline::span(const Key& key, double epoch) const {
  const auto found = series_.find(key);
  if (found == series_.end() || starts_.empty()) return nullptr;
  const Span& span = found->second[phase_of(epoch)];
  return std::isnan(span.low) ? nullptr : &span;
}

std::string Baseline::text() const {
  Json list = Json::array();
  for (const auto& [key, spans] : series_) {
    const auto& [tag, layer, line] = key;
    Json low = Json::array(), high = Json::array();
    for (const Span& span : spans) {
      low.push_back(number(span.low));
      high.push_back(number(span.high));
    }
    list.push_back(
        {{"tag", tag}, {"layer", layer}, {"line", line}, {"low", std::move(low)}, {"high", std::move(high)}});
  }
  // One series per line, so that people can read the file and compare it with another.
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string text = "{\"kind\":\"baseline\",\"format\":" + std::to_string(format) +
                     ",\"runs\":" + std::to_string(runs_) + ",\"epochs\":" + dumped(starts_) + ",\"series\":[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "\n" : ",\n") + dumped(list[i]);
  return text + "\n]}\n";
}

Baseline Baseline::read(const std::string& file) {
  const auto fail = [&](const std::string& what) -> ConfigError {
    return ConfigError(file + ": error: " + what + "; make a baseline with: loupe learn RECORD... --out " + file);
  };
  std::string text;
  try {
    text = read_file(file, longest_line);
    check_json_bounds(text);
  } catch (const std::system_error& reason) {
    throw fail("the baseline cannot be read: " + reason.code().message());
  } catch (const Error& reason) {
    throw fail(std::string("the baseline cannot be read: ") + reason.what());
  }
  if (text.empty()) throw fail("the baseline is empty");
  // Otherwise `loupe learn` with a wrong --out would overwrite a record.
  const Json first = Json::parse(text.substr(0, text.find('\n')), nullptr, /*allow_exceptions=*/false);
  if (first.is_object() && first.contains("kind") && first["kind"] == "run") {
    throw ConfigError(file +
                      ": error: this is the record of a run and no baseline; make a baseline of the records of good "
                      "runs with: loupe learn RECORD... --out baseline.json");
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception&) {
    throw fail("this is no baseline, or one that was cut off: it is not whole JSON");
  }
  try {
    if (!json.is_object() || json.value("kind", "") != "baseline") throw fail("this JSON is no baseline");
    if (const int found = json.value("format", 0); found != format) {
      throw fail("this baseline is of format " + std::to_string(found) + ", and this Loupe reads format " +
                 std::to_string(format));
    }
    Baseline baseline;
    baseline.file_ = file;
    baseline.runs_ = json.at("runs").get<std::size_t>();
    baseline.starts_ = json.at("epochs").get<std::vector<double>>();
    if (!std::is_sorted(baseline.starts_.begin(), baseline.starts_.end())) throw fail("its epochs do not ascend");
    for (const Json& each : json.at("series")) {
      const Json &low = each.at("low"), &high = each.at("high");
      if (low.size() != baseline.starts_.size() || high.size() != low.size())
        throw fail("a series of it has not one number for each of its phases");
      std::vector<Span> spans;
      for (std::size_t i = 0; i < low.size(); ++i) spans.push_back({number_of(low[i]), number_of(high[i])});
      baseline.series_[{each.at("tag").get<std::string>(), each.at("layer").get<std::string>(),
                        each.at("line").get<std::string>()}] = std::move(spans);
    }
    baseline.note_layers();
    return baseline;
  } catch (const Json::exception&) {
    throw fail("something of this baseline is missing or is not of the type that belongs there");
  }
}

}  // namespace loupe
