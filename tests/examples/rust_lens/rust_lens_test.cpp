// The lens in Rust in the real pipeline.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../../standing.h"
#include "core/log.h"
#include "paths.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

/// A monitor with the lens, and activation layers of three units that get batches of two samples.
class RustLens : public testing::Test {
 protected:
  RustLens() {
    set_log_sink([this](int, const std::string& message) { messages_.push_back(message); });
  }
  ~RustLens() override { set_log_sink({}); }

  void start(const std::string& lens, const std::string& visualizer = "") {
    monitor_.emplace(Config::from_text("plugins: {path: [" + RUST_LENS_PLUGINS + ", " + LOUPE_BUILD_PLUGINS +
                                           "]}\nvisualizers: [" + visualizer + "]\nlenses: [" + lens + "]\n",
                                       "a.yaml", "/"));
  }
  std::shared_ptr<ModuleNode> add(const std::string& name, uint32_t family = LOUPE_FAMILY_ACTIVATION) {
    ModuleDescription description;
    description.name = description.path = name;
    description.type = "ReLU";
    description.family = family;
    description.flags = LOUPE_MODULE_LEAF;
    return monitor_->add_module(std::move(description));
  }
  static void forward(ModuleNode& module, std::vector<float> values) {
    const int64_t sizes[] = {2, 3}, strides[] = {3, 1};
    loupe_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor.dtype_bits = 32;
    tensor.dtype_lanes = 1;
    tensor.device_type = LOUPE_DEVICE_CPU;
    tensor.data = values.data();
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim = 2;
    tensor.numel = 6;
    Stream* stream = module.stream(LOUPE_TAP_FORWARD);
    ASSERT_NE(stream, nullptr);
    stream->dispatch(&tensor, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED);
  }
  std::optional<double> units(const std::string& layer) {
    return monitor_->display().last("Dead Units", layer, "mean");
  }
  std::optional<double> layers() { return monitor_->display().last("Dead Layers", "", "share"); }

  std::vector<std::string> messages_;
  std::optional<Monitor> monitor_;
};

TEST_F(RustLens, ShowsTheShareOfDeadUnitsAndOfLayersWithManyOfThem) {
  start("dead_layers");
  const auto first = add("first"), second = add("second"), linear = add("linear", LOUPE_FAMILY_LINEAR);
  forward(*first, {0, 0, 1, 0, 0, 2});   // two of three units are silent
  forward(*second, {0, 1, 1, 0, 1, 1});  // one of three, then none
  forward(*second, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(linear->stream(LOUPE_TAP_FORWARD), nullptr);
  monitor_->tick(std::nullopt);
  EXPECT_DOUBLE_EQ(units("first").value(), 2. / 3);
  EXPECT_DOUBLE_EQ(units("second").value(), 1. / 6);
  EXPECT_EQ(layers(), 0.5);
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

TEST_F(RustLens, TakesItsThresholdFromTheConfiguration) {
  start("dead_layers: {threshold: 0.7}");
  const auto first = add("first");
  forward(*first, {0, 0, 1, 0, 0, 2});
  monitor_->tick(std::nullopt);
  EXPECT_EQ(layers(), 0);
  EXPECT_THROW(start("dead_layers: {threshold: 1.5}"), std::exception);
}

TEST_F(RustLens, SkipsALayerThatDidNotRunOrReturnedNaNs) {
  start("dead_layers");
  const auto first = add("first"), second = add("second"), idle = add("idle");
  forward(*first, {0, 0, 0, 0, 0, 0});
  forward(*second, {NAN, 0, 0, 0, 0, 0});
  monitor_->tick(std::nullopt);
  EXPECT_EQ(layers(), 1);
  EXPECT_EQ(units("second"), std::nullopt);
  EXPECT_EQ(units("idle"), std::nullopt);
}

TEST_F(RustLens, ForgetsAModuleThatIsDetached) {
  start("dead_layers");
  const auto first = add("first"), second = add("second");
  forward(*first, {0, 0, 0, 0, 0, 0});
  forward(*second, {1, 1, 1, 1, 1, 1});
  first->close();
  monitor_->tick(std::nullopt);
  EXPECT_EQ(layers(), 0.5);  // its last numbers are shown once more
  forward(*second, {1, 1, 1, 1, 1, 1});
  monitor_->tick(std::nullopt);
  EXPECT_EQ(layers(), 0);
  EXPECT_FALSE(monitor_->lenses()[0]->quarantined());
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

TEST_F(RustLens, ReadsTensorsOtherPreprocessorsPushesAndStepsAndTellsFindings) {
  start("row_sums: {rule: first_row_negative}");
  const auto first = add("first"), second = add("second"), gone = add("gone");
  forward(*first, {1, 2, 3, -1, -1, -1});
  forward(*first, {3, 2, 3, -1, -1, -3});
  forward(*second, {-1, -2, -3, 1, 1, 1});
  forward(*second, {1, NAN, 1, 1, 1, 1});
  monitor_->push("train_loss", 0.25, LOUPE_EVENT_LOSS);
  monitor_->note_step();
  monitor_->note_step();
  monitor_->tick(std::nullopt);
  const auto shown = [&](const char* layer, const char* line) {
    return monitor_->display().last("Row Sums", layer, line);
  };
  EXPECT_EQ(shown("first", "value"), 7);
  EXPECT_EQ(shown("first", "value NaN"), 0);
  EXPECT_EQ(shown("second", "value"), -6);
  EXPECT_EQ(shown("second", "value NaN"), 1);
  EXPECT_NEAR(shown("first", "norm").value(), (std::sqrt(14) + std::sqrt(3) + std::sqrt(22) + std::sqrt(11)) / 4, 1e-6);
  EXPECT_EQ(shown("gone", "value"), std::nullopt);
  EXPECT_EQ(monitor_->display().last("Pushed", "", "train_loss"), 0.25);
  EXPECT_EQ(monitor_->display().last("Pushed", "", "steps"), 2);
  const auto found = standing_of(monitor_->findings());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0]->rule, "first_row_negative");
  EXPECT_EQ(std::string(found[0]->message), "the first row of 'second' sums to -6");

  gone->close();
  forward(*second, {1, 2, 3, 1, 1, 1});
  monitor_->tick(std::nullopt);
  EXPECT_EQ(shown("second", "value"), 6);
  EXPECT_EQ(standing_of(monitor_->findings()).size(), 0u);
  EXPECT_FALSE(monitor_->lenses()[0]->quarantined());
}

TEST_F(RustLens, IsFedByAGathererAndAPreprocessorInRustAndShownByAVisualizer) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "loupe_rust_lines";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "lines.txt").string();
  start("mean_squares", "rust_lines: {path: " + file + "}");
  const auto first = add("first"), second = add("second");
  forward(*first, {1, 1, 1, 1, 1, 1});
  forward(*first, {9, 9, 9, 9, 9, 9});  // the gatherer skips every other output
  forward(*first, {3, 3, 3, 1, 1, 1});
  forward(*second, {NAN, 0, 0, 0, 0, 0});
  monitor_->tick(std::nullopt);
  EXPECT_EQ(monitor_->display().last("Mean Squares", "first", "mean_square"), 3);
  EXPECT_EQ(monitor_->display().last("Mean Squares", "second", "mean_square"), std::nullopt);
  monitor_.reset();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(text.str(), "epoch 1: Mean Squares, first, mean_square: 3\n");
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

TEST_F(RustLens, ThatPanicsIsPutAsideWithItsWords) {
  start("row_sums: {panics: true}");
  const auto first = add("first");
  EXPECT_TRUE(monitor_->lenses()[0]->quarantined());
  EXPECT_TRUE(std::any_of(messages_.begin(), messages_.end(), [](const std::string& message) {
    return message.find("it panicked: it was told to") != std::string::npos;
  }));
}

}  // namespace
}  // namespace loupe
