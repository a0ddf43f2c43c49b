#include <gtest/gtest.h>
#include <loupe/detail/option_table.h>
#include <loupe/detail/option_values.h>
#include <yaml-cpp/yaml.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "loader/kind.h"
#include "options/diagnostics.h"
#include "options/option_set.h"
#include "pipeline/lens_node.h"
#include "says.h"

namespace loupe {
namespace {

const detail::OptionStorage& declared() {
  static const detail::OptionStorage options({{"flag", true, "."},
                                              {"whole", 3, ".", 0, 9},
                                              {"number", 0.5, ".", 0.0},
                                              {"text", "word", ".", {"word", "other"}},
                                              {"list", Strings{"a", "b"}, "."},
                                              Option::map("extra", ".")});
  return options;
}
OptionTable table() {
  return {declared().pointers(), declared().size()};
}

std::unique_ptr<OptionSet> from_yaml(const std::string& yaml) {
  Diagnostics diagnostics("a.yaml");
  auto set = OptionSet::from_yaml(table(), YAML::Load(yaml), "it", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return set;
}
std::unique_ptr<OptionSet> from_values(const OptionValues& values) {
  return values.lend([](const loupe_options* options) { return OptionSet::from_values(table(), options, "it"); });
}
std::string refusal_of(const OptionValues& values) {
  try {
    from_values(values);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), LOUPE_INVALID);
    return e.what();
  }
}

TEST(OptionSet, FillsInTheDefaults) {
  for (const auto& set : {from_yaml(""), from_yaml("{}"), from_values({})}) {
    const Options options(set->get());
    EXPECT_EQ(options.size(), 6u);
    EXPECT_TRUE(options.get<bool>("flag"));
    EXPECT_EQ(options.get<int>("whole"), 3);
    EXPECT_EQ(options.get<double>("number"), 0.5);
    EXPECT_EQ(options.get<std::string>("text"), "word");
    EXPECT_EQ(options.get<Strings>("list"), (Strings{"a", "b"}));
    EXPECT_EQ(options.map("extra").size(), 0u);
  }
}

TEST(OptionSet, ReadsEveryType) {
  const auto set = from_yaml("{flag: no, whole: 7, number: 1e-3, text: other, list: [c]}");
  const Options options(set->get());
  EXPECT_FALSE(options.get<bool>("flag"));
  EXPECT_EQ(options.get<int>("whole"), 7);
  EXPECT_EQ(options.get<double>("whole"), 7.0);  // an integer option can be read as a floating-point number
  EXPECT_EQ(options.get<double>("number"), 1e-3);
  EXPECT_EQ(options.get<std::string>("text"), "other");
  EXPECT_EQ(options.get<Strings>("list"), (Strings{"c"}));
}

TEST(OptionSet, ReadsAListFromOneWordAndFromNothing) {
  const auto one = from_yaml("list: c");
  EXPECT_EQ(Options(one->get()).get<Strings>("list"), (Strings{"c"}));
  for (const char* nothing : {"list: none", "list: []", "list: ~"}) {
    const auto set = from_yaml(nothing);
    EXPECT_EQ(Options(set->get()).get<Strings>("list"), Strings{}) << nothing;
  }
}

TEST(OptionSet, ReadsAMapWithTypesGuessedFromItsValues) {
  const auto set = from_yaml("extra: {a: 3, b: 0.5, c: true, d: word, e: [x, 1], f: {g: 1}, h: '3'}");
  const Options extra = Options(set->get()).map("extra");
  const auto type = [&](const char* name) {
    for (std::size_t i = 0; i < extra.size(); ++i) {
      if (std::string(extra[i].name) == name) return extra[i].type;
    }
    return 0u;
  };
  EXPECT_EQ(type("a"), LOUPE_TYPE_INTEGER + 0u);
  EXPECT_EQ(type("b"), LOUPE_TYPE_NUMBER + 0u);
  EXPECT_EQ(type("c"), LOUPE_TYPE_BOOLEAN + 0u);
  EXPECT_EQ(type("d"), LOUPE_TYPE_STRING + 0u);
  EXPECT_EQ(type("e"), LOUPE_TYPE_STRINGS + 0u);
  EXPECT_EQ(type("f"), LOUPE_TYPE_MAP + 0u);
  EXPECT_EQ(type("h"), LOUPE_TYPE_STRING + 0u);  // a quoted value is a string
  EXPECT_EQ(extra.get<int>("a"), 3);
  EXPECT_EQ(extra.get<Strings>("e"), (Strings{"x", "1"}));
  EXPECT_EQ(extra.map("f").get<int>("g"), 1);
  EXPECT_EQ(extra.get<std::string>("h"), "3");
}

TEST(OptionSet, AcceptsValuesOfALens) {
  const auto set =
      from_values({{"flag", false}, {"whole", 7}, {"number", 0.1}, {"text", "other"}, {"list", Strings{"x, y", "z"}}});
  const Options options(set->get());
  EXPECT_FALSE(options.get<bool>("flag"));
  EXPECT_EQ(options.get<int>("whole"), 7);
  EXPECT_EQ(options.get<double>("number"), 0.1);
  EXPECT_EQ(options.get<std::string>("text"), "other");
  EXPECT_EQ(options.get<Strings>("list"), (Strings{"x, y", "z"}));
  const auto infinite = from_values({{"number", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(Options(infinite->get()).get<double>("number"), std::numeric_limits<double>::infinity());
}

TEST(OptionSet, RefusesWrongValuesOfALensWithoutAPlaceInAFile) {
  EXPECT_EQ(refusal_of({{"flags", true}}), "it has no option 'flags'; did you mean 'flag'?");
  EXPECT_EQ(refusal_of({{"flag", "often"}}), "it.flag must be true or false, not 'often'");
  EXPECT_EQ(refusal_of({{"whole", 10}}), "it.whole must be between 0 and 9, not 10");
  EXPECT_EQ(refusal_of({{"number", -1.0}}), "it.number must be at least 0, not -1");
  EXPECT_EQ(refusal_of({{"text", "wort"}}), "it.text cannot be 'wort'; did you mean 'word'?");
  EXPECT_EQ(refusal_of({{"whole", 10}, {"flag", 3.5}}),
            "it.flag must be true or false, not '3.5'; it.whole must be between 0 and 9, not 10");
}

TEST(OptionSet, HasTheSameKeyForTheSameValuesOnly) {
  EXPECT_EQ(from_yaml("whole: 3")->key(), from_yaml("")->key());
  EXPECT_EQ(from_yaml("number: 0.25")->key(), from_values({{"number", 0.25}})->key());
  const std::string key = from_yaml("")->key();
  for (const char* other : {"flag: false", "whole: 4", "number: 0.5000000000000001", "text: other", "list: [a]",
                            "list: ['a,b']", "list: [b, a]", "extra: {a: 1}"}) {
    EXPECT_NE(from_yaml(other)->key(), key) << other;
  }
  EXPECT_NE(from_yaml("list: ['a,1:b']")->key(), from_yaml("list: [a, b]")->key());
  EXPECT_NE(from_yaml("extra: {a: 1, b: {c: 2}}")->key(), from_yaml("extra: {a: 1, b: {}, c: 2}")->key());
}

TEST(Options, RefuseANumberThatTheAskedTypeCannotHold) {
  const auto set = from_yaml("extra: {large: 4294967297, negative: -1}");
  const Options extra = Options(set->get()).map("extra");
  EXPECT_EQ(extra.get<int64_t>("large"), 4294967297);
  EXPECT_THROW(extra.get<int>("large"), Error);
  EXPECT_THROW(extra.get<uint32_t>("negative"), Error);
  EXPECT_EQ(extra.get<int>("negative"), -1);
}

TEST(Options, NameAnOptionThatWasNotDeclared) {
  const auto set = from_yaml("");
  EXPECT_EQ(thrown_by<Error>([&] { Options(set->get()).get<int>("wholes"); }),
            "the option 'wholes' is read but was not declared; add it to options()");
}

/// A component that declares an option of each type.
class OptionCacheTest : public testing::Test {
 protected:
  OptionCacheTest()
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
  OptionCache known_;
};

TEST_F(OptionCacheTest, AreCheckedOnceForTheSameValues) {
  const OptionValues values = {{"flag", false}, {"number", 0.25}, {"text", "a"}, {"list", Strings{"b", "c"}}};
  const auto first = of(values);
  EXPECT_EQ(Options(first->get()).get<double>("number"), 0.25);
  EXPECT_EQ(of(values), first);
  EXPECT_EQ(of({{"flag", false}, {"number", 0.25}, {"text", "a"}, {"list", Strings{"b", "c"}}}), first);
  EXPECT_EQ(of({}), of({}));
}

TEST_F(OptionCacheTest, DifferForDifferentValues) {
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

TEST_F(OptionCacheTest, OfAnotherComponentDiffer) {
  const auto first = of({});
  const loupe_component twin = component_;
  const CatalogueEntry entry{Kind::preprocessor, &twin, nullptr};
  EXPECT_NE(known_.of(entry, nullptr, "it"), first);
}

TEST_F(OptionCacheTest, AreRefusedEachTime) {
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
