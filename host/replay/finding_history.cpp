#include "replay/finding_history.h"

#include <loupe/text/words.h>

#include <algorithm>
#include <utility>

namespace loupe::replay {

std::string FindingHistory::Entry::place() const {
  return last.layer + (last.layer.empty() || last.parameter.empty() ? "" : ".") + last.parameter;
}

void FindingHistory::take(const RecordLine& line) {
  Entry& known = entries_[line.rule + '\n' + line.layer + '\n' + line.parameter];
  const std::string message = std::exchange(known.last, line).message;
  known.gone = line.state == LOUPE_FINDING_GONE;
  if (known.gone && !message.empty()) known.last.message = message;
  known.worst_severity = std::max(known.worst_severity, line.severity);
}

void FindingHistory::end_tick(const RecordLine& tick) {
  for (Entry& each : entries_) {
    if (!each.gone) each.last.last_epoch = std::max(each.last.last_epoch, tick.epoch);
  }
}

void FindingHistory::go_on() {
  for (Entry& each : entries_) each.gone = true;
}

std::vector<const FindingHistory::Entry*> FindingHistory::worst_first() const {
  std::vector<const Entry*> order;
  for (const Entry& each : entries_) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    if (a->last.severity != b->last.severity) return a->last.severity > b->last.severity;
    return !a->gone && b->gone;
  });
  return order;
}

std::string FindingHistory::counts() const {
  if (entries_.empty()) return "no findings";
  std::string text;
  for (const std::uint32_t severity : {LOUPE_SEVERITY_ERROR, LOUPE_SEVERITY_WARNING, LOUPE_SEVERITY_INFO}) {
    const auto count = std::count_if(entries_.begin(), entries_.end(),
                                     [&](const Entry& each) { return each.last.severity == severity; });
    if (count == 0) continue;
    const bool plural = count > 1 && severity != LOUPE_SEVERITY_INFO;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + ' ' + word_of(severity_words, severity) +
            (plural ? "s" : "");
  }
  const auto gone = std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) { return each.gone; });
  return gone == 0 ? text : text + " (" + std::to_string(gone) + " gone)";
}

}  // namespace loupe::replay
