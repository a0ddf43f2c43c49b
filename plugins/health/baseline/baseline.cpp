#include "health/baseline/baseline.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/internal/bounds.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace loupe::health {
namespace {

using Json = nlohmann::ordered_json;
constexpr int format = 1;

/// Each of the first epochs is a phase; later phases grow longer, because training changes most at its beginning.
std::vector<double> phases_of(const std::set<double>& epochs) {
  constexpr double growth = 1.25;
  std::vector<double> starts;
  for (const double epoch : epochs) {
    if (starts.empty() || epoch >= growth * starts.back()) starts.push_back(epoch);
  }
  return starts;
}

/// The values of the runs in one phase.
struct Envelope {
  double low = INFINITY, high = -INFINITY;
  std::set<std::size_t> runs;
  void add(double value, std::size_t run) {
    low = std::min(low, value);
    high = std::max(high, value);
    runs.insert(run);
  }
  void add(const Envelope& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

/// With fewer runs, more of the expected range is outside their smallest and largest value.
Baseline::Span widened(const Envelope& seen, double series_magnitude, bool is_share) {
  const double share = 0.25 + 2 / static_cast<double>(seen.runs.size());
  const double magnitude = std::max(std::abs(seen.low), std::abs(seen.high));
  const double margin = share * std::max(seen.high - seen.low, 0.25 * magnitude) + 0.05 * series_magnitude;
  double low = seen.low - margin;
  // A value that is always positive, such as a norm, shrinks by factors, and has collapsed at 0. A value near 0 in good
  // runs, such as the share of silent units, may also be 0.
  constexpr double near = 1e-2;
  const double nearly_none = near * (is_share ? 1 : std::max(magnitude, series_magnitude));
  if (seen.low > nearly_none && low <= 0) {
    const double log_margin = share * std::max(std::log(seen.high / seen.low), 0.2);
    constexpr double least_factor = 3;
    low = seen.low * std::exp(-2 * log_margin) / least_factor;
  }
  return {is_share ? std::max(low, 0.0) : low, seen.high + margin};
}

double number_of(const Json& json) {
  return json.is_null() ? NAN : json.get<double>();
}
Json number(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

std::string name_of(const Baseline::Key& key) {
  const auto& [tag, layer, line] = key;
  return layer == tag ? "'" + line + "' of " + tag : "'" + line + "' of '" + layer + "' in " + tag;
}

bool is_outside(double value, const Baseline::Span& span) {
  return !(value >= span.low && value <= span.high);
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
  std::map<Key, std::vector<Envelope>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, values] : runs[i]) {
      std::vector<Envelope>& seen = all.try_emplace(key, phases).first->second;
      for (const auto& [epoch, value] : values) {
        if (std::isfinite(value)) seen[baseline.phase_of(epoch)].add(value, i);
      }
    }
  }
  for (const auto& [key, seen] : all) {
    double magnitude = 0;
    for (const Envelope& each : seen) {
      if (!each.runs.empty()) magnitude = std::max({magnitude, std::abs(each.low), std::abs(each.high)});
    }
    std::vector<Span>& spans = baseline.series_[key];
    for (std::size_t i = 0; i < phases; ++i) {
      if (seen[i].runs.empty()) {
        spans.push_back({NAN, NAN});
        continue;
      }
      // A good run may be a little ahead of the others or behind them.
      Envelope around = seen[i];
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
  // One series per line, so that people can read and compare files.
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string text = "{\"kind\":\"baseline\",\"format\":" + std::to_string(format) +
                     ",\"runs\":" + std::to_string(runs_) + ",\"epochs\":" + dumped(starts_) + ",\"series\":[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "\n" : ",\n") + dumped(list[i]);
  return text + "\n]}\n";
}

Baseline Baseline::read(const std::string& file) {
  const auto fail = [&](const std::string& what) -> Error {
    return Error(file + ": error: " + what + "; make a baseline with: loupe learn RECORD... --out " + file);
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
    throw Error(file +
                ": error: this is the record of a run, not a baseline; make a baseline from the records of good "
                "runs with: loupe learn RECORD... --out baseline.json");
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception&) {
    throw fail("this is not a baseline, or it was cut off: it is not complete JSON");
  }
  try {
    if (!json.is_object() || json.value("kind", "") != "baseline") throw fail("this JSON is not a baseline");
    if (const int found = json.value("format", 0); found != format) {
      throw fail("this baseline has format " + std::to_string(found) + ", and this Loupe reads format " +
                 std::to_string(format));
    }
    Baseline baseline;
    baseline.file_ = file;
    baseline.runs_ = json.at("runs").get<std::size_t>();
    baseline.starts_ = json.at("epochs").get<std::vector<double>>();
    if (!std::ranges::is_sorted(baseline.starts_)) throw fail("its epochs do not ascend");
    for (const Json& each : json.at("series")) {
      const Json &low = each.at("low"), &high = each.at("high");
      if (low.size() != baseline.starts_.size() || high.size() != low.size())
        throw fail("a series must have one number for each phase");
      std::vector<Span> spans;
      for (std::size_t i = 0; i < low.size(); ++i) spans.push_back({number_of(low[i]), number_of(high[i])});
      baseline.series_[{each.at("tag").get<std::string>(), each.at("layer").get<std::string>(),
                        each.at("line").get<std::string>()}] = std::move(spans);
    }
    baseline.note_layers();
    return baseline;
  } catch (const Json::exception&) {
    throw fail("a part of this baseline is missing or has the wrong type");
  }
}

void BaselineWatch::add(const std::string& tag, const std::string& layer, const std::string& line, double value) {
  if (layer != tag) {
    layers_.insert(layer);
    if (!baseline_.has_layer(layer)) lacking_.insert(layer);
  }
  values_.push_back({{tag, layer, line}, value});
}

std::string BaselineWatch::take_lacking() {
  constexpr std::size_t shown = 5;
  std::vector<std::string> fresh;
  for (const std::string& layer : lacking_) {
    if (told_lacking_.insert(layer).second) fresh.push_back(layer);
  }
  if (fresh.empty() || other_model_ || !baseline_.has_layers()) return "";
  std::string names;
  for (std::size_t i = 0; i < fresh.size() && i < shown; ++i) names += (i == 0 ? "'" : ", '") + fresh[i] + "'";
  if (fresh.size() > shown) names += " and " + std::to_string(fresh.size() - shown) + " more";
  return "the baseline '" + baseline_.file() + "' has no series of " + names +
         ", which is not compared; learn it again from records that have it";
}

Finding BaselineWatch::another_model(double epoch) const {
  return {.rule = rule,
          .severity = LOUPE_SEVERITY_ERROR,
          .message = "the baseline '" + baseline_.file() + "' is from another model: it has none of this run's " +
                     std::to_string(layers_.size()) + " layers, such as '" + *layers_.begin() + "'",
          .advice = "use the baseline of this model, or make one from its good runs: loupe learn RECORD... --out FILE",
          .first_epoch = epoch,
          .last_epoch = epoch};
}

Finding BaselineWatch::departed(const Value& current, std::size_t others, double epoch) const {
  const auto& [tag, layer, line] = current.key;
  const Baseline::Span span = *baseline_.span(current.key, epoch);
  const double limit = current.value > span.high ? span.high : span.low, distance = std::abs(current.value - limit);
  const double since = departures_.at(current.key).since;
  const std::string runs =
      baseline_.run_count() == 1 ? "one good run" : std::to_string(baseline_.run_count()) + " good runs";
  return {.rule = rule,
          .message = name_of(current.key) + " is " + rounded_text(current.value) + ", but the baseline of " + runs +
                     " allows " + rounded_text(span.low) + " to " + rounded_text(span.high) +
                     " by then, including a margin: it left this range in epoch " + rounded_text(since) +
                     ", and is outside by " + rounded_text(distance / std::max(span.high - span.low, 1e-300)) +
                     " times its width" + (others > 0 ? "; so are " + std::to_string(others) + " other series" : ""),
          .advice =
              "check what was changed in the training or its data since the good runs; if this run is also "
              "good, learn the baseline again with its record",
          .tag = tag,
          .layer = layer != tag ? layer : "",
          .value = current.value,
          .threshold = limit,
          .first_epoch = since,
          .last_epoch = epoch};
}

std::vector<Finding> BaselineWatch::compare(double epoch) {
  const Value* first = nullptr;
  std::size_t outside = 0;
  bool standing_is_back = false;
  for (const Value& current : values_) {
    const Baseline::Span* span = baseline_.span(current.key, epoch);
    if (span == nullptr) continue;
    Departure& departure = departures_[current.key];
    if (!is_outside(current.value, *span)) {
      departure.outside = 0;
      standing_is_back = standing_is_back || current.key == standing_key_;
      continue;
    }
    if (departure.outside++ == 0) departure.since = epoch;
    if (departure.outside <= patience_) continue;
    ++outside;
    if (first == nullptr || departure.since < departures_[first->key].since) first = &current;
  }
  if (!standing_.empty()) {
    inside_ = standing_is_back ? inside_ + 1 : 0;
    if (inside_ <= patience_) return {};
    Finding gone = std::exchange(standing_, {}).front();
    gone.is_over = true;
    gone.last_epoch = epoch;
    return {gone};
  }
  if (first == nullptr) return {};
  standing_ = {departed(*first, outside - 1, epoch)};
  standing_key_ = first->key;
  inside_ = 0;
  return standing_;
}

std::vector<Finding> BaselineWatch::end_tick(double epoch) {
  std::vector<Finding> findings;
  if (!layers_.empty() && !std::exchange(compared_, true)) {
    const bool none_known =
        std::ranges::none_of(layers_, [&](const std::string& layer) { return baseline_.has_layer(layer); });
    other_model_ = baseline_.has_layers() && none_known;
    if (other_model_) findings.push_back(another_model(epoch));
  }
  if (!other_model_) findings = compare(epoch);
  values_.clear();
  return findings;
}

}  // namespace loupe::health
