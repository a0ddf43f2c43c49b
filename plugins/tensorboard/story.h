#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace loupe::tensorboard {

/// What was found and noted in a run, as the Markdown that TensorBoard's page of texts shows.
class Story {
 public:
  /// Told again, it replaces the one before of its number.
  void finding(const loupe_finding& finding);
  /// Of very many notes the oldest give way.
  void note(const Note& note);

  /// Whether something was told since the last markdown().
  bool changed() const { return changed_; }
  /// Findings worst first, those that are over after them, then the notes as they came. Of very many findings the worst
  /// alone: the text is told anew at each tick that brings one.
  std::string markdown();

 private:
  struct Found {
    std::string line;
    uint32_t severity = 0;
    bool gone = false;
  };
  detail::KeyedList<Found, uint64_t> findings_;  // by number
  std::deque<std::string> notes_;
  bool changed_ = false;
};

}  // namespace loupe::tensorboard
