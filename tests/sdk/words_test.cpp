#include <gtest/gtest.h>
#include <loupe/text/words.h>

namespace loupe::test {
namespace {

TEST(Words, AreReadBackAsTheirNumbers) {
  EXPECT_EQ(word_of(severity_words, LOUPE_SEVERITY_WARNING), "warning");
  for (const Word& each : ending_words) EXPECT_EQ(value_called(ending_words, each.word), each.value);
  EXPECT_EQ(value_called(ending_words, "warning"), std::nullopt);
}

TEST(Words, LeaveANewerVersionsNumberUnchanged) {
  EXPECT_EQ(word_of(note_words, 77), "77");
  EXPECT_EQ(value_called(note_words, "77"), 77u);
  for (const char* wrong : {"", "7x", "-7", "99999999999"}) EXPECT_EQ(value_called(note_words, wrong), std::nullopt);
}

}  // namespace
}  // namespace loupe::test
