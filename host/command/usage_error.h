#ifndef LOUPE_COMMAND_USAGE_ERROR_H
#define LOUPE_COMMAND_USAGE_ERROR_H

#include <stdexcept>

namespace loupe {

/// What was asked for on the command line cannot be; what() is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace loupe

#endif
