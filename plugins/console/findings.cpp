#include "console/findings.h"

#include <loupe/detail/standing_finding.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "console/text.h"

namespace loupe::console {
namespace {

constexpr std::size_t first_column = 9;  // the width of "resolved" and a gap
constexpr std::size_t most_still = 5;

std::string shown(const char* text) {
  return harmless(text_of(text));
}

/// A word in the first column, and wrapped text in the second.
std::string lines(const std::string& word, const char* color, const std::string& text, const Layout& layout) {
  const std::string padding(first_column - std::min(first_column, display_width(word)), ' ');
  std::string result = (color != nullptr ? colored(word, color, layout) : word) + padding;
  bool first = true;
  for (const std::string& line : wrapped(text, layout.width - first_column)) {
    result += (first ? "" : std::string(first_column, ' ')) + line + '\n';
    first = false;
  }
  return result;
}

std::string lines(std::uint32_t severity, const std::string& text, const Layout& layout) {
  const char* color = severity == LOUPE_SEVERITY_ERROR ? red : severity == LOUPE_SEVERITY_WARNING ? yellow : nullptr;
  return lines(word_of(severity_words, severity), color, text, layout);
}

/// More text in the second column.
std::string further_lines(const std::string& text, const Layout& layout) {
  return lines("", nullptr, text, layout);
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
  Entry* entry = all_.find(finding.id);
  const bool is_new = entry == nullptr;
  if (is_new) {
    if (gone) return;
    entry = &all_[finding.id];
    entry->number = all_.size() - 1;
  }
  standing_.erase(rank_of(*entry));
  const bool new_to_reader = !gone && (!entry->stands || entry->severity != finding.severity);
  if (new_to_reader) entry->news = News::raised;
  // A finding that was raised and resolved between two ticks was never shown.
  if (gone && entry->stands) entry->news = entry->shown ? News::gone : News::none;
  entry->stands = !gone;
  entry->rule = rule;
  entry->place = layer + (layer.empty() || parameter.empty() ? "" : ".") + parameter;
  entry->layer = text_of(layer_of(finding));
  entry->parameter = text_of(finding.parameter);
  const std::string tag = text_of(finding.tag);
  if (is_new || entry->tag != tag) {
    for (const std::string& name : {entry->layer, entry->layer + "." + entry->parameter}) {
      if (!entry->layer.empty()) shown_as_[shown_under(tag, name)].push_back(entry->number);
    }
  }
  entry->tag = tag;
  entry->severity = finding.severity;
  if (!gone) entry->message = harmless(message_with_place(finding));
  entry->advice = shown(finding.advice);
  if (!gone) entry->distance = detail::distance_beyond(finding);
  entry->first_epoch = finding.first_epoch;
  if (entry->stands) standing_.insert(rank_of(*entry));
  if (entry->news != News::none) with_news_.insert(entry->number);
  if (entry->news == News::raised && entry->severity >= LOUPE_SEVERITY_ERROR) urgent_.insert(entry->number);
}

std::uint32_t Findings::standing_of(const std::string& tag, const std::string& shown) const {
  std::uint32_t worst = 0;
  const auto found = shown_as_.find(shown_under(tag, shown));
  if (found == shown_as_.end()) return 0;
  for (const std::size_t number : found->second) {
    const Entry& each = all_.at(number);
    if (each.stands && each.tag == tag) worst = std::max(worst, each.severity);
  }
  return worst;
}

std::string Findings::in_full(const Entry& each, const Layout& layout) {
  std::string text = lines(each.severity, each.in_words() + " (" + each.rule + ")", layout);
  if (!each.advice.empty()) text += further_lines("→ " + each.advice, layout);
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
    Entry& each = all_.at(number);
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

void Findings::forget_told(Entry& each) {
  if (each.told_as == 0) return;
  const auto found = told_.find({-std::int64_t{each.told_as}, each.rule});
  found->second.erase(each.number);
  if (found->second.empty()) told_.erase(found);
  each.told_as = 0;
}

/// Marks new findings as shown.
void Findings::tell_raised(const WorstFirst& order) {
  for (const auto& [severity, number] : order) {
    Entry& each = all_.at(number);
    if (each.news == News::raised) {
      each.shown = true;
      each.told_as = each.severity;
      told_[key_of(each)].insert(number);
    }
    each.news = News::none;
  }
}

/// Lists open findings that were shown before, one line for each rule.
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
    const Entry& first = all_.at(*numbers.begin());
    text +=
        lines(first.severity,
              "still, for " + epochs(first.first_epoch, epoch) + ": " + first.called() + and_more(numbers.size() - 1),
              layout);
  }
  if (others > 0) text += further_lines("… and " + std::to_string(others) + " more are still open", layout);
  return text;
}

std::string Findings::gone_by_rule(const WorstFirst& order, double epoch, const Layout& layout) const {
  std::map<RuleKey, std::vector<const Entry*>> by_rule;
  for (const auto& [severity, number] : order) {
    const Entry& each = all_.at(number);
    if (each.news == News::gone) by_rule[key_of(each)].push_back(&each);
  }
  std::string text;
  for (const auto& [key, all] : by_rule) {
    text += lines(
        "resolved", nullptr,
        all.front()->called() + and_more(all.size() - 1) + " (" + epochs(all.front()->first_epoch, epoch - 1) + ")",
        layout);
  }
  return text;
}

/// Groups findings by rule and severity, in the order of the first of each.
/// @param by_advice  keeps findings with different advice apart
std::vector<Findings::Group> Findings::grouped(const std::vector<const Entry*>& some, bool by_advice) {
  std::vector<Group> groups;
  for (const Entry* each : some) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.worst->rule == each->rule && group.worst->severity == each->severity &&
             (!by_advice || group.worst->advice == each->advice);
    });
    if (found == groups.end()) {
      groups.push_back({each, {}});
    } else {
      found->others.push_back(each->distance > found->worst->distance ? std::exchange(found->worst, each) : each);
    }
  }
  return groups;
}

/// Prints the worst finding of each rule in full and lists the places of the others, which may be hundreds. If the rule
/// was shown before, prints only the places.
std::string Findings::raised_by_rule(const WorstFirst& order, const Layout& layout) const {
  std::vector<const Entry*> raised;
  for (const auto& [severity, number] : order) {
    if (all_.at(number).news == News::raised) raised.push_back(&all_.at(number));
  }
  std::string text;
  std::map<RuleKey, std::size_t> in_all;  // a rule may have several groups
  for (const auto& [worst, others] : grouped(raised, true)) {
    const auto told = told_.find(key_of(*worst));
    const std::size_t before = told != told_.end() ? told->second.size() : 0;
    const std::size_t count = in_all.try_emplace(key_of(*worst), before).first->second += others.size() + 1;
    if (before > 0 && !worst->place.empty()) {
      text += lines(worst->severity,
                    worst->rule + ": now also in " + worst->place + and_more(others.size()) + " (" +
                        std::to_string(count) + " in all)",
                    layout);
      continue;
    }
    constexpr std::size_t most = 6;
    std::string places;
    for (std::size_t i = 0; i < others.size() && i < most; ++i) places += (i > 0 ? ", " : "") + others[i]->place;
    if (others.size() > most) places += and_more(others.size() - most);
    text += in_full(*worst, layout);
    if (!places.empty()) text += further_lines("also in " + places, layout);
  }
  return text;
}

std::string Findings::urgent(const Layout& layout) {
  WorstFirst order;
  for (const std::size_t number : urgent_) {
    const Entry& each = all_.at(number);
    if (each.news == News::raised && each.severity >= LOUPE_SEVERITY_ERROR) order.insert(rank_of(each));
  }
  urgent_.clear();
  for (const auto& [severity, number] : order) forget_told(all_.at(number));
  const std::string text = raised_by_rule(order, layout);
  tell_raised(order);
  return text;
}

std::vector<Findings::Brief> Findings::worst_by_rule() const {
  std::vector<const Entry*> standing;
  for (const auto& [severity, number] : standing_) standing.push_back(&all_.at(number));
  std::vector<Brief> briefs;
  for (const Group& group : grouped(standing, false)) {
    const Entry& worst = *group.worst;
    std::set<std::string> layers{worst.layer};
    for (const Entry* other : group.others) layers.insert(other->layer);
    const std::size_t more = layers.size() - 1;
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

std::size_t Findings::resolved() const {
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const Entry& each) {
    return !each.stands && each.severity >= LOUPE_SEVERITY_WARNING;
  }));
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
  std::vector<Brief> briefs = worst_by_rule();
  std::erase_if(briefs, [](const Brief& each) { return each.severity < LOUPE_SEVERITY_WARNING; });
  std::string text;
  std::size_t shown = 0;
  for (const Brief& each : briefs) {
    if (shown++ == most) break;
    // Long texts are cut to a few lines.
    const std::size_t row = layout.width - first_column;
    text += lines(each.severity, shortened_end(each.text, 4 * row), layout);
    if (!each.advice.empty()) text += further_lines(shortened_end("→ " + each.advice, 3 * row), layout);
  }
  if (briefs.size() > most) text += further_lines("… and " + std::to_string(briefs.size() - most) + " more", layout);
  return text;
}

std::string note_lines(const Note& note, const Layout& layout) {
  return lines("note", nullptr, harmless(note.text), layout);
}

}  // namespace loupe::console
