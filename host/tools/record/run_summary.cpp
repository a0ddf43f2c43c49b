#include "record/run_summary.h"

#include <loupe/abi.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "config/settings.h"

namespace loupe::replay {
namespace {

double joined(double a, double b) {
  if (!std::isfinite(a)) return a;
  return std::isfinite(b) ? std::max(a, b) : b;
}

/// "Sequential" of "torch::nn::SequentialImpl"
std::string short_type(const std::string& type) {
  const std::size_t colon = type.rfind("::");
  const std::string name = colon == std::string::npos ? type : type.substr(colon + 2);
  return name.size() > 4 && name.compare(name.size() - 4, 4, "Impl") == 0 ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

void SmallCurve::take(double epoch, double value) {
  while (!points_.empty() && points_.back().first_epoch >= epoch) points_.pop_back();
  latest_ = value;
  if (!points_.empty() && points_.back().count < stride_) {
    points_.back().value = joined(points_.back().value, value);
    ++points_.back().count;
    return;
  }
  if (points_.size() == most_points) {
    for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
      const Point &left = points_[i], &right = points_[i + 1];
      points_[i / 2] = {left.first_epoch, joined(left.value, right.value), left.count + right.count};
    }
    points_.resize(points_.size() / 2);
    stride_ *= 2;
  }
  points_.push_back({epoch, value, 1});
}

std::vector<double> SmallCurve::values() const {
  std::vector<double> values;
  for (const Point& each : points_) values.push_back(each.value);
  // A point of several epochs must not hide the present state of the run.
  if (!points_.empty() && points_.back().count > 1) values.push_back(latest_);
  return values;
}

void RunSummary::take(const RecordLine& line, std::string_view text) {
  using Kind = RecordLine::Kind;
  ending_.reset();
  if (line.kind == Kind::run) {
    run_ = parse_run_line(text);
    findings_.go_on();
    broken_.begin(run_.train_loss, run_.validation_loss);
  } else if (line.kind == Kind::model) {
    const RecordedModel model = parse_model_line(text);
    const std::string type = short_type(model.type);
    const std::string name = model.name.empty() || model.name == type ? "model" : "model " + model.name;
    if (models_.find(name) != nullptr || models_.size() < most_settings)
      models_[name] = {name, type + " of " + std::to_string(model.parameters) + " parameters"};
  } else if (line.kind == Kind::hyperparameter) {
    RecordedSetting setting = parse_hyperparameter_line(text);
    if (hyperparameters_.find(setting.name) != nullptr || hyperparameters_.size() < most_settings)
      hyperparameters_[setting.name] = std::move(setting);
  } else if (line.kind == Kind::value) {
    has_values_ = true;
    if (line.step == 0) take_loss(line);
  } else if (line.kind == Kind::finding) {
    findings_.take(line);
    broken_.finding(line.id, line.rule, line.severity, line.state);
  } else if (line.kind == Kind::tick) {
    tick_ = line;
    findings_.end_tick(line);
    // An epoch that was cut short is never the best.
    for (Loss& each : losses_) {
      if (line.incomplete || each.last_epoch != line.epoch || !std::isfinite(each.last)) continue;
      if (!each.lowest || each.last < each.lowest->first) each.lowest = {each.last, each.last_epoch};
    }
    const auto is_trained = [&](const Loss& each) {
      return !each.is_metric && each.name.rfind(run_.validation_loss, 0) != 0;
    };
    if (std::count_if(losses_.begin(), losses_.end(), is_trained) < 2) return;
    for (Loss& each : losses_) {
      each.is_one_of_several = is_trained(each);
      if (each.is_one_of_several) each.lowest.reset();
    }
  } else if (line.kind == Kind::end) {
    ending_ = line;
  }
}

/// Takes an epoch's losses and metrics, one number each, from the values of the lens loss_metrics.
void RunSummary::take_loss(const RecordLine& line) {
  broken_.value(line.tag, line.line, line.value);
  const auto named = broken_.name_of(line.tag, line.line);
  if (!named) return;
  const auto& [name, is_metric] = *named;
  if (losses_.find(name) == nullptr && losses_.size() == most_losses) return;
  Loss& loss = losses_[name];
  loss.name = name;
  loss.is_metric = is_metric;
  loss.last = line.value;
  loss.last_epoch = line.epoch;
  loss.curve.take(line.epoch, line.value);
}

const RunSummary::Loss* RunSummary::loss(const std::string& name) const {
  const auto found = std::find_if(losses_.begin(), losses_.end(),
                                  [&](const Loss& each) { return each.name == name && !each.is_metric; });
  return found == losses_.end() ? nullptr : &*found;
}

std::optional<StateOfRun> RunSummary::ended_as() const {
  if (!ending_) return std::nullopt;
  return state_of_end(ending_->how, ending_->message, broken_.name());
}

RunSummary::SettingTexts RunSummary::configured() const {
  SettingTexts all;
  // The format of the configuration, and settings that differ between runs with the same settings otherwise.
  constexpr std::string_view left_out[] = {"loupe", "run.name", "run.dir", "run.resume"};
  settings_of(run_.config).lend([&](const loupe_options* settings) {
    for (std::size_t i = 0; i < settings->value_count; ++i) {
      const loupe_option_value& value = *settings->values[i];
      if (std::find(std::begin(left_out), std::end(left_out), value.name) == std::end(left_out))
        all.emplace_back(value.name, setting_text(value));
    }
  });
  return all;
}

RunSummary::SettingTexts RunSummary::settings() const {
  SettingTexts all = models_.items();
  for (const RecordedSetting& each : hyperparameters_) all.emplace_back(each.name, text_of(each));
  const SettingTexts configured = this->configured();
  all.insert(all.end(), configured.begin(), configured.end());
  return all;
}

std::string worst_finding_of(const RunSummary& run) {
  const FindingHistory::Entry* worst = run.findings().worst();
  if (worst == nullptr) return run.findings().counts();
  const std::string place = worst->place();
  return run.findings().counts() + ": " + worst->last.rule + (place.empty() ? "" : " of " + place);
}

std::string text_of(const RecordedSetting& setting) {
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

}  // namespace loupe::replay
