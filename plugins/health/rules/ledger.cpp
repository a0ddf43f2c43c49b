#include "health/rules/ledger.h"

#include <algorithm>
#include <cstring>

namespace loupe::health {

Ledger::Entry& Ledger::entry_of(const Observation& seen) {
  const std::string layer = seen.module != nullptr ? seen.module->name : "";
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    const Finding& finding = each.standing.finding();
    return finding.rule == seen.rule && finding.layer == layer && finding.parameter == seen.parameter;
  });
  if (known != entries_.end()) return *known;
  Entry& entry = entries_.emplace_back();
  entry.rank = seen.rank;
  entry.standing.finding().rule = seen.rule;
  entry.standing.finding().layer = layer;
  entry.standing.finding().parameter = seen.parameter;
  return entry;
}

void Ledger::take(Entry& entry, const Observation& seen) {
  Finding now;
  now.severity = seen.severity;
  now.module = seen.module;
  now.message = seen.message;
  now.advice = seen.advice;
  now.value = seen.value;
  now.threshold = seen.threshold;
  now.tag = seen.tag;
  entry.at_tick = seen.at_tick;
  entry.standing.see(now, seen.is_explained && !entry.is_explained);
  entry.is_explained = seen.is_explained;
}

void Ledger::tell(Report& report, const Observation& seen) {
  see(report, seen, 0);
}

void Ledger::see(Report& report, const Observation& seen, int patience) {
  if (is_off(seen.rule)) return;
  Entry& entry = entry_of(seen);
  take(entry, seen);
  if (entry.standing.stands() || entry.standing.streak() >= patience) entry.standing.tell(report);
}

void Ledger::end(Report& report, const Ended& ended) {
  for (Entry& entry : entries_) {
    const Finding& finding = entry.standing.finding();
    if (!(entry.at_tick ? ended.tick : ended.window(finding.module))) continue;
    entry.standing.end_stretch(report, entry.standing.stands() && ended.is_open(finding), cooldown_);
  }
}

bool Ledger::has_cause() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& each) {
    const Finding& finding = each.standing.finding();
    const bool is_of_curve = finding.tag == "Loss" && finding.module == nullptr;
    return each.standing.stands() && finding.severity > LOUPE_SEVERITY_INFO && !is_of_curve;
  });
}

bool Ledger::stands(const char* rule) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& each) { return each.standing.stands() && each.standing.finding().rule == rule; });
}

const Finding* Ledger::cause_of(const Observation& seen) const {
  if (seen.rank == Rank::cause || seen.rank == Rank::usual) return nullptr;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    const Finding& finding = each.standing.finding();
    const uint32_t severity = finding.severity;
    const bool comes_first =
        each.rank < seen.rank || (seen.may_follow_equals && each.rank == seen.rank && finding.rule != seen.rule);
    if (!each.standing.stands() || !comes_first || severity <= LOUPE_SEVERITY_INFO || severity < seen.severity)
      return false;
    const loupe_module* other = finding.module;
    return seen.module == nullptr || other == nullptr || std::strcmp(seen.module->model, other->model) == 0;
  });
  return found != entries_.end() ? &found->standing.finding() : nullptr;
}

void Ledger::forget(const loupe_module* module) {
  for (Entry& entry : entries_) {
    if (entry.standing.finding().module == module) entry.standing.finding().module = nullptr;
  }
}

}  // namespace loupe::health
