#pragma once

#include <cstddef>
#include <string>

namespace loupe::check {

/// What the child tells of one rule: that it begins, and how it came out. Short enough to be written at once.
struct Message {
  enum What { begins, ends } what;
  std::size_t index;  ///< among all rules of the file and its components
  bool passed;
  char component[128], rule[64], detail[1024];
};

/// What a child was doing, in memory that outlives it.
struct Doing {
  char step[256], context[256];
  char misuse[128];  ///< how the component misused what it was lent, if that crashed it
};

/// Looks at the file's rules from the `first` on, and writes messages to `channel`. Runs in the child process, whose
/// working directory is `folder`.
void examine(const std::string& file, const std::string& options, const std::string& folder, std::size_t first,
             int channel, Doing* doing);

}  // namespace loupe::check
