#pragma once

#include <stdexcept>

#include "loupe/version.h"

namespace loupe {

/// A wrong configuration: what() has each fault on its own line as `file:line:column: error: …`.
class LOUPE_API ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace loupe
