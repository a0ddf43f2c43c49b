// Zero is the default: a plugin may leave everything zero, except for sizes and required members.

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/register_plugin.h>

#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "paths.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

std::vector<std::string> shown;

class ZeroedViewer : public Visualizer {
 public:
  static constexpr const char* name = "zeroed_viewer";
  static constexpr const char* help = "keeps what zeros are shown as";
  static std::vector<Option> options() { return {}; }
  explicit ZeroedViewer(const Options&) {}
  void tag(const Tag& tag) override {
    const bool is_plain =
        tag.type == LOUPE_SCALE_NUMERICAL && !is_big(tag) && !is_logarithmic(tag) && !is_annotated(tag);
    const bool has_bounds = y_minimum_of(tag) || y_maximum_of(tag);
    shown.push_back(std::string("tag ") + title_of(tag) + (is_plain ? " plain" : "") + (has_bounds ? " bounded" : ""));
  }
  void begin_tick(const Tick&) override {}
  void row(const Row& row) override {
    each_range(row, [](const RowRange& range) { shown.push_back(std::string("range of ") + layer_of(range)); });
  }
  void histogram(const Histogram& bins) override { shown.push_back(std::string("histogram of ") + layer_of(bins)); }
};
LOUPE_STATIC_PLUGIN(zeroed_viewer, "zeroed_viewer", "1", ZeroedViewer);

class Zeroed : public testing::Test {
 protected:
  Zeroed() {
    register_plugin(zeroed_viewer);
    shown.clear();
    set_log_sink([this](int, const std::string& message) { messages_.push_back(message); });
  }
  ~Zeroed() override { set_log_sink({}); }

  void run(const std::string& lens) {
    monitor_.emplace(Config::from_text(
        "plugins: {path: " + LOUPE_TEST_PLUGINS + "}\nvisualizers: [zeroed_viewer]\nlenses: [" + lens + "]\n", "a.yaml",
        "/"));
    ModuleDescription description;
    description.name = "conv";
    description.flags = LOUPE_MODULE_LEAF;
    const auto module = monitor_->add_module(description);
    if (Stream* stream = module->stream(LOUPE_TAP_FORWARD)) {
      stream->dispatch(nullptr, LOUPE_EVENT_TRAINING);
      stream->dispatch(nullptr, 0);  // an event in evaluation
    }
    monitor_->tick(std::nullopt);
    monitor_->display().wait();
  }
  std::optional<double> last(const std::string& line) { return monitor_->display().last("Zeroed", "", line); }

  std::vector<std::string> messages_;
  std::optional<Monitor> monitor_;
};

TEST_F(Zeroed, ComponentsAndTheirOptionsAreAccepted) {
  run("zeroed");
  EXPECT_EQ(last("number"), 0);
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

TEST_F(Zeroed, AnOptionHasNoBounds) {
  for (const double number : {-1e300, 1e300}) {
    run("zeroed: {number: " + std::to_string(number) + ", text: any, list: [one, more]}");
    EXPECT_EQ(last("number"), number);
  }
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

TEST_F(Zeroed, ARequestIsForEventsOfAllPassesWithoutAMeasurement) {
  run("zeroed");
  EXPECT_EQ(last("events"), 2);
  EXPECT_EQ(last("measured"), 0);
}

TEST_F(Zeroed, ATagIsAPlainPlotOfTheModelBoundedByItsData) {
  run("zeroed");
  EXPECT_EQ(shown, (std::vector<std::string>{"tag Zeroed plain", "range of Zeroed", "histogram of Zeroed"}));
  EXPECT_EQ(messages_, std::vector<std::string>{});
}

}  // namespace
}  // namespace loupe
