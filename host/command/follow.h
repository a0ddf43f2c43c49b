#ifndef LOUPE_COMMAND_FOLLOW_H
#define LOUPE_COMMAND_FOLLOW_H

#include <chrono>
#include <string>
#include <vector>

#include "core/file_stamp.h"

namespace loupe {

/// While it lives, Ctrl-C and SIGTERM are noted instead of ending the process; a second one ends it. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool came() const;
};

/// Files that others write on.
class GrowingFiles {
 public:
  explicit GrowingFiles(std::vector<std::string> files) : files_(std::move(files)) {}

  /// From now on, what is written is a change.
  void look() { seen_ = stamps(); }
  /// Waits until one has changed since look(), but `pause` at least. False when an interruption came first.
  bool wait(const Interruption& interruption, std::chrono::nanoseconds pause) const;

 private:
  std::vector<FileStamp> stamps() const;

  std::vector<std::string> files_;
  std::vector<FileStamp> seen_;
};

}  // namespace loupe

#endif
