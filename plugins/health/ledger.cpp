#include "health/ledger.h"

#include <algorithm>
#include <utility>

namespace loupe::health {

Ledger::Entry& Ledger::entry_of(const Sight& sight) {
  const std::string layer = sight.module != nullptr ? sight.module->name : "";
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.finding.rule == sight.rule && each.finding.layer == layer && each.finding.parameter == sight.parameter;
  });
  if (known != entries_.end()) return *known;
  Entry& entry = entries_.emplace_back();
  entry.finding.rule = sight.rule;
  entry.finding.layer = layer;
  entry.finding.parameter = sight.parameter;
  entry.finding.count = 0;
  return entry;
}

void Ledger::take(Entry& entry, const Sight& sight) {
  Finding& finding = entry.finding;
  const bool worse = entry.stands && sight.severity > finding.severity;
  // The words stay those of the first time, so that they do not flicker; figures that are worse replace them.
  if (!entry.stands || worse) {
    finding.severity = sight.severity;
    finding.message = sight.message;
    finding.advice = sight.advice;
    finding.value = sight.value;
    finding.threshold = sight.threshold;
    finding.tag = sight.tag;
  }
  finding.module = sight.module;
  ++finding.count;
  entry.seen = true;
  entry.unseen = 0;
  if (worse) entry.told_count = 0;
}

void Ledger::raise(Report& report, Entry& entry) {
  // While it stands its count is told each time it has doubled.
  if (entry.stands && entry.finding.count < 2 * entry.told_count) return;
  entry.finding.state = entry.stands ? LOUPE_FINDING_CHANGED : LOUPE_FINDING_RAISED;
  entry.stands = true;
  entry.told_count = entry.finding.count;
  report.finding(entry.finding);
}

void Ledger::tell(Report& report, const Sight& sight) {
  if (is_off(sight.rule)) return;
  Entry& entry = entry_of(sight);
  take(entry, sight);
  raise(report, entry);
}

void Ledger::see(Report& report, const Sight& sight, int patience) {
  if (is_off(sight.rule)) return;
  Entry& entry = entry_of(sight);
  if (!entry.seen) ++entry.streak;
  take(entry, sight);
  if (entry.stands || entry.streak >= patience) raise(report, entry);
}

void Ledger::end_window(Report& report) {
  for (Entry& entry : entries_) {
    if (std::exchange(entry.seen, false)) continue;
    entry.streak = 0;
    if (!entry.stands || ++entry.unseen < cooldown_) continue;
    entry.stands = false;
    entry.finding.state = LOUPE_FINDING_GONE;
    report.finding(entry.finding);
    entry.finding.count = entry.told_count = 0;
  }
}

void Ledger::forget(const loupe_module* module) {
  for (Entry& entry : entries_) {
    if (entry.finding.module == module) entry.finding.module = nullptr;
  }
}

}  // namespace loupe::health
