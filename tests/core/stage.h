#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Waits until the display's thread has sent all queued events to the visualizers.
void wait_until_shown();

/// Records calls of the test's components and messages to the user, and lets chosen steps fail. Only one may live at a
/// time: plugins use it as their stage, and it receives the host's messages.
class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Each of these functions first calls wait_until_shown().
  /// Lets a step fail from now on, for example "lens report 1"; a final '*' matches any rest.
  void fail(const std::string& step);
  void mend() const;

  /// The listener is called with each note, on the noting thread, until the stage is destroyed.
  void listen(std::function<void(const std::string&)> listener);

  /// Returns the notes since the last call.
  std::vector<std::string> take_notes() const;
  /// Returns and removes the notes with this beginning; the others stay.
  std::vector<std::string> take_notes(const std::string& beginning) const;
  /// Returns the messages to the user since the last call.
  std::vector<std::string> take_messages() const;
};

}  // namespace loupe
