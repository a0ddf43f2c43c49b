#include "view/run_json.h"

#include <loupe/abi.h>
#include <loupe/number_text.h>
#include <loupe/words.h>

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
  const auto worst_first = history.worst_first();
  for (const FindingHistory::Entry* each : worst_first) {
    const std::string word = each->gone ? "gone" : word_of(severity_words, each->last.severity);
    if (counts.contains(word)) counts[word] = counts[word].get<int>() + 1;
  }
  Json told{{"counts", std::move(counts)}, {"worst", nullptr}};
  // What stands is worse than what is over, whatever it was.
  const FindingHistory::Entry* worst = nullptr;
  for (const FindingHistory::Entry* each : worst_first) {
    if (worst == nullptr || (worst->gone && !each->gone)) worst = each;
  }
  if (worst != nullptr) {
    const std::string place = worst->place();
    told["worst"] = {{"severity", word_of(severity_words, worst->last.severity)},
                     {"gone", worst->gone},
                     {"text", (place.empty() ? "" : place + ": ") + worst->last.message}};
  }
  return told;
}

}  // namespace

Json row_of(const RunSummary& run, RunState state) {
  Json row{{"state", word_of(state)}, {"started", run.run().start_time},
           {"epoch", nullptr},        {"step", nullptr},
           {"time", nullptr},         {"why", run.ending() ? run.ending()->message : ""},
           {"damage", run.damage()}};
  if (run.tick()) {
    row["epoch"] = run.tick()->epoch;
    row["step"] = run.tick()->step;
    row["time"] = run.tick()->timestamp;
  }
  Json losses = Json::array();
  for (const RunSummary::Loss& each : run.losses()) {
    losses.push_back({{"name", each.name}, {"value", number(each.value)}});
  }
  row["losses"] = std::move(losses);
  row["findings"] = findings_of(run.findings());
  return row;
}

std::string name_of(const RunSummary& run, const std::filesystem::path& folder) {
  return run.run().name.empty() ? folder.filename().string() : run.run().name;
}

}  // namespace loupe::view
