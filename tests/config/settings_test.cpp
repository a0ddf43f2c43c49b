// The settings of a configuration by name, in which runs are compared.

#include "config/settings.h"

#include <gtest/gtest.h>

namespace loupe {
namespace {

using Texts = std::map<std::string, std::string>;

TEST(ConfigSettings, GoByDottedNamesWhateverTheLayout) {
  EXPECT_EQ(setting_texts("loupe: 1\nrun: {name: a, tick: {steps: 500}}\n"
                          "lenses:\n  - health\n  - gradient_geometry: {range: [std, min-max], line: mean}\n"
                          "  - loss_metrics:\nvisualizers: [html, {csv: {every: 2}}]\nexclude: []\n"),
            (Texts{{"exclude", ""},
                   {"lenses.gradient_geometry.line", "mean"},
                   {"lenses.gradient_geometry.range", "std, min-max"},
                   {"lenses.health", "true"},
                   {"lenses.loss_metrics", "true"},
                   {"loupe", "1"},
                   {"run.name", "a"},
                   {"run.tick.steps", "500"},
                   {"visualizers.csv.every", "2"},
                   {"visualizers.html", "true"}}));
}

TEST(ConfigSettings, HaveTypesAndTheOrderOfTheirNames) {
  settings_of("b: [x, y]\na: 1\nlenses: [c]\n").lend([](const loupe_options* settings) {
    ASSERT_EQ(settings->value_count, 3U);
    EXPECT_STREQ(settings->values[0]->name, "a");
    EXPECT_EQ(settings->values[0]->type, LOUPE_TYPE_STRING);
    EXPECT_STREQ(settings->values[0]->string, "1");
    EXPECT_EQ(settings->values[1]->type, LOUPE_TYPE_STRINGS);
    ASSERT_EQ(settings->values[1]->string_count, 2U);
    EXPECT_STREQ(settings->values[1]->strings[1], "y");
    EXPECT_STREQ(settings->values[2]->name, "lenses.c");
    EXPECT_EQ(settings->values[2]->type, LOUPE_TYPE_BOOLEAN);
    EXPECT_EQ(settings->values[2]->integer, 1);
  });
}

TEST(ConfigSettings, AreNoneOfWhatIsNoConfiguration) {
  for (const char* text : {"", "{a: [", "- a\n- b\n", "text", "\xff\xfe", "{}"}) {
    EXPECT_EQ(setting_texts(text), Texts()) << text;
  }
}

TEST(ConfigSettings, EndWithThoseOfEndlessAliasesAndLongNames) {
  std::string aliases = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), own = "a" + std::to_string(i);
    aliases += own + ": &" + own + " {p: " + before + ", q: " + before + "}\n";
  }
  EXPECT_LE(setting_texts(aliases).size(), 2000U);
  const std::string name(600, 'n');
  EXPECT_EQ(setting_texts("other: 1\n" + name + ": {short: 2, " + name + ": {too: 3}}\n"),
            (Texts{{name + ".short", "2"}, {"other", "1"}}));
}

}  // namespace
}  // namespace loupe
