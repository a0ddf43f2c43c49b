// Who holds a run's folder, as the folder's lock names it.

#include "core/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace loupe::test {
namespace {

TEST(RunHolder, ReadsBackWhatItWrote) {
  const RunHolder self = RunHolder::this_process();
  EXPECT_EQ(self.process, ::getpid());
  EXPECT_TRUE(self.is_of_this_machine());
  EXPECT_LE(self.text().size(), longest_run_lock);
  const RunHolder read = RunHolder::in(self.text());
  EXPECT_EQ(read.process, self.process);
  EXPECT_EQ(read.host, self.host);
  EXPECT_TRUE(read.is_of_this_machine());
  EXPECT_EQ(read.in_words(), "process " + std::to_string(::getpid()));
}

TEST(RunHolder, OfAnotherMachineIsSaidWithItsName) {
  const RunHolder other = RunHolder::in("12 trainbox 0000/pid:[1]\n");
  EXPECT_EQ(other.in_words(), "process 12 on trainbox");
  EXPECT_FALSE(other.is_of_this_machine());
}

TEST(RunHolder, OfALockThatNamesNoMachineMayBeAnywhere) {
  const RunHolder old = RunHolder::in("12");
  EXPECT_EQ(old.process, 12);
  EXPECT_EQ(old.in_words(), "process 12");
  EXPECT_FALSE(old.is_of_this_machine());
}

TEST(RunHolder, IsNobodyInATextOfAnotherForm) {
  for (const char* text : {"", " 12", "x", "12x", "-12 host", "0 host", "4294967297 host machine"}) {
    EXPECT_EQ(RunHolder::in(text).process, 0) << text;
    EXPECT_EQ(RunHolder::in(text).in_words(), "another run") << text;
  }
}

}  // namespace
}  // namespace loupe::test
