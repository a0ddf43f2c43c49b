#include "findings/baseline_watch.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loupe {
namespace {

std::string name_of(const Baseline::Key& key) {
  const auto& [tag, layer, line] = key;
  return layer == tag ? "'" + line + "' of " + tag : "'" + line + "' of '" + layer + "' in " + tag;
}

bool is_outside(double value, const Baseline::Span& span) {
  return !(value >= span.low && value <= span.high);
}

}  // namespace

void BaselineWatch::add(const std::string& tag, const std::string& layer, const std::string& line, double value) {
  if (layer != tag) {
    layers_.insert(layer);
    if (!baseline_.has_layer(layer)) lacking_.insert(layer);
  }
  told_.push_back({{tag, layer, line}, value});
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
  return "the baseline '" + baseline_.file() + "' has nothing of " + names +
         ", which is not compared; learn it anew with records that have it";
}

Finding BaselineWatch::another_model(double epoch) const {
  Finding finding;
  finding.rule = rule;
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.message = "the baseline '" + baseline_.file() + "' is of another model: it has none of this run's " +
                    std::to_string(layers_.size()) + " layers, such as '" + *layers_.begin() + "'";
  finding.advice = "name the baseline of this model, or make one of its good runs: loupe learn RECORD... --out FILE";
  finding.first_epoch = finding.last_epoch = epoch;
  return finding;
}

Finding BaselineWatch::departed(const Told& told, const Departure& departure, const Baseline::Span& span,
                                std::size_t others, double epoch) const {
  const bool above = told.value > span.high;
  const double limit = above ? span.high : span.low, distance = std::abs(told.value - limit);
  Finding finding;
  finding.rule = rule;
  const auto& [tag, layer, line] = told.key;
  if (layer != tag) finding.layer = layer;
  finding.tag = tag;
  finding.value = told.value;
  finding.threshold = limit;
  finding.first_epoch = departure.since;
  finding.last_epoch = epoch;
  const std::string runs = baseline_.run_count() == 1
                               ? "where the one good run is between "
                               : "where " + std::to_string(baseline_.run_count()) + " good runs are between ";
  finding.message = name_of(told.key) + " is " + rounded_text(told.value) + ", " + runs + rounded_text(span.low) +
                    " and " + rounded_text(span.high) + " by then: it left that in epoch " +
                    rounded_text(departure.since) + ", and is outside by " +
                    rounded_text(distance / std::max(span.high - span.low, 1e-300)) + " times its width";
  if (others > 0) finding.message += "; so are " + std::to_string(others) + " other series";
  finding.advice =
      "look at what was changed in the training or its data since the good runs; if this run is good too, learn the "
      "baseline anew with its record";
  return finding;
}

std::vector<Finding> BaselineWatch::compare(double epoch) {
  struct Candidate {
    const Told* told;
    const Departure* departure;
    const Baseline::Span* span;
  };
  std::vector<Candidate> candidates;
  bool standing_is_back = false;
  for (const Told& told : told_) {
    const Baseline::Span* span = baseline_.span(told.key, epoch);
    if (span == nullptr) continue;
    Departure& departure = departures_[told.key];
    if (!is_outside(told.value, *span)) {
      departure.outside = 0;
      standing_is_back = standing_is_back || told.key == standing_key_;
      continue;
    }
    if (departure.outside++ == 0) departure.since = epoch;
    if (departure.outside > patience_) candidates.push_back({&told, &departure, span});
  }
  if (!standing_.empty()) {
    inside_ = standing_is_back ? inside_ + 1 : 0;
    if (inside_ <= patience_) return {};
    Finding gone = std::exchange(standing_, {}).front();
    gone.is_over = true;
    gone.last_epoch = epoch;
    return {gone};
  }
  if (candidates.empty()) return {};
  const auto first = std::min_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.departure->since < b.departure->since;
  });
  standing_ = {departed(*first->told, *first->departure, *first->span, candidates.size() - 1, epoch)};
  standing_key_ = first->told->key;
  inside_ = 0;
  return standing_;
}

std::vector<Finding> BaselineWatch::end_tick(double epoch) {
  std::vector<Finding> findings;
  if (!layers_.empty() && !std::exchange(compared_, true)) {
    const bool none_known = std::none_of(layers_.begin(), layers_.end(),
                                         [&](const std::string& layer) { return baseline_.has_layer(layer); });
    other_model_ = baseline_.has_layers() && none_known;
    if (other_model_) findings.push_back(another_model(epoch));
  }
  if (!other_model_) findings = compare(epoch);
  told_.clear();
  return findings;
}

}  // namespace loupe
