// Which taps of a module may be watched, and with what.

#include <gtest/gtest.h>
#include <loupe/error.h>

#include "monitored.h"
#include "says.h"

namespace loupe {
namespace {

/// What is said to somebody who watches that tap; empty where it may be.
std::string refusal_of(uint32_t tap, const std::string& label) {
  Monitored it("lenses: [probe_lens]\n");
  try {
    it.add("fc")->stream_to_subscribe(tap, label, 0);
    return "";
  } catch (const Error& refusal) {
    return refusal.what();
  }
}

TEST(Taps, OfAttributesAreWatchedByTheirNames) {
  for (const uint32_t tap : {LOUPE_TAP_ATTRIBUTE, LOUPE_TAP_ATTRIBUTE_BEFORE}) {
    EXPECT_EQ(refusal_of(tap, "weight"), "");
    EXPECT_SAYS(refusal_of(tap, "gate"), "'fc' has no 'gate' for the attribute ");
    EXPECT_SAYS(refusal_of(tap, ""), "is asked for without its name; give it as the label");
  }
}

TEST(Taps, OfForwardsHaveNoLabels) {
  EXPECT_EQ(refusal_of(LOUPE_TAP_FORWARD, ""), "");
  EXPECT_EQ(refusal_of(LOUPE_TAP_FORWARD, "weight"),
            "forward has no label, and is given 'weight'; attributes and parameters come at LOUPE_TAP_ATTRIBUTE and "
            "LOUPE_TAP_ATTRIBUTE_BEFORE");
  EXPECT_SAYS(refusal_of(LOUPE_TAP_FORWARD_BEFORE, "weight"), "the entry of forward has no label");
}

TEST(Taps, ThatThereAreNotAreRefused) {
  EXPECT_SAYS(refusal_of(LOUPE_TAP_ATTRIBUTE + 1, ""), "an unknown tap cannot be watched on 'fc'");
}

}  // namespace
}  // namespace loupe
