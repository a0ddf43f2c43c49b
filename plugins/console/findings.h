#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "console/text.h"

namespace loupe::console {

/// The findings of the run as text. The worst finding of each rule is printed in full once; further layers, open
/// findings and resolved findings get one line each.
class Findings {
 public:
  void clear() { *this = Findings(); }
  void take(const loupe_finding& finding);

  /// Lines about changes since the last call, worst first; "" if nothing changed.
  /// @param with_standing  also list findings that are still open
  std::string news(double epoch, const Layout& layout, bool with_standing = true);
  /// The same, but only new errors, which are printed before the next tick.
  std::string urgent(const Layout& layout);
  /// The open findings of one rule and severity in one line, with the message of the worst layer: "dead_units: net.fc1
  /// and 2 more layers, 40 of 64 units …".
  struct Brief {
    std::uint32_t severity = 0;
    std::string text, advice;
  };
  /// One for each rule, worst first.
  std::vector<Brief> worst_by_rule() const;
  /// Errors and warnings as lines, each with its remedy; "" if there are none.
  std::string summary(const Layout& layout) const;
  /// The number of open errors and warnings: "1 error, 2 warnings"; "" if there are none.
  std::string counts() const;
  /// LOUPE_SEVERITY_ of the worst open finding, by layer; a finding about a function counts for the layer before it.
  std::unordered_map<std::string, std::uint32_t> worst_by_layer() const;
  /// LOUPE_SEVERITY_ of the worst open finding about a layer or parameter in the plot `tag`; 0 if there is none.
  std::uint32_t standing_of(const std::string& tag, const std::string& shown) const;
  /// The number of findings in the run, including resolved ones.
  std::size_t count() const { return all_.size(); }
  /// The number of errors and warnings that were resolved.
  std::size_t resolved() const;

 private:
  enum class News { none, raised, gone };
  struct Entry {
    std::size_t number = 0;  ///< in order of arrival
    std::string rule, place, message, advice;
    std::string tag, layer, parameter;  ///< as the finding names them
    std::uint32_t severity = 0;
    double first_epoch = 0;
    double distance = 0;        ///< how far its value is beyond the threshold
    std::uint32_t told_as = 0;  ///< its severity in told_; 0 if it is not in told_
    bool stands = false, shown = false;
    News news = News::none;

    std::string called() const { return place.empty() ? rule : rule + " of " + place; }
    std::string in_words() const { return place.empty() ? message : place + ": " + message; }
  };

  using Numbers = std::set<std::size_t>;
  using WorstFirst = std::set<std::pair<std::int64_t, std::size_t>>;

  using RuleKey = std::pair<std::int64_t, std::string>;  // sorted with the worst first

  struct Group {
    const Entry* worst;
    std::vector<const Entry*> others;
  };

  static std::vector<Group> grouped(const std::vector<const Entry*>& some, bool by_advice);
  static std::string in_full(const Entry& each, const Layout& layout);
  static RuleKey key_of(const Entry& each) { return {-std::int64_t{each.severity}, each.rule}; }
  std::string raised_by_rule(const WorstFirst& order, const Layout& layout) const;
  std::string still_standing(const std::set<RuleKey>& growing, double epoch, const Layout& layout) const;
  std::string gone_by_rule(const WorstFirst& order, double epoch, const Layout& layout) const;
  void forget_told(Entry& each);
  void tell_raised(const WorstFirst& order);
  static WorstFirst::value_type rank_of(const Entry& each) { return {-std::int64_t{each.severity}, each.number}; }

  // A run may have thousands of findings, so a tick visits only those with news.
  detail::KeyedList<Entry, std::uint64_t> all_;  // by id
  Numbers with_news_, urgent_;
  WorstFirst standing_;
  std::map<RuleKey, Numbers> told_;                                     // open findings that were shown, by rule
  std::unordered_map<std::string, std::vector<std::size_t>> shown_as_;  // by tag, and layer or parameter
};

/// A note, after the word "note".
std::string note_lines(const Note& note, const Layout& layout);

}  // namespace loupe::console
