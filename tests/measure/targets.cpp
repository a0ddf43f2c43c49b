#include <cstdlib>

#include "hwy/targets.h"

namespace {

/// Runs before all tests. It disables as many of the widest instruction sets as LOUPE_TEST_NARROWER says, so that the
/// same tests run on the kernels for simpler CPUs.
const bool narrowed = [] {
  const char* narrower = std::getenv("LOUPE_TEST_NARROWER");
  if (narrower == nullptr) return false;
  int64_t targets = hwy::SupportedTargets();
  for (int i = std::atoi(narrower); i > 0; --i) {
    const int64_t widest = targets & -targets;  // a lower bit means a wider set
    if (targets != widest) targets -= widest;
  }
  hwy::SetSupportedTargetsForTest(targets);
  return true;
}();

}  // namespace
