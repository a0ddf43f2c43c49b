#include "core/text.h"

#include <gtest/gtest.h>

namespace loupe::test {
namespace {

TEST(Utf8, ReplacesBytesThatAreNone) {
  EXPECT_EQ(utf8("caf\xe9"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(utf8("\xe9t\xe9"), "\xEF\xBF\xBDt\xEF\xBF\xBD");
  EXPECT_EQ(utf8("σ"), "σ");
}

TEST(Printable, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f\r"), "?[31mred???");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m")
      << "the control sequence introducer in one character";
  EXPECT_EQ(printable("two\nlines\tand σ \xC2\xA0"), "two\nlines\tand σ \xC2\xA0");
  EXPECT_EQ(printable("\xe9"), "\xEF\xBF\xBD");
  EXPECT_EQ(printable_line("two\nlines\tand σ"), "two?lines?and σ");
}

}  // namespace
}  // namespace loupe::test
