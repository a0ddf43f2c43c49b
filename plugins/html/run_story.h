#ifndef LOUPE_HTML_RUN_STORY_H
#define LOUPE_HTML_RUN_STORY_H

#include <loupe/visualizer.h>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace loupe::html {

/// What is told of a run in words: what was found and noted, what it was set to, how it ended. Each is kept as the JSON
/// that the page holds.
class RunStory {
 public:
  /// The rule, layer and parameter are its identity: told again, it replaces the one before.
  void finding(const loupe_finding& finding);
  /// Of very many notes the oldest give way.
  void note(const Note& note);
  /// The same name again replaces it.
  void hyperparameter(const Hyperparameter& value);
  void end(const Ending& ending);
  /// The run goes on after all.
  void go_on() { ending_.clear(); }

  bool has_ended() const { return !ending_.empty(); }
  bool is_empty() const { return findings_.empty() && notes_.empty() && hyperparameters_.empty(); }
  /// In characters.
  std::size_t bytes() const;
  /// Members of a JSON object: "findings", "notes", "lostNotes", "hyperparameters" as [name, text], "ending" or null.
  std::string json_members() const;

 private:
  using Keyed = std::vector<std::pair<std::string, std::string>>;
  static void put(Keyed& list, std::string key, std::string json);

  Keyed findings_, hyperparameters_;
  std::deque<std::string> notes_;
  std::size_t lost_notes_ = 0;
  std::string ending_;
};

}  // namespace loupe::html

#endif
