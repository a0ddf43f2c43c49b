// Copies of borrowed data stay valid after the original was destroyed.

#include <gtest/gtest.h>
#include <loupe/detail/option_values.h>
#include <loupe/detail/owned.h>
#include <loupe/detail/parameter_group.h>

#include <optional>
#include <string>

namespace loupe {
namespace {

TEST(Owned, ACopiedTickHasTheSettingsOfItsOptimizers) {
  std::optional<detail::Owned<loupe_tick>> copy;
  {
    OptionValues settings{{std::string("momentum").c_str(), 0.75}, {"nesterov", true}};
    settings.lend([&](const loupe_options* lent) {
      const loupe_parameter_group group{.struct_size = sizeof(loupe_parameter_group),
                                        .flags = LOUPE_GROUP_HAS_LEARNING_RATE,
                                        .learning_rate = 0.5,
                                        .settings = lent};
      const loupe_parameter_group* const groups[] = {&group};
      const loupe_optimizer optimizer{
          .struct_size = sizeof(loupe_optimizer), .model_name = "", .type = "SGD", .groups = groups, .group_count = 1};
      const loupe_optimizer* const optimizers[] = {&optimizer};
      copy.emplace(loupe_tick{.struct_size = sizeof(loupe_tick),
                              .at = {.step = 7, .epoch = 2},
                              .optimizers = optimizers,
                              .optimizer_count = 1});
    });
  }
  EXPECT_EQ(copy->get().at.step, 7U);
  const loupe_parameter_group& group = *copy->get().optimizers[0]->groups[0];
  EXPECT_EQ(learning_rate_of(group), 0.5);
  EXPECT_EQ(weight_decay_of(group), std::nullopt) << "no setting is different from 0";
  EXPECT_EQ(momentum_of(group), 0.75);
  EXPECT_EQ(setting_of(group, "nesterov"), 1);
  EXPECT_EQ(setting_of(group, "eps"), std::nullopt);
}

TEST(Owned, ACopiedRunHasItsSettingsAndLenses) {
  std::optional<detail::Owned<loupe_run>> copy;
  {
    const std::string lens = "health";
    const char* const lenses[] = {lens.c_str()};
    OptionValues{{"exclude", Strings{"a", "b"}}, {"loupe", "1"}}.lend([&](const loupe_options* settings) {
      copy.emplace(loupe_run{
          .struct_size = sizeof(loupe_run), .name = "r", .settings = settings, .lenses = lenses, .lens_count = 1});
    });
  }
  const loupe_run& run = copy->get();
  ASSERT_EQ(run.lens_count, 1U);
  EXPECT_STREQ(run.lenses[0], "health");
  ASSERT_EQ(run.settings->value_count, 2U);
  ASSERT_EQ(run.settings->values[0]->string_count, 2U);
  EXPECT_STREQ(run.settings->values[0]->strings[1], "b");
  EXPECT_STREQ(run.settings->values[1]->string, "1");
}

TEST(Owned, ACopiedOptionHasItsMap) {
  std::optional<detail::Owned<loupe_option_value>> copy;
  OptionValues{{"range", "all"}}.lend([&](const loupe_options* map) {
    copy.emplace(loupe_option_value{
        .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_MAP, .name = "output_norm", .map = map});
  });
  ASSERT_NE(copy->get().map, nullptr);
  ASSERT_EQ(copy->get().map->value_count, 1U);
  EXPECT_STREQ(copy->get().map->values[0]->name, "range");
  EXPECT_STREQ(copy->get().map->values[0]->string, "all");
}

}  // namespace
}  // namespace loupe
