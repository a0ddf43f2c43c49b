#include "record/reader/finding_history.h"

#include <loupe/detail/standing_finding.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace loupe::replay {

std::string FindingHistory::Entry::place() const {
  return last.layer + (last.layer.empty() || last.parameter.empty() ? "" : ".") + last.parameter;
}

void FindingHistory::take(const RecordLine& line) {
  Entry& known = entries_[line.id];
  const std::string message = std::exchange(known.last, line).message;
  known.gone = line.state == LOUPE_FINDING_GONE;
  if (known.gone && !message.empty()) known.last.message = message;
  // If an open finding is reported again as information, it is taken back: it was harmless, or follows from another.
  if (line.state == LOUPE_FINDING_RAISED) known.before = known.worst_severity;
  const bool is_taken_back = line.state != LOUPE_FINDING_RAISED && line.severity <= LOUPE_SEVERITY_INFO;
  known.worst_severity = std::max(is_taken_back ? known.before : known.worst_severity, line.severity);
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
  std::unordered_map<std::string_view, std::size_t> first_of_rule;
  for (const Entry* each : order) first_of_rule.try_emplace(each->last.rule, first_of_rule.size());
  const auto distance = [](const Entry* entry) {
    return detail::distance_beyond(entry->last.value, entry->last.threshold);
  };
  std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) {
    if (a->last.severity != b->last.severity) return a->last.severity > b->last.severity;
    if (a->gone != b->gone) return b->gone;
    if (a->last.rule == b->last.rule) return distance(a) > distance(b);
    return first_of_rule.at(a->last.rule) < first_of_rule.at(b->last.rule);
  });
  return order;
}

const FindingHistory::Entry* FindingHistory::worst() const {
  const std::vector<const Entry*> all = worst_first();
  const auto standing = std::find_if(all.begin(), all.end(), [](const Entry* each) { return !each->gone; });
  return standing != all.end() ? *standing : all.empty() ? nullptr : all.front();
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
  return gone == 0 ? text : text + " (" + std::to_string(gone) + " resolved)";
}

}  // namespace loupe::replay
