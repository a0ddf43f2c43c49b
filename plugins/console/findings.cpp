#include "console/findings.h"

#include <loupe/detail/standing_finding.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

std::string and_more(std::size_t count) {
  return count == 0 ? "" : " and " + std::to_string(count) + " more";
}

std::string shown_under(const std::string& tag, const std::string& name) {
  return tag + '\n' + name;
}

}  // namespace

void Findings::take(const loupe_finding& finding) {
  const std::string rule = shown(finding.rule), layer = shown(layer_of(finding)), parameter = shown(finding.parameter);
  const bool gone = finding.state == LOUPE_FINDING_GONE;
  Known* known = all_.find(finding.id);
  const bool is_new = known == nullptr;
  if (is_new) {
    if (gone) return;
    known = &all_[finding.id];
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
  if (!gone) known->message = harmless(message_with_place(finding));
  known->advice = shown(finding.advice);
  if (!gone) known->distance = detail::distance_beyond(finding);
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

std::string Findings::in_full(const Known& each, const Layout& layout) {
  std::string text = lines(word_of(severity_words, each.severity), color_of(each.severity),
                           each.in_words() + " (" + each.rule + ")", layout);
  if (!each.advice.empty()) text += lines("", nullptr, "→ " + each.advice, layout);
  return text;
}

std::string Findings::news(double epoch, const Layout& layout, bool with_standing) {
  if (with_news_.empty()) return "";
  WorstFirst order;
  for (const std::size_t number : with_news_) order.insert(rank_of(all_.at(number)));
  with_news_.clear();
  urgent_.clear();
  const std::string gone = gone_by_rule(order, epoch, layout);
  std::set<RuleKey> growing;
  for (const auto& [severity, number] : order) {
    Known& each = all_.at(number);
    if (each.news == News::none) continue;
    forget_told(each);
    if (each.news == News::raised) growing.insert(key_of(each));
  }
  const std::string raised = raised_by_rule(order, layout);
  if (raised.empty() && gone.empty()) return "";
  const std::string still = with_standing ? still_standing(growing, epoch, layout) : "";
  tell_raised(order);
  return raised + still + gone;
}

void Findings::forget_told(Known& each) {
  if (each.told_as == 0) return;
  const auto found = told_.find({-std::int64_t{each.told_as}, each.rule});
  found->second.erase(each.number);
  if (found->second.empty()) told_.erase(found);
  each.told_as = 0;
}

/// What has been shown is no news any more.
void Findings::tell_raised(const WorstFirst& order) {
  for (const auto& [severity, number] : order) {
    Known& each = all_.at(number);
    if (each.news == News::raised) {
      each.shown = true;
      each.told_as = each.severity;
      told_[key_of(each)].insert(number);
    }
    each.news = News::none;
  }
}

/// One line for each rule.
/// @param growing  rules to leave out, because their new findings are shown as well
std::string Findings::still_standing(const std::set<RuleKey>& growing, double epoch, const Layout& layout) const {
  std::string text;
  std::size_t shown = 0, others = 0;
  for (const auto& [key, numbers] : told_) {
    if (growing.count(key) != 0) continue;
    if (shown == most_still) {
      others += numbers.size();
      continue;
    }
    ++shown;
    const Known& first = all_.at(*numbers.begin());
    text +=
        lines(word_of(severity_words, first.severity), color_of(first.severity),
              "still, for " + epochs(first.first_epoch, epoch) + ": " + first.called() + and_more(numbers.size() - 1),
              layout);
  }
  if (others > 0) text += lines("", nullptr, "… and " + std::to_string(others) + " more still stand", layout);
  return text;
}

std::string Findings::gone_by_rule(const WorstFirst& order, double epoch, const Layout& layout) const {
  std::map<RuleKey, std::vector<const Known*>> by_rule;
  for (const auto& [severity, number] : order) {
    const Known& each = all_.at(number);
    if (each.news == News::gone) by_rule[key_of(each)].push_back(&each);
  }
  std::string text;
  for (const auto& [key, all] : by_rule) {
    text += lines("gone", nullptr,
                  "after " + epochs(all.front()->first_epoch, epoch - 1) + ": " + all.front()->called() +
                      and_more(all.size() - 1),
                  layout);
  }
  return text;
}

/// Prints the worst finding of each rule in full and lists the places of the others, which may be hundreds; of a rule
/// that was told before, these alone.
std::string Findings::raised_by_rule(const WorstFirst& order, const Layout& layout) const {
  struct OfRule {
    const Known* worst;
    std::vector<std::string> places;
  };
  std::vector<OfRule> rules;
  for (const auto& [severity, number] : order) {
    const Known& each = all_.at(number);
    if (each.news != News::raised) continue;
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const OfRule& rule) {
      return rule.worst->rule == each.rule && rule.worst->severity == each.severity &&
             rule.worst->advice == each.advice;
    });
    if (found == rules.end()) {
      rules.push_back({&each, {}});
    } else {
      const Known& other = each.distance > found->worst->distance ? *std::exchange(found->worst, &each) : each;
      found->places.push_back(other.place);
    }
  }
  std::string text;
  for (const OfRule& rule : rules) {
    const Known& worst = *rule.worst;
    constexpr std::size_t most = 6;
    std::string places;
    for (std::size_t i = 0; i < rule.places.size() && i < most; ++i) places += (i > 0 ? ", " : "") + rule.places[i];
    if (rule.places.size() > most) places += and_more(rule.places.size() - most);
    const auto told = told_.find(key_of(worst));
    if (told != told_.end() && !worst.place.empty()) {
      const std::size_t count = rule.places.size() + 1;
      text += lines(word_of(severity_words, worst.severity), color_of(worst.severity),
                    worst.rule + ": also of " + worst.place + and_more(count - 1) + ", now " +
                        std::to_string(told->second.size() + count) + " in all",
                    layout);
      continue;
    }
    text += in_full(worst, layout);
    if (!places.empty()) text += lines("", nullptr, "also of " + places, layout);
  }
  return text;
}

std::string Findings::urgent(const Layout& layout) {
  WorstFirst order;
  for (const std::size_t number : urgent_) {
    const Known& each = all_.at(number);
    if (each.news == News::raised && each.severity >= LOUPE_SEVERITY_ERROR) order.insert(rank_of(each));
  }
  urgent_.clear();
  for (const auto& [severity, number] : order) forget_told(all_.at(number));
  const std::string text = raised_by_rule(order, layout);
  tell_raised(order);
  return text;
}

std::vector<Findings::Brief> Findings::worst_by_rule() const {
  struct OfRule {
    const Known* worst;
    std::set<std::string> layers;
  };
  std::vector<OfRule> rules;
  for (const auto& [severity, number] : standing_) {
    const Known& each = all_.at(number);
    auto found = std::find_if(rules.begin(), rules.end(), [&](const OfRule& rule) {
      return rule.worst->rule == each.rule && rule.worst->severity == each.severity;
    });
    if (found == rules.end()) found = rules.insert(rules.end(), {&each, {}});
    if (each.distance > found->worst->distance) found->worst = &each;
    found->layers.insert(each.layer);
  }
  std::vector<Brief> briefs;
  for (const OfRule& rule : rules) {
    const Known& worst = *rule.worst;
    const std::size_t more = rule.layers.size() - 1;
    const std::string others =
        more > 0 ? "and " + std::to_string(more) + " more layer" + (more > 1 ? "s, " : ", ") : std::string();
    const bool is_named = !worst.layer.empty() && worst.message.find("'" + worst.layer + "'") != std::string::npos;
    const std::string place =
        worst.place.empty() || (is_named && others.empty()) ? "" : worst.place + (others.empty() ? ": " : " ");
    briefs.push_back({worst.severity, worst.rule + ": " + place + others + worst.message, worst.advice});
  }
  return briefs;
}

std::string Findings::counts() const {
  std::size_t errors = 0, warnings = 0;
  for (const auto& [severity, number] : standing_) {
    errors += -severity >= LOUPE_SEVERITY_ERROR ? 1 : 0;
    warnings += -severity == LOUPE_SEVERITY_WARNING ? 1 : 0;
  }
  const auto counted = [](std::size_t count, const char* word) {
    return count == 0 ? "" : std::to_string(count) + " " + word + (count > 1 ? "s" : "");
  };
  const std::string first = counted(errors, "error"), second = counted(warnings, "warning");
  return first + (first.empty() || second.empty() ? "" : ", ") + second;
}

std::unordered_map<std::string, std::uint32_t> Findings::worst_by_layer() const {
  std::unordered_map<std::string, std::uint32_t> worst;
  for (const auto& [severity, number] : standing_) {
    const std::string& layer = all_.at(number).layer;
    worst.try_emplace(layer.substr(0, layer.find(':')), static_cast<std::uint32_t>(-severity));
  }
  return worst;
}

std::string Findings::summary(const Layout& layout) const {
  constexpr std::size_t most = 12;
  const std::vector<Brief> briefs = worst_by_rule();
  std::string text;
  std::size_t shown = 0;
  for (const Brief& each : briefs) {
    if (shown++ == most) break;
    // As far as that is a few lines.
    const std::size_t row = layout.width - first_column;
    text += lines(word_of(severity_words, each.severity), color_of(each.severity), shortened_end(each.text, 4 * row),
                  layout);
    if (!each.advice.empty()) text += lines("", nullptr, shortened_end("→ " + each.advice, 3 * row), layout);
  }
  if (briefs.size() > most)
    text += lines("", nullptr, "… and " + std::to_string(briefs.size() - most) + " more", layout);
  return text;
}

std::string note_lines(const Note& note, const Layout& layout) {
  return lines("note", nullptr, harmless(note.text), layout);
}

}  // namespace loupe::console
