#include "pipeline/finding_board.h"

#include <loupe/error.h>
#include <loupe/text/text_of.h>

#include <algorithm>

#include "core/any_size.h"

namespace loupe {

void check_finding(const loupe_finding& given) {
  const loupe_finding finding = copy_known(given);
  if (text_of(finding.rule).empty()) throw Error("a finding names no rule", LOUPE_INVALID);
  if (text_of(finding.message).empty()) {
    throw Error("the finding '" + text_of(finding.rule) + "' has no message; say in a sentence what is wrong",
                LOUPE_INVALID);
  }
  if (finding.severity < LOUPE_SEVERITY_INFO || finding.severity > LOUPE_SEVERITY_ERROR) {
    throw Error("the finding '" + text_of(finding.rule) + "' has no known severity", LOUPE_INVALID);
  }
  if (finding.state < LOUPE_FINDING_RAISED || finding.state > LOUPE_FINDING_GONE) {
    throw Error("the finding '" + text_of(finding.rule) + "' is in no known state", LOUPE_INVALID);
  }
}

const loupe_finding* FindingBoard::add(const loupe_finding& given, uint64_t step, double epoch) {
  loupe_finding finding = copy_known(given);
  finding.struct_size = sizeof finding;
  check_finding(finding);
  if (finding.layer == nullptr && finding.module != nullptr) finding.layer = finding.module->name;
  if (finding.first_step == 0) finding.first_step = step;
  if (finding.last_step == 0) finding.last_step = step;
  if (finding.first_epoch == 0) finding.first_epoch = epoch;
  if (finding.last_epoch == 0) finding.last_epoch = epoch;
  if (finding.count == 0) finding.count = 1;

  const std::string identity =
      text_of(finding.rule) + '\n' + text_of(finding.layer) + '\n' + text_of(finding.parameter);
  const auto place = place_of_.find(identity);
  if (place == place_of_.end()) {
    if (finding.state == LOUPE_FINDING_GONE) return nullptr;
    finding.state = LOUPE_FINDING_RAISED;
    place_of_.emplace(identity, entries_.size());
    entries_.push_back({std::make_unique<detail::Owned<loupe_finding>>(finding)});
    return &entries_.back().finding->get();
  }
  Entry* const known = &entries_[place->second];
  const loupe_finding& before = known->finding->get();
  const bool was_gone = before.state == LOUPE_FINDING_GONE;
  if (was_gone && finding.state == LOUPE_FINDING_GONE) return nullptr;
  if (was_gone) finding.state = LOUPE_FINDING_RAISED;
  if (!was_gone && finding.state == LOUPE_FINDING_RAISED) finding.state = LOUPE_FINDING_CHANGED;
  finding.first_step = was_gone ? finding.first_step : std::min(before.first_step, finding.first_step);
  finding.first_epoch = was_gone ? finding.first_epoch : std::min(before.first_epoch, finding.first_epoch);
  known->finding = std::make_unique<detail::Owned<loupe_finding>>(finding);
  return &known->finding->get();
}

std::vector<const loupe_finding*> FindingBoard::all() const {
  std::vector<const loupe_finding*> found;
  for (const Entry& entry : entries_) found.push_back(&entry.finding->get());
  return found;
}

std::vector<const loupe_finding*> FindingBoard::standing() const {
  std::vector<const loupe_finding*> found = all();
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const loupe_finding* each) { return each->state == LOUPE_FINDING_GONE; }),
              found.end());
  return found;
}

}  // namespace loupe
