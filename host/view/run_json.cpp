#include "view/run_json.h"

#include <loupe/abi.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <charconv>
#include <set>

namespace loupe::view {
namespace {

using Json = nlohmann::ordered_json;
using replay::FindingHistory;

Json number(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}

Json findings_of(const FindingHistory& history) {
  Json counts{{"error", 0}, {"warning", 0}, {"info", 0}, {"gone", 0}};
  std::set<std::string> rules;
  const auto worst_first = history.worst_first();
  for (const FindingHistory::Entry* each : worst_first) {
    const std::string word = each->gone ? "gone" : word_of(severity_words, each->last.severity);
    rules.insert(each->last.rule);
    if (counts.contains(word)) counts[word] = counts[word].get<int>() + 1;
  }
  Json told{{"counts", std::move(counts)}, {"worst", nullptr}, {"rules", rules}};
  // What stands is worse than what is over, whatever it was.
  const FindingHistory::Entry* worst = nullptr;
  for (const FindingHistory::Entry* each : worst_first) {
    if (worst == nullptr || (worst->gone && !each->gone)) worst = each;
  }
  if (worst != nullptr) {
    const std::string place = worst->place();
    told["worst"] = {{"rule", worst->last.rule},
                     {"severity", word_of(severity_words, worst->last.severity)},
                     {"gone", worst->gone},
                     {"text", (place.empty() ? "" : place + ": ") + worst->last.message}};
  }
  return told;
}

/// What the validation says, where there is one, is what runs are compared by.
const RunSummary::Loss* main_loss(const std::vector<RunSummary::Loss>& losses) {
  const RunSummary::Loss* main = nullptr;
  for (const RunSummary::Loss& each : losses) {
    if (each.is_metric) continue;
    if (each.name.rfind("val", 0) == 0) return &each;
    if (main == nullptr) main = &each;
  }
  return main;
}

Json losses_of(const std::vector<RunSummary::Loss>& losses) {
  Json told = Json::array();
  for (const RunSummary::Loss& each : losses) {
    Json loss{{"name", each.name}, {"metric", each.is_metric}, {"last", number(each.last)}, {"best", nullptr}};
    if (!each.is_metric && each.lowest) {
      loss["best"] = each.lowest->first;
      loss["best_epoch"] = each.lowest->second;
    }
    told.push_back(std::move(loss));
  }
  return told;
}

/// At the size of a word nobody sees more than these digits, even where the values hardly differ.
double rounded(double value) {
  const std::string text = rounded_text(value, 6);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json curve_of(const RunSummary::Loss* loss) {
  if (loss == nullptr) return nullptr;
  Json values = Json::array();
  for (const double each : loss->curve.values()) values.push_back(number(rounded(each)));
  return {{"name", loss->name}, {"values", std::move(values)}};
}

Json value_of(const replay::RecordedSetting& setting) {
  switch (setting.type) {
    case LOUPE_TYPE_BOOLEAN:
      return setting.integer != 0;
    case LOUPE_TYPE_INTEGER:
      return setting.integer;
    case LOUPE_TYPE_NUMBER:
      return number(setting.number);
    case LOUPE_TYPE_STRING:
      return setting.string;
    default:
      std::string all;
      for (const std::string& each : setting.strings) all += (all.empty() ? "" : ", ") + each;
      return all;
  }
}

}  // namespace

double start_of(const RunSummary& run) {
  const double started = run.run().start_time;
  return started > 0 ? started : static_cast<double>(run.stamp().changed_ns) * 1e-9;
}

Json row_of(const RunSummary& run, const RunStanding& standing) {
  Json row{{"state", word_of(standing.state)},
           {"why", standing.why},
           {"resumed", run.run().resumed},
           {"started", start_of(run)},
           {"written", static_cast<double>(run.stamp().changed_ns) * 1e-9},
           {"epoch", nullptr},
           {"step", nullptr},
           {"seconds", nullptr},
           {"losses", losses_of(run.losses())},
           {"curve", curve_of(main_loss(run.losses()))},
           {"settings", Json::array()},
           {"findings", findings_of(run.findings())}};
  if (run.tick()) {
    row["epoch"] = run.tick()->epoch;
    row["step"] = run.tick()->step;
    row["seconds"] = run.tick()->elapsed;
  }
  for (const auto& each : run.settings()) row["settings"].push_back(Json::array({each.name, value_of(each)}));
  return row;
}

std::string name_of(const RunSummary& run, const std::filesystem::path& folder) {
  return run.run().name.empty() ? folder.filename().string() : run.run().name;
}

}  // namespace loupe::view
