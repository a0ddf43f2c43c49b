#include <gtest/gtest.h>

#include "core/log.h"
#include "paths.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

using Texts = std::vector<std::string>;

/// A monitor with one leaf that ran once, whose plugins have structs of different sizes than the host's.
class Sizes : public testing::Test {
 protected:
  Sizes() {
    set_log_sink([this](int, const std::string& message) { messages_.push_back(message); });
  }
  ~Sizes() override { set_log_sink({}); }

  void run(const std::string& yaml) {
    monitor_.emplace(Config::from_text(
        "plugins: {path: " + LOUPE_TEST_PLUGINS + "}\nvisualizers: [size_viewer]\n" + yaml, "a.yaml", "/"));
    ModuleDescription description;
    description.name = "conv";
    description.flags = LOUPE_MODULE_LEAF;
    const auto module = monitor_->add_module(description);
    if (Stream* stream = module->stream(LOUPE_TAP_FORWARD)) stream->dispatch(nullptr, LOUPE_EVENT_TRAINING);
    monitor_->tick(std::nullopt);
    module->close();
    monitor_->tick(std::nullopt);
  }

  Texts messages_;
  std::optional<Monitor> monitor_;
};

TEST_F(Sizes, AnOlderShorterLensWithoutTheOptionalFunctionsWorks) {
  run("lenses: [narrow]\n");
  EXPECT_EQ(monitor_->display().last("Narrow", "Narrow", "epoch"), 2);
  EXPECT_EQ(monitor_->query("anything"), std::nullopt);
  EXPECT_EQ(monitor_->config().catalogue.find(Kind::lens, "read_beyond"), nullptr);
  EXPECT_EQ(messages_, Texts{});
}

TEST_F(Sizes, ANewerLargerLensAndGathererWork) {
  run("lenses: [wide: {size: 4}]\n");
  EXPECT_EQ(monitor_->display().last("Wide", "Wide", "event size"), sizeof(loupe_event));
  EXPECT_FALSE(monitor_->lenses()[0]->quarantined());
}

TEST_F(Sizes, PassesOnStructsNoLargerThanTheHostsOwn) {
  run("lenses: [wide]\n");
  for (const std::string& message : messages_) EXPECT_EQ(message.find("size_viewer"), std::string::npos) << message;
}

TEST_F(Sizes, APreprocessorThatKeepsNoValuesAndNoQuantilesSaysSo) {
  run("lenses: [own_whole]\n");
  EXPECT_EQ(monitor_->display().last("Own", "Own", "status of values"), LOUPE_UNSUPPORTED);
  EXPECT_EQ(monitor_->display().last("Own", "Own", "status of quantiles"), LOUPE_UNSUPPORTED);
  EXPECT_EQ(messages_, Texts{});
}

TEST_F(Sizes, APreprocessorOfALensIsRefusedWhenItsTableIsTooShort) {
  run("lenses: [own_short]\n");
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_NE(messages_[0].find("failed at the visit of 'conv': a watch has a preprocessor without the function 'reset'"),
            std::string::npos)
      << messages_[0];
}

}  // namespace
}  // namespace loupe
