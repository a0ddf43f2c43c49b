#include <gtest/gtest.h>
#include <loupe/detail/keyed_list.h>

#include <string>

namespace loupe::detail {
namespace {

TEST(KeyedList, FindsItemsByTheirKeysAtAnySizeAndKeepsTheirOrder) {
  for (const int count : {0, 1, 8, 9, 16, 17, 33, 1000}) {
    KeyedList<int> list;
    for (int i = 0; i < count; ++i) list["key " + std::to_string(i * 7919 % 10007)] = i;
    for (int i = 0; i < count; ++i) {
      const std::string key = "key " + std::to_string(i * 7919 % 10007);
      ASSERT_NE(list.find(key), nullptr) << key;
      EXPECT_EQ(*list.find(key), i);
      EXPECT_EQ(list.at(static_cast<std::size_t>(i)), i);
      list[key] = i;
    }
    EXPECT_EQ(list.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(list.find("none"), nullptr);
    list.clear();
    EXPECT_EQ(list.find("key 0"), nullptr);
    list["again"] = 1;
    EXPECT_EQ(*list.find("again"), 1);
  }
}

}  // namespace
}  // namespace loupe::detail
