#pragma once

#include <stdexcept>

namespace loupe {

/// The command line asks for something that cannot be done; what() is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace loupe
