#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Returns when visualizers were told, on the display's thread, all that they are to be told by now.
void wait_until_shown();

/// What the test's components did, what the user was told, and which steps shall fail. One at a time: while it lives,
/// it is the stage that plugins speak with, and it takes the host's messages.
class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // All of these wait until then.
  /// The step fails from now on, such as "lens report 1"; a step that begins so and ends in '*' fails whatever follows.
  void fail(const std::string& step);
  void mend() const;

  /// Called with each note, on the thread that notes; until the stage ends.
  void listen(std::function<void(const std::string&)> listener);

  /// What was noted since the last call.
  std::vector<std::string> take_notes() const;
  /// Of those, the ones that begin so; the others stay.
  std::vector<std::string> take_notes(const std::string& beginning) const;
  /// What the user was told since the last call.
  std::vector<std::string> take_messages() const;
};

}  // namespace loupe
