#include <cstdlib>

#include "hwy/targets.h"

namespace {

/// Before anything is measured, takes as many of the widest instruction sets away as LOUPE_TEST_NARROWER says, so that
/// the same tests can be run on the kernels for lesser CPUs.
const bool narrowed = [] {
  const char* narrower = std::getenv("LOUPE_TEST_NARROWER");
  if (narrower == nullptr) return false;
  int64_t targets = hwy::SupportedTargets();
  for (int i = std::atoi(narrower); i > 0; --i) {
    const int64_t widest = targets & -targets;  // the lower the bit, the wider
    if (targets != widest) targets -= widest;
  }
  hwy::SetSupportedTargetsForTest(targets);
  return true;
}();

}  // namespace
