#include "health/rules/ledger.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "health/rules/rule.h"

namespace loupe::health {
namespace {

Finding finding_of(const Observation& seen) {
  const auto known = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  return {.rule = {},
          .severity = seen.severity,
          .message = seen.message,
          .advice = seen.advice,
          .module = seen.module,
          .tag = seen.tag,
          .caused_by = seen.caused_by,
          .value = known(seen.value),
          .threshold = known(seen.threshold)};
}

/// How `cause` can bring about `effect`; null if it cannot.
const Effects* link_between(const Observation& cause, const Observation& effect) {
  const bool is_of_one_model =
      cause.module == nullptr || effect.module == nullptr || cause.module->model == effect.module->model;
  const bool is_later = cause.since > effect.since && cause.since - effect.since > cause.rule->epochs_unseen;
  if (!is_of_one_model || is_later) return nullptr;
  for (const Effects& each : cause.rule->brings_about) {
    const bool is_bad_enough = each.strength != Strength::likely ||
                               (cause.severity > LOUPE_SEVERITY_INFO && cause.severity >= effect.severity);
    if (each.has(effect.rule->name) && is_bad_enough && (each.agrees == nullptr || each.agrees(cause, effect)))
      return &each;
  }
  return nullptr;
}

void follow_from(const Observation& cause, const Effects& link, Observation& effect) {
  const bool is_of_layer = cause.module != nullptr && cause.place > 0;
  const std::string first =
      sentence("fix '", cause.rule->name, "'", is_of_layer ? sentence(" in '", cause.module->name, "'") : "",
               " first, which may be the cause");
  effect.caused_by = cause.rule->name;
  if (link.strength == Strength::hint) {
    effect.advice = first + "; else " + effect.advice;
    return;
  }
  effect.is_explained = true;
  effect.severity = LOUPE_SEVERITY_INFO;
  effect.advice = first;
}

}  // namespace

Ledger::Entry& Ledger::entry_of(const Observation& seen) {
  const std::string layer = seen.module != nullptr ? seen.module->name : "";
  const auto known = std::ranges::find_if(entries_, [&](const Entry& each) {
    const Finding& finding = each.standing.finding();
    return finding.rule == seen.rule->name && finding.layer == layer && finding.parameter == seen.parameter;
  });
  if (known != entries_.end()) return *known;
  Entry& entry = entries_.emplace_back();
  entry.standing.finding().rule = seen.rule->name;
  entry.standing.finding().layer = layer;
  entry.standing.finding().parameter = seen.parameter;
  return entry;
}

/// Prefers a certain cause.
void Ledger::explain(Observation& seen) const {
  const Entry* cause = nullptr;
  const Effects* by = nullptr;
  for (const Entry& each : entries_) {
    if (!each.standing.stands() || !each.last.rule->may_bring_about(*seen.rule)) continue;
    const Effects* link = link_between(each.last, seen);
    if (link == nullptr || (by != nullptr && link->strength != Strength::sure)) continue;
    cause = &each;
    by = link;
    if (link->strength == Strength::sure) break;
  }
  if (by != nullptr) follow_from(cause->last, *by, seen);
}

void Ledger::explain_by(Report& report, const Entry& cause) {
  for (Entry& each : entries_) {
    if (!each.standing.stands() || each.last.is_explained || &each == &cause) continue;
    if (!cause.last.rule->may_bring_about(*each.last.rule)) continue;
    const Effects* link = link_between(cause.last, each.last);
    if (link == nullptr || link->strength == Strength::hint) continue;
    follow_from(cause.last, *link, each.last);
    each.standing.turn(report, finding_of(each.last));
  }
}

void Ledger::see(Report& report, Observation seen, int patience) {
  if (is_off(seen.rule->name)) return;
  Entry& entry = entry_of(seen);
  const bool begins = !entry.standing.stands() && entry.standing.streak() == 0;
  seen.since = begins ? ticks_ : entry.last.since;
  explain(seen);
  const bool recedes = seen.may_recede && seen.severity < entry.standing.finding().severity;
  const bool is_of_new_module = seen.module != nullptr && entry.standing.finding().module == nullptr;
  const bool turns = recedes || is_of_new_module || (seen.is_explained && !entry.last.is_explained);
  entry.standing.see(finding_of(seen), turns);
  entry.last = std::move(seen);
  if (!entry.standing.stands() && entry.standing.streak() < patience) return;
  entry.standing.tell(report);
  explain_by(report, entry);
}

void Ledger::end(Report& report, const StretchEnd& ended) {
  ticks_ += ended.tick ? 1 : 0;
  for (Entry& entry : entries_) {
    const Finding& finding = entry.standing.finding();
    if (!(entry.last.at_tick ? ended.tick : ended.window(finding.module))) continue;
    const bool is_open = entry.standing.stands() && ended.is_open(finding);
    entry.standing.end_stretch(report, is_open, cooldown_, /*was_harmless=*/entry.last.may_recede);
  }
}

void Ledger::forget(const loupe_module* module) {
  for (Entry& entry : entries_) {
    if (entry.standing.finding().module == module) entry.standing.finding().module = nullptr;
    if (entry.last.module == module) entry.last.module = nullptr;
  }
}

}  // namespace loupe::health
