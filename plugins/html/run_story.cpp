#include "html/run_story.h"

#include "html/json_text.h"

#include <loupe/number_text.h>
#include <loupe/text_of.h>
#include <loupe/utc_text.h>

#include <algorithm>

namespace loupe::html {

namespace {

constexpr std::size_t MOST_NOTES = 1000;

std::string member(const char* name, const std::string& json) {
  return std::string(",\"") + name + "\":" + json;
}

std::string text_member(const char* name, const char* text) {
  return member(name, text != nullptr && *text != '\0' ? json_text(text) : "null");
}

/// A value as people write it.
std::string shown(const Hyperparameter& value) {
  switch (value.type) {
    case LOUPE_OPTION_BOOLEAN:
      return value.integer != 0 ? "true" : "false";
    case LOUPE_OPTION_INTEGER:
      return std::to_string(value.integer);
    case LOUPE_OPTION_NUMBER:
      return number_text(value.number);
    case LOUPE_OPTION_STRING:
      return text_of(value.string);
    default:
      std::string all;
      for (std::size_t i = 0; i < value.string_count; ++i) all += (i == 0 ? "" : ", ") + text_of(value.strings[i]);
      return all;
  }
}

}  // namespace

void RunStory::put(Keyed& list, std::string key, std::string json) {
  const auto known = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.first == key; });
  if (known != list.end()) {
    known->second = std::move(json);
  } else {
    list.emplace_back(std::move(key), std::move(json));
  }
}

void RunStory::finding(const loupe_finding& finding) {
  const char* layer = layer_of(finding);
  put(findings_, text_of(finding.rule) + '\n' + text_of(layer) + '\n' + text_of(finding.parameter),
      "{\"rule\":" + json_text(text_of(finding.rule)) + text_member("layer", layer) +
          text_member("parameter", finding.parameter) + member("severity", std::to_string(finding.severity)) +
          member("gone", finding.state == LOUPE_FINDING_GONE ? "true" : "false") +
          text_member("message", finding.message) + text_member("advice", finding.advice) +
          text_member("tag", finding.tag) + text_member("source", finding.source) +
          member("firstStep", std::to_string(finding.first_step)) +
          member("lastStep", std::to_string(finding.last_step)) +
          member("firstEpoch", json_number(finding.first_epoch)) +
          member("lastEpoch", json_number(finding.last_epoch)) + member("count", std::to_string(finding.count)) + "}");
}

void RunStory::note(const Note& note) {
  notes_.push_back("{\"kind\":" + std::to_string(note.kind) + text_member("text", note.text) +
                   member("step", std::to_string(note.step)) + member("epoch", json_number(note.epoch)) +
                   member("time", json_text(note.time > 0 ? utc_text(note.time) : "")) + "}");
  if (notes_.size() <= MOST_NOTES) return;
  notes_.pop_front();
  ++lost_notes_;
}

void RunStory::hyperparameter(const Hyperparameter& value) {
  put(hyperparameters_, value.name, json_texts({value.name, shown(value)}));
}

void RunStory::end(const Ending& ending) {
  ending_ = "{\"how\":" + std::to_string(ending.how) + member("step", std::to_string(ending.step)) +
            member("epoch", json_number(ending.epoch)) + text_member("message", ending.message) + "}";
}

std::size_t RunStory::bytes() const {
  std::size_t sum = 0;
  for (const auto& [key, json] : findings_) sum += json.size();
  for (const auto& [key, json] : hyperparameters_) sum += json.size();
  for (const std::string& json : notes_) sum += json.size();
  return sum;
}

std::string RunStory::json_members() const {
  const auto list = [](const Keyed& items) {
    std::string all;
    for (const auto& [key, json] : items) all += (all.empty() ? "" : ",") + json;
    return "[" + all + "]";
  };
  std::string notes;
  for (const std::string& json : notes_) notes += (notes.empty() ? "" : ",") + json;
  return "\"findings\":" + list(findings_) + member("notes", "[" + notes + "]") +
         member("lostNotes", std::to_string(lost_notes_)) + member("hyperparameters", list(hyperparameters_)) +
         member("ending", ending_.empty() ? "null" : ending_);
}

}  // namespace loupe::html
