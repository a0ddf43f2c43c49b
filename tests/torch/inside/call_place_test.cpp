#include "torch/taps/call_place.h"

#include <gtest/gtest.h>

#include <set>

namespace loupe::test {
namespace {

CallPlaces places;
std::vector<CodeRange> code;
const CallPlace* found = nullptr;
std::uintptr_t layers_caller = 0;

// No call is the last of its function, or it would become a jump. The callers of layer() differ, or they would merge.
__attribute__((noinline)) void tap() {
  found = &places.find(LOUPE_CALL_SITE, code);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void layer() {
  layers_caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  tap();
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void model() {
  layer();
  asm volatile("# model" ::: "memory");
}
__attribute__((noinline)) void program() {
  layer();
  asm volatile("# program" ::: "memory");
}

TEST(CallPlaces, TellAModelsCallsFromThoseThatHaveTheSamePlaceOnTheStack) {
  model();
  code = {{layers_caller - 1, layers_caller, true, nullptr}};
  places.forget();
  for (int i = 0; i < 3; ++i) {
    model();
    EXPECT_TRUE(found->in_model && found->in_root) << i;
    const std::uint64_t path = found->path;
    model();
    EXPECT_TRUE(found->in_model && found->in_root) << i;
    EXPECT_EQ(found->path, path) << i;
    program();
    EXPECT_FALSE(found->in_model || found->in_root) << i;
  }
}

TEST(CallPlaces, RememberSeveralCallersAtTheSamePlaceOnTheStack) {
  code.clear();
  places.forget();
  std::set<const CallPlace*> all;
  for (int i = 0; i < 3; ++i) {
    model();
    all.insert(found);
    program();
    all.insert(found);
  }
  EXPECT_EQ(all.size(), 2U);
}

}  // namespace
}  // namespace loupe::test
