#include "pipeline/lens_node.h"

#include <gtest/gtest.h>
#include <loupe/detail/option_table.h>
#include <loupe/detail/option_values.h>

#include <memory>
#include <string>
#include <vector>

#include "loader/kind.h"

namespace loupe {
namespace {

/// A component that declares one option of each type.
class KnownOptionsTest : public testing::Test {
 protected:
  KnownOptionsTest()
      : declared_({{"flag", true, "."}, {"number", 0.5, ".", 0.0}, {"text", "word", "."}, {"list", Strings{}, "."}}) {
    component_.options = declared_.pointers();
    component_.option_count = declared_.size();
  }
  std::shared_ptr<const OptionSet> of(const OptionValues& values) {
    return values.lend([&](const loupe_options* options) { return known_.of(entry_, options, "it"); });
  }

  const detail::OptionStorage declared_;
  loupe_component component_{};
  const CatalogueEntry entry_{Kind::preprocessor, &component_, nullptr};
  KnownOptions known_;
};

TEST_F(KnownOptionsTest, AreCheckedOnceForTheSameValues) {
  const OptionValues values = {{"flag", false}, {"number", 0.25}, {"text", "a"}, {"list", Strings{"b", "c"}}};
  const auto first = of(values);
  EXPECT_EQ(Options(first->get()).get<double>("number"), 0.25);
  EXPECT_EQ(of(values), first);
  EXPECT_EQ(of({{"flag", false}, {"number", 0.25}, {"text", "a"}, {"list", Strings{"b", "c"}}}), first);
  EXPECT_EQ(of({}), of({}));
}

TEST_F(KnownOptionsTest, AreOthersForOtherValues) {
  const std::vector<OptionValues> others = {{},
                                            {{"flag", false}},
                                            {{"flag", true}},
                                            {{"number", 0.25}},
                                            {{"number", 0.75}},
                                            {{"text", "ab"}},
                                            {{"text", "a"}},
                                            {{"list", Strings{"a", "b"}}},
                                            {{"list", Strings{"ab"}}},
                                            {{"list", Strings{"a", "bc"}}},
                                            {{"list", Strings{"ab", "c"}}},
                                            {{"list", Strings{"a"}}, {"text", "b"}}};
  std::vector<std::shared_ptr<const OptionSet>> sets;
  for (const OptionValues& each : others) {
    for (const auto& other : sets) EXPECT_NE(of(each), other);
    sets.push_back(of(each));
  }
}

TEST_F(KnownOptionsTest, OfAnotherComponentAreOthers) {
  const auto first = of({});
  const loupe_component twin = component_;
  const CatalogueEntry entry{Kind::preprocessor, &twin, nullptr};
  EXPECT_NE(known_.of(entry, nullptr, "it"), first);
}

TEST_F(KnownOptionsTest, AreRefusedEachTime) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(of({{"number", -1.0}}), Error);
    EXPECT_THROW(of({{"unknown", 1}}), Error);
  }
  loupe_option_value nameless{};
  nameless.struct_size = sizeof nameless;
  const loupe_option_value* const values[] = {&nameless, nullptr};
  for (std::size_t i = 0; i < 2; ++i) {
    const loupe_options options{sizeof(loupe_options), 0, values + i, 1};
    EXPECT_THROW(known_.of(entry_, &options, "it"), Error);
  }
}

}  // namespace
}  // namespace loupe
