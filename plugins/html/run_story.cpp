#include "html/run_story.h"

#include <loupe/detail/standing_finding.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <algorithm>

namespace loupe::html {

namespace {

constexpr std::size_t MOST_NOTES = 1000;

Json text_or_null(const char* text) {
  return text != nullptr && *text != '\0' ? Json(text) : Json();
}

}  // namespace

void RunStory::put(Keyed& list, const std::string& key, std::string json) {
  std::string& known = list[key];
  bytes_ += json.size() - known.size();
  known = std::move(json);
}

void RunStory::finding(const loupe_finding& finding) {
  constexpr double farthest = 1e300;  // which JSON can hold
  const char* layer = layer_of(finding);
  put(findings_, std::to_string(finding.id),
      page_json({{"id", finding.id},
                 {"rule", text_of(finding.rule)},
                 {"layer", text_or_null(layer)},
                 {"parameter", text_or_null(finding.parameter)},
                 {"severity", finding.severity},
                 {"distance", std::min(detail::distance_beyond(finding), farthest)},
                 {"gone", finding.state == LOUPE_FINDING_GONE},
                 {"message", text_or_null(finding.message)},
                 {"advice", text_or_null(finding.advice)},
                 {"tag", text_or_null(finding.tag)},
                 {"source", text_or_null(finding.source)},
                 {"causedBy", text_or_null(finding.caused_by)},
                 {"file", text_or_null(finding.file)},
                 {"line", finding.line},
                 {"firstStep", finding.first_step},
                 {"lastStep", finding.last_step},
                 {"firstEpoch", finding.first_epoch},
                 {"lastEpoch", finding.last_epoch},
                 {"count", finding.count}}));
}

void RunStory::note(const Note& note) {
  keep_note(page_json({{"kind", word_of(note_words, note.kind)},
                       {"text", text_or_null(note.text)},
                       {"step", note.at.step},
                       {"epoch", note.at.epoch},
                       {"time", note.at.time > 0 ? utc_text(note.at.time) : ""},
                       {"finding", note.finding}}));
}

void RunStory::keep_note(std::string json) {
  notes_.push_back(std::move(json));
  bytes_ += notes_.back().size();
  if (notes_.size() <= MOST_NOTES) return;
  bytes_ -= notes_.front().size();
  notes_.pop_front();
  ++lost_notes_;
}

void RunStory::hyperparameter(const Hyperparameter& value) {
  put(hyperparameters_, value.name, page_json(Json::array({value.name, setting_text(value)})));
}

void RunStory::end(const Ending& ending) {
  ending_ = page_json({{"how", ending.how},
                       {"step", ending.at.step},
                       {"epoch", ending.at.epoch},
                       {"message", text_or_null(ending.message)}});
}

std::string RunStory::json_members() const {
  return "\"findings\":" + json_list(findings_) + ",\"notes\":" + json_list(notes_) +
         ",\"lostNotes\":" + std::to_string(lost_notes_) + ",\"hyperparameters\":" + json_list(hyperparameters_) +
         ",\"ending\":" + (ending_.empty() ? "null" : ending_);
}

}  // namespace loupe::html
