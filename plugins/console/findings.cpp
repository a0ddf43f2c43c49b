#include "console/findings.h"

#include <loupe/text_of.h>
#include <loupe/words.h>

#include <algorithm>
#include <cmath>

#include "console/text.h"

namespace loupe::console {
namespace {

constexpr std::size_t first_column = 9;  // as wide as "warning" and a gap
constexpr std::size_t most_still = 5;

std::string shown(const char* text) {
  return harmless(text_of(text));
}

/// A word in the first column, and text beside it, wrapped.
std::string lines(const std::string& word, const char* color, const std::string& text, const Layout& layout) {
  const std::string padding(first_column - std::min(first_column, display_width(word)), ' ');
  std::string result = (color != nullptr ? colored(word, color, layout) : word) + padding;
  const std::size_t room = layout.width - first_column;
  bool first = true;
  for (const std::string& line : wrapped(text, room)) {
    result += (first ? "" : std::string(first_column, ' ')) + line + '\n';
    first = false;
  }
  return result;
}

const char* color_of(std::uint32_t severity) {
  switch (severity) {
    case LOUPE_SEVERITY_ERROR:
      return red;
    case LOUPE_SEVERITY_WARNING:
      return yellow;
    default:
      return nullptr;
  }
}

std::string epochs(double first, double last) {
  const double count = std::max(1.0, std::floor(last - first) + 1);
  const std::string number = short_number(count);
  return number + (count == 1 ? " epoch" : " epochs");
}

std::string shown_under(const std::string& tag, const std::string& name) {
  return tag + '\n' + name;
}

}  // namespace

void Findings::take(const loupe_finding& finding) {
  const std::string rule = shown(finding.rule), layer = shown(layer_of(finding)), parameter = shown(finding.parameter);
  const std::string key = rule + '\n' + layer + '\n' + parameter;
  const bool gone = finding.state == LOUPE_FINDING_GONE;
  Known* known = all_.find(key);
  const bool is_new = known == nullptr;
  if (is_new) {
    if (gone) return;
    known = &all_[key];
    known->number = all_.size() - 1;
  }
  standing_.erase(rank_of(*known));
  const bool new_to_reader = !gone && (!known->stands || known->severity != finding.severity);
  if (new_to_reader) known->news = News::raised;
  // What came and went between two ticks was never shown.
  if (gone && known->stands) known->news = known->shown ? News::gone : News::none;
  known->stands = !gone;
  known->rule = rule;
  known->place = layer + (layer.empty() || parameter.empty() ? "" : ".") + parameter;
  known->layer = text_of(layer_of(finding));
  known->parameter = text_of(finding.parameter);
  const std::string tag = text_of(finding.tag);
  if (is_new || known->tag != tag) {
    for (const std::string& name : {known->layer, known->layer + "." + known->parameter}) {
      if (!known->layer.empty()) shown_as_[shown_under(tag, name)].push_back(known->number);
    }
  }
  known->tag = tag;
  known->severity = finding.severity;
  if (!gone) known->message = shown(finding.message);
  known->advice = shown(finding.advice);
  known->first_epoch = finding.first_epoch;
  if (known->stands) standing_.insert(rank_of(*known));
  if (known->news != News::none) with_news_.insert(known->number);
  if (known->news == News::raised && known->severity >= LOUPE_SEVERITY_ERROR) urgent_.insert(known->number);
}

std::uint32_t Findings::standing_of(const std::string& tag, const std::string& shown) const {
  std::uint32_t worst = 0;
  const auto found = shown_as_.find(shown_under(tag, shown));
  if (found == shown_as_.end()) return 0;
  for (const std::size_t number : found->second) {
    const Known& each = all_.at(number);
    if (each.stands && each.tag == tag) worst = std::max(worst, each.severity);
  }
  return worst;
}

std::string Findings::in_full(Known& each, const Layout& layout) {
  each.news = News::none;
  each.shown = true;
  std::string text = lines(word_of(severity_words, each.severity), color_of(each.severity),
                           each.in_words() + " (" + each.rule + ")", layout);
  if (!each.advice.empty()) text += lines("", nullptr, "→ " + each.advice, layout);
  return text;
}

std::string Findings::news(double epoch, const Layout& layout) {
  if (with_news_.empty()) return "";
  std::string raised, still, gone;
  std::size_t still_count = standing_.size(), shown = 0;
  for (auto rank = standing_.begin(); rank != standing_.end() && shown < most_still; ++rank) {
    const Known& each = all_.at(rank->second);
    if (each.news == News::raised) continue;
    ++shown;
    still += lines(word_of(severity_words, each.severity), color_of(each.severity),
                   "still, for " + epochs(each.first_epoch, epoch) + ": " + each.called(), layout);
  }
  WorstFirst order;
  for (const std::size_t number : with_news_) order.insert(rank_of(all_.at(number)));
  with_news_.clear();
  urgent_.clear();
  for (const auto& [severity, number] : order) {
    Known& each = all_.at(number);
    if (each.news == News::raised) {
      --still_count;
      raised += in_full(each, layout);
    } else if (each.news == News::gone) {
      each.news = News::none;
      gone += lines("gone", nullptr, "after " + epochs(each.first_epoch, epoch - 1) + ": " + each.called(), layout);
    }
  }
  if (raised.empty() && gone.empty()) return "";
  if (still_count > most_still) {
    still += lines("", nullptr, "… and " + std::to_string(still_count - most_still) + " more still stand", layout);
  }
  return raised + still + gone;
}

std::string Findings::urgent(const Layout& layout) {
  std::string text;
  for (const std::size_t number : urgent_) {
    Known& each = all_.at(number);
    if (each.news == News::raised && each.severity >= LOUPE_SEVERITY_ERROR) text += in_full(each, layout);
  }
  urgent_.clear();
  return text;
}

std::string Findings::standing(double epoch, const Layout& layout) const {
  std::string text;
  for (const auto& [severity, number] : standing_) {
    const Known& each = all_.at(number);
    text += lines(word_of(severity_words, each.severity), color_of(each.severity),
                  each.in_words() + " (" + each.rule + ", for " + epochs(each.first_epoch, epoch) + ")", layout);
  }
  return text;
}

std::string note_lines(const Note& note, const Layout& layout) {
  return lines("note", nullptr, harmless(note.text), layout);
}

}  // namespace loupe::console
