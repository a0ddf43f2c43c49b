#include "findings/finding_board.h"

#include <loupe/detail/whole.h>
#include <loupe/error.h>
#include <loupe/internal/finding_number.h>
#include <loupe/text/words.h>

#include <algorithm>

namespace loupe {

void check_finding(const loupe_finding& given) {
  const loupe_finding finding = detail::known_part(given);
  if (text_of(finding.rule).empty())
    throw Error("a finding names no rule; give it one in snake_case, such as 'low_rank'", LOUPE_INVALID);
  const auto fail = [&](const char* what) {
    throw Error("the finding '" + text_of(finding.rule) + "' " + what, LOUPE_INVALID);
  };
  if (text_of(finding.message).empty()) fail("has no message; describe the fault in one sentence");
  if (finding.id != 0) fail("has an id, which only the host sets; leave it 0");
  if (finding.state != 0)
    fail(
        "has a state, which only the host sets; leave it 0, and set LOUPE_FINDING_OVER in the flags of one that is "
        "over");
}

const loupe_finding* FindingBoard::add(const loupe_finding& given, uint64_t step, double epoch) {
  loupe_finding finding = detail::known_part(given);
  finding.struct_size = sizeof finding;
  check_finding(finding);
  const bool is_over = (finding.flags & LOUPE_FINDING_OVER) != 0;
  finding.flags &= ~uint32_t{LOUPE_FINDING_OVER};  // the state replaces the flag
  // A severity of a newer version also becomes a warning.
  if (finding.severity == 0 || finding.severity > LOUPE_SEVERITY_ERROR) finding.severity = LOUPE_SEVERITY_WARNING;
  if (finding.layer == nullptr && finding.module != nullptr) finding.layer = finding.module->name;
  if (finding.first_step == 0) finding.first_step = step;
  if (finding.last_step == 0) finding.last_step = step;
  if (finding.first_epoch == 0) finding.first_epoch = epoch;
  if (finding.last_epoch == 0) finding.last_epoch = epoch;
  if (finding.count == 0) finding.count = 1;
  finding.id = finding_number(text_of(finding.source), text_of(finding.rule), text_of(finding.layer),
                              text_of(finding.parameter));

  const auto [place, is_new] = place_of_.try_emplace(finding.id, findings_.size());
  const loupe_finding* const before = is_new ? nullptr : &findings_[place->second]->get();
  const bool stood = before != nullptr && before->state != LOUPE_FINDING_GONE;
  if (!stood && is_over) {
    if (is_new) place_of_.erase(place);
    return nullptr;
  }
  finding.state = is_over ? LOUPE_FINDING_GONE : stood ? LOUPE_FINDING_CHANGED : LOUPE_FINDING_RAISED;
  if (stood) {
    finding.first_step = std::min(before->first_step, finding.first_step);
    finding.first_epoch = std::min(before->first_epoch, finding.first_epoch);
  }
  auto owned = std::make_unique<detail::Owned<loupe_finding>>(finding);
  if (is_new) return &findings_.emplace_back(std::move(owned))->get();
  findings_[place->second] = std::move(owned);
  return &findings_[place->second]->get();
}

std::vector<const loupe_finding*> FindingBoard::all() const {
  std::vector<const loupe_finding*> found;
  for (const auto& each : findings_) found.push_back(&each->get());
  return found;
}

}  // namespace loupe
