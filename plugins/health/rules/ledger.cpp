#include "health/rules/ledger.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace loupe::health {

/// Whether it lies ten times as far beyond its threshold as it did.
bool Ledger::grows(const Finding& told, const Observation& now) {
  constexpr double much = 10;
  if (!(told.threshold > 0) || !(now.threshold > 0) || !(told.value > 0) || !(now.value > 0)) return false;
  const double before = told.value / told.threshold, after = now.value / now.threshold;
  return before > 1 ? after > much * before : after * much < before;
}

Ledger::Entry& Ledger::entry_of(const Observation& seen) {
  const std::string layer = seen.module != nullptr ? seen.module->name : "";
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.finding.rule == seen.rule && each.finding.layer == layer && each.finding.parameter == seen.parameter;
  });
  if (known != entries_.end()) return *known;
  Entry& entry = entries_.emplace_back();
  entry.finding.rule = seen.rule;
  entry.rank = seen.rank;
  entry.finding.layer = layer;
  entry.finding.parameter = seen.parameter;
  entry.finding.count = 0;
  return entry;
}

void Ledger::take(Entry& entry, const Observation& seen) {
  Finding& finding = entry.finding;
  ++finding.count;
  entry.seen = true;
  entry.at_tick = seen.at_tick;
  entry.unseen = 0;
  const bool is_worse = seen.severity > finding.severity || grows(finding, seen);
  const bool gets_explained = seen.is_explained && !entry.is_explained;
  entry.has_changed = entry.stands && (is_worse || gets_explained);
  entry.is_explained = seen.is_explained;
  finding.module = seen.module;
  // What stands keeps the words that were told last until it is told again, so that they do not flicker.
  if (!is_due(entry)) return;
  finding.severity = entry.stands && !gets_explained ? std::max(seen.severity, finding.severity) : seen.severity;
  finding.message = seen.message;
  finding.advice = seen.advice;
  finding.value = seen.value;
  finding.threshold = seen.threshold;
  finding.tag = seen.tag;
}

void Ledger::raise(Report& report, Entry& entry) {
  if (!is_due(entry)) return;
  entry.finding.state = entry.stands ? LOUPE_FINDING_CHANGED : LOUPE_FINDING_RAISED;
  entry.stands = true;
  entry.told_count = entry.finding.count;
  report.finding(entry.finding);
}

void Ledger::tell(Report& report, const Observation& seen) {
  if (is_off(seen.rule)) return;
  Entry& entry = entry_of(seen);
  take(entry, seen);
  raise(report, entry);
}

void Ledger::see(Report& report, const Observation& seen, int patience) {
  if (is_off(seen.rule)) return;
  Entry& entry = entry_of(seen);
  if (!entry.seen) ++entry.streak;
  take(entry, seen);
  if (entry.stands || entry.streak >= patience) raise(report, entry);
}

void Ledger::end(Report& report, const Ended& ended) {
  for (Entry& entry : entries_) {
    if (!(entry.at_tick ? ended.tick : ended.window(entry.finding.module))) continue;
    if (std::exchange(entry.seen, false) || (entry.stands && ended.is_open(entry.finding))) continue;
    entry.streak = 0;
    if (!entry.stands || ++entry.unseen < cooldown_) continue;
    entry.stands = false;
    entry.finding.state = LOUPE_FINDING_GONE;
    report.finding(entry.finding);
    entry.finding.count = entry.told_count = 0;
  }
}

bool Ledger::has_cause() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& each) {
    const bool is_of_curve = each.finding.tag == "Loss" && each.finding.module == nullptr;
    return each.stands && each.finding.severity > LOUPE_SEVERITY_INFO && !is_of_curve;
  });
}

bool Ledger::stands(const char* rule) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& each) { return each.stands && each.finding.rule == rule; });
}

const Finding* Ledger::cause_of(const Observation& seen) const {
  if (seen.rank == Rank::cause || seen.rank == Rank::usual) return nullptr;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    const uint32_t severity = each.finding.severity;
    const bool comes_first =
        each.rank < seen.rank || (seen.may_follow_equals && each.rank == seen.rank && each.finding.rule != seen.rule);
    if (!each.stands || !comes_first || severity <= LOUPE_SEVERITY_INFO || severity < seen.severity) return false;
    const loupe_module* other = each.finding.module;
    return seen.module == nullptr || other == nullptr || std::strcmp(seen.module->model, other->model) == 0;
  });
  return found != entries_.end() ? &found->finding : nullptr;
}

void Ledger::forget(const loupe_module* module) {
  for (Entry& entry : entries_) {
    if (entry.finding.module == module) entry.finding.module = nullptr;
  }
}

}  // namespace loupe::health
