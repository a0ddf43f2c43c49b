#include <loupe/detail/state.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loupe {
namespace {

std::string example() {
  StateWriter writer;
  writer.number(std::numeric_limits<std::uint64_t>::max());
  writer.real(-0.1);
  writer.text("größe");
  writer.reals({1e-300, INFINITY, -0.0});
  return writer.bytes();
}

void read_example(std::string_view bytes) {
  StateReader reader(bytes);
  reader.number();
  reader.real();
  reader.text();
  reader.reals();
  reader.finish();
}

TEST(State, ReadsWhatWasWritten) {
  const std::string bytes = example();
  StateReader reader(bytes);
  EXPECT_EQ(reader.number(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.real(), -0.1);
  EXPECT_EQ(reader.text(), "größe");
  const std::vector<double> reals = reader.reals();
  ASSERT_EQ(reals.size(), 3u);
  EXPECT_EQ(reals[0], 1e-300);
  EXPECT_EQ(reals[1], INFINITY);
  EXPECT_TRUE(std::signbit(reals[2]));
  EXPECT_NO_THROW(reader.finish());
}

TEST(State, HasTheSameBytesOnEveryMachine) {
  StateWriter writer;
  writer.number(0x0102);
  writer.real(1.0);
  writer.text("a");
  const char wanted[] =
      "\2\1\0\0\0\0\0\0"
      "\0\0\0\0\0\0\xf0\x3f"
      "\1\0\0\0\0\0\0\0"
      "a";
  EXPECT_EQ(writer.bytes(), std::string(wanted, sizeof wanted - 1));
}

TEST(State, KeepsTheBitsOfNaN) {
  StateWriter writer;
  writer.real(NAN);
  EXPECT_TRUE(std::isnan(StateReader(writer.bytes()).real()));
}

TEST(State, IsRefusedIfItIsCutAnywhere) {
  const std::string bytes = example();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_example(std::string_view(bytes).substr(0, size)), Error) << size;
  }
  EXPECT_NO_THROW(read_example(bytes));
}

TEST(State, IsRefusedIfItHasFurtherBytes) {
  EXPECT_THROW(read_example(example() + '\0'), Error);
}

TEST(State, AllocatesNoMemoryForASizeThatForeignBytesClaim) {
  StateWriter writer;
  writer.number(std::numeric_limits<std::uint64_t>::max() / 16);
  writer.real(1);
  EXPECT_THROW(StateReader(writer.bytes()).reals(), Error);
  EXPECT_THROW(StateReader(writer.bytes()).text(), Error);
  EXPECT_THROW(StateReader(writer.bytes()).count(), Error);
}

}  // namespace
}  // namespace loupe
