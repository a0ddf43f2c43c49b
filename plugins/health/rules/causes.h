#pragma once

#include <vector>

#include "health/rules/ledger.h"

namespace loupe::health {

/// Which findings one rule's finding can bring about.
struct Cause {
  enum class Strength {
    likely,  ///< explains what is no worse than itself
    sure,    ///< explains whatever the effect's severity is, as the data of both show it
    hint     ///< the effect stays as bad as it is, and its advice names the cause first
  };
  const char* rule;
  std::vector<const char*> effects;
  Strength strength = Strength::likely;
  /// Whether what both saw belongs together; null where it is enough that both are of one model.
  bool (*agrees)(const Observation& cause, const Observation& effect) = nullptr;
};

/// The one table of causes, in causes.cpp.
const std::vector<Cause>& causes();

/// The row by which `cause` can bring about `effect`; null where none does.
const Cause* link_between(const Observation& cause, const Observation& effect);

}  // namespace loupe::health
