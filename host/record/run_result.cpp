#include "record/run_result.h"

#include <loupe/abi.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "record/earlier_run.h"

namespace loupe {
namespace {

using replay::FindingHistory;
using replay::RecordLine;

/// The name of the loss whose mean over an epoch a line is, as the lens loss_metrics tells it; empty for other lines.
std::string loss_of(const RecordLine& line) {
  constexpr std::string_view mean = " mean";
  if (line.tag != "Loss" && line.tag != "Loss & Metrics") return "";
  const std::size_t end = line.line.size() - std::min(line.line.size(), mean.size());
  return line.line.compare(end, std::string::npos, mean) == 0 ? line.line.substr(0, end) : "";
}

std::string text_of(const replay::RecordedSetting& setting) {
  switch (setting.type) {
    case LOUPE_TYPE_BOOLEAN:
      return setting.integer != 0 ? "yes" : "no";
    case LOUPE_TYPE_INTEGER:
      return std::to_string(setting.integer);
    case LOUPE_TYPE_NUMBER:
      return number_text(setting.number);
    case LOUPE_TYPE_STRINGS: {
      std::string all;
      for (const std::string& each : setting.strings) all += (all.empty() ? "" : ", ") + each;
      return all;
    }
    default:
      return setting.string;
  }
}

/// "Sequential" of "torch::nn::SequentialImpl"
std::string short_type(const std::string& type) {
  const std::size_t colon = type.rfind("::");
  const std::string name = colon == std::string::npos ? type : type.substr(colon + 2);
  return name.size() > 4 && name.compare(name.size() - 4, 4, "Impl") == 0 ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

void RunResult::take(const RecordLine& line, const std::string& text) {
  ending_.reset();
  if (line.kind == RecordLine::Kind::finding) return findings_.take(line);
  if (line.kind == RecordLine::Kind::tick) return findings_.end_tick(line);
  if (line.kind == RecordLine::Kind::run) return findings_.go_on();
  if (line.kind == RecordLine::Kind::end) ending_ = line;
  if (line.kind == RecordLine::Kind::hyperparameter) {
    const replay::RecordedSetting setting = replay::parse_hyperparameter_line(text);
    hyperparameters_.put(setting.name, text_of(setting));
  }
  if (line.kind == RecordLine::Kind::model) {
    const replay::RecordedModel model = replay::parse_model_line(text);
    const std::string type = short_type(model.type);
    models_.put(model.name.empty() || model.name == type ? "model" : "model " + model.name,
                type + " of " + std::to_string(model.parameters) + " parameters");
  }
  if (line.kind != RecordLine::Kind::value) return;
  const std::string name = loss_of(line);
  if (name.empty()) return;
  const auto [place, is_new] = loss_places_.try_emplace(name, losses_.size());
  if (is_new) losses_.push_back({name});
  Loss& loss = losses_[place->second];
  loss.last = line.value;
  if (!std::isfinite(line.value) || line.value >= loss.best) return;
  loss.best = line.value;
  loss.best_epoch = line.epoch;
}

void RunResult::Named::put(const std::string& name, std::string value) {
  const auto [place, is_new] = places.try_emplace(name, all.size());
  if (is_new) all.emplace_back(name, "");
  all[place->second].second = std::move(value);
}

const RunResult::Loss* RunResult::loss(const std::string& name) const {
  const auto found = loss_places_.find(name);
  return found == loss_places_.end() ? nullptr : &losses_[found->second];
}

std::string RunResult::state() const {
  if (!ending_) return "not ended";
  return ending_->how == 0 ? "ended" : word_of(ending_words, ending_->how);
}

std::string RunResult::worst_finding() const {
  const std::vector<const FindingHistory::Entry*> all = findings_.worst_first();
  if (all.empty()) return findings_.counts();
  // What stands is worse than what is over, whatever it was.
  const auto standing = std::find_if(all.begin(), all.end(), [](const auto* each) { return !each->gone; });
  const FindingHistory::Entry& worst = standing != all.end() ? **standing : *all.front();
  const std::string place = worst.place();
  return findings_.counts() + ": " + worst.last.rule + (place.empty() ? "" : " of " + place);
}

RunResult::Settings RunResult::settings() const {
  Settings all = models_.all;
  all.insert(all.end(), hyperparameters_.all.begin(), hyperparameters_.all.end());
  for (const auto& [name, value] : compared_settings(config_)) {
    if (name != "loupe") all.emplace_back(name, value);  // the format of the configuration
  }
  return all;
}

}  // namespace loupe
