#include <gtest/gtest.h>
#include <loupe/abi.h>

#include <cstddef>

namespace {

template <class Member>
uint32_t up_to(std::size_t offset) {
  return static_cast<uint32_t>(offset + sizeof(Member));
}

}  // namespace

TEST(Reaches, IsTrueForAMemberThatTheSizeCovers) {
  loupe_tag tag{};
  tag.struct_size = sizeof tag;
  EXPECT_TRUE(LOUPE_REACHES(tag, type));
  EXPECT_TRUE(LOUPE_REACHES(tag, y_maximum));
  tag.struct_size = up_to<double>(offsetof(loupe_tag, y_minimum));
  EXPECT_TRUE(LOUPE_REACHES(tag, y_minimum));
  EXPECT_FALSE(LOUPE_REACHES(tag, y_maximum));
}

TEST(Reaches, IsFalseForAMemberThatTheSizeCoversInPart) {
  loupe_tensor tensor{};
  tensor.struct_size = static_cast<uint32_t>(offsetof(loupe_tensor, native_library));
  EXPECT_FALSE(LOUPE_REACHES(tensor, native_library));
  EXPECT_TRUE(LOUPE_REACHES(tensor, native));
  --tensor.struct_size;
  EXPECT_FALSE(LOUPE_REACHES(tensor, native));
  tensor.struct_size = sizeof tensor - 1;
  EXPECT_FALSE(LOUPE_REACHES(tensor, native_library));
}

TEST(Reaches, IgnoresWhetherTheMemberIsNull) {
  loupe_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  EXPECT_TRUE(LOUPE_REACHES(tensor, native));
  EXPECT_FALSE(LOUPE_OFFERS(tensor, native));
}

TEST(Offers, NeedsAPointerWithinTheSize) {
  loupe_host host{};
  host.log = [](void*, int32_t, const char*) {};
  host.struct_size = static_cast<uint32_t>(offsetof(loupe_host, log));
  EXPECT_FALSE(LOUPE_OFFERS(host, log));
  host.struct_size = up_to<void*>(offsetof(loupe_host, log));
  EXPECT_TRUE(LOUPE_OFFERS(host, log));
  host.log = nullptr;
  EXPECT_FALSE(LOUPE_OFFERS(host, log));
}

TEST(Offers, WorksThroughAPointer) {
  loupe_visualizer table{};
  table.struct_size = sizeof table;
  table.flush = [](void*, loupe_error*) -> loupe_status { return LOUPE_OK; };
  const loupe_visualizer* visualizer = &table;
  EXPECT_TRUE(LOUPE_OFFERS(*visualizer, flush));
  EXPECT_FALSE(LOUPE_OFFERS(*visualizer, end));
}
