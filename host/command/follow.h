#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/run_folder.h"

namespace loupe {

/// While this lives, a first Ctrl-C or SIGTERM is noted and a second one ends the process. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool was_requested() const;
};

/// Files that other processes append to.
class GrowingFiles {
 public:
  explicit GrowingFiles(std::vector<std::string> files) : files_(std::move(files)) {}

  /// What is written from now on is a change.
  void look() { seen_ = stamps(); }
  /// Waits until a file has changed since look(), and at least `pause`. False when interrupted.
  bool wait(const Interruption& interruption, std::chrono::nanoseconds pause) const;

 private:
  std::vector<FileStamp> stamps() const;

  std::vector<std::string> files_;
  std::vector<FileStamp> seen_;
};

}  // namespace loupe
