// A command line that is not taken is told with what is wrong with it and what to do.

#include <gtest/gtest.h>

#include "examples/process.h"

namespace loupe::test {
namespace {

std::string refused(const std::string& arguments) {
  const Finished finished = run(std::string(LOUPE_COMMAND) + " " + arguments, fresh_folder());
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  return finished.output;
}

TEST(CommandLine, NamesACommandThatThereIsNotWithTheNearest) {
  EXPECT_EQ(
      refused("diagnos"),
      "loupe: error: there is no command 'diagnos'; did you mean 'diagnose'?; run 'loupe --help' for what there is\n");
  const std::string far = refused("frobnicate record.jsonl");
  EXPECT_EQ(far.rfind("loupe: error: there is no command 'frobnicate'; known are: list, ", 0), 0u) << far;
}

TEST(CommandLine, WithoutACommandSaysWhereTheyAreListed) {
  const std::string expected = "loupe: error: no command is given; run 'loupe --help' for what there is\n";
  EXPECT_EQ(refused(""), expected);
  EXPECT_EQ(refused("--frobnicate"), expected);
}

TEST(CommandLine, ThatLacksSomethingOrHasTooMuchNamesItsCommandsHelp) {
  EXPECT_EQ(refused("diagnose"), "loupe: error: records is required; run 'loupe diagnose --help' for what it takes\n");
  EXPECT_EQ(refused("list --frobnicate"),
            "loupe: error: the following argument was not expected: --frobnicate; run 'loupe list --help' for what it "
            "takes\n");
}

}  // namespace
}  // namespace loupe::test
