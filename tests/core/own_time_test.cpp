// Which code counts as Loupe's own time. The test advances the clock.

#include "core/own_time.h"

#include <gtest/gtest.h>

#include "core/clock.h"

namespace loupe {
namespace {

using Of = OwnTime::Of;

class OwnTimes : public testing::Test {
 protected:
  OwnTimes() {
    set_steady_clock([] { return now; });
  }
  ~OwnTimes() override { set_steady_clock(nullptr); }
  static void pass(double seconds) { now += seconds; }
  double hooks() const { return OwnTime::spent(Of::hooks) - hooks_; }
  double reports() const { return OwnTime::spent(Of::reports) - reports_; }
  static inline double now = 100;

 private:
  double hooks_ = OwnTime::spent(Of::hooks), reports_ = OwnTime::spent(Of::reports);
};

TEST_F(OwnTimes, OfHooksCountOnRequestAndOnlyOnceIfNested) {
  {
    const OwnTime unwanted(Of::hooks);
    pass(1);
  }
  EXPECT_EQ(hooks(), 0);
  OwnTime::want(true);
  {
    const OwnTime outer(Of::hooks);
    pass(2);
    const OwnTime inner(Of::hooks);
    pass(4);
  }
  pass(8);
  OwnTime::want(false);
  EXPECT_EQ(hooks(), 6);
}

TEST_F(OwnTimes, OfAReportCountAlwaysAndNotForTheHookAroundIt) {
  OwnTime::want(true);
  {
    const OwnTime hook(Of::hooks);
    pass(1);
    {
      const OwnTime report(Of::reports);
      pass(2);
      const OwnTime within(Of::hooks);
      pass(4);
    }
    pass(8);
  }
  OwnTime::want(false);
  EXPECT_EQ(hooks(), 9);
  EXPECT_EQ(reports(), 6);
  {
    const OwnTime report(Of::reports);
    pass(16);
  }
  EXPECT_EQ(reports(), 22);
}

TEST_F(OwnTimes, CanBeReadWhileTheyRun) {
  OwnTime::want(true);
  {
    const OwnTime hook(Of::hooks);
    pass(1);
    EXPECT_EQ(hooks(), 1);
    pass(2);
  }
  OwnTime::want(false);
  EXPECT_EQ(hooks(), 3);
}

}  // namespace
}  // namespace loupe
