#pragma once

#include "html/page_text.h"

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <deque>
#include <string>

namespace loupe::html {

/// What a run says in words: findings, notes, hyperparameters and how it ended. Each is kept as the JSON that the page
/// holds.
class RunStory {
 public:
  RunStory() = default;
  /// Reads an object with the members that json_members() wrote. Throws if they are something else.
  explicit RunStory(const Json& run);
  /// Puts what an earlier part of the run found and noted before `epoch` in front.
  void continue_from(const RunStory& earlier, double epoch);

  /// A new one replaces the one before of its number.
  void finding(const loupe_finding& finding);
  /// Beyond 1,000 notes, the oldest are dropped.
  void note(const Note& note);
  /// Replaces a value of the same name.
  void hyperparameter(const Hyperparameter& value);
  void end(const Ending& ending);
  /// Forgets the ending: the run goes on after all.
  void reopen() { ending_.clear(); }

  bool has_ended() const { return !ending_.empty(); }
  bool is_empty() const { return findings_.empty() && notes_.empty() && hyperparameters_.empty(); }
  /// In characters.
  std::size_t bytes() const { return bytes_; }
  /// Members of a JSON object: "findings", "notes", "lostNotes", "hyperparameters" as [name, text], "ending" or null.
  std::string json_members() const;

 private:
  using Keyed = detail::KeyedList<std::string>;
  void put(Keyed& list, const std::string& key, std::string json);
  void keep_note(std::string json);

  Keyed findings_, hyperparameters_;
  std::deque<std::string> notes_;
  std::size_t lost_notes_ = 0, bytes_ = 0;
  std::string ending_;
};

}  // namespace loupe::html
