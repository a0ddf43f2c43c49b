// `loupe describe` is right about the built-in components: examples are valid configurations, and a lens shows the tags
// that its description names.

#include <gtest/gtest.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "built_in.h"
#include "core/log.h"
#include "loupe/register_plugin.h"
#include "paths.h"
#include "pipeline/monitor.h"
#include "services.h"

namespace loupe {
namespace {

/// The reported tags; true if a tag has a description, its healthy look and advice.
std::map<std::string, bool>& tags() {
  static std::map<std::string, bool> tags;
  return tags;
}

class TagCollector : public Visualizer {
 public:
  static constexpr const char* name = "tag_collector";
  static constexpr const char* help = "keeps what tags it is told of";
  static std::vector<Option> options() { return {}; }
  explicit TagCollector(const Options&) {}
  void tag(const Tag& tag) override {
    const auto is_told = [](const char* words) { return words != nullptr && *words != '\0'; };
    tags()[tag.id] = is_told(tag.description) && is_told(tag.healthy) && is_told(tag.advice);
  }
  void begin_tick(const Tick&) override {}
  void row(const Row&) override {}
};

LOUPE_STATIC_PLUGIN(tag_collector, "tag_collector", "1.0", TagCollector);

class Description : public testing::Test {
 protected:
  Description() {
    register_plugin(tag_collector);
    offer_services();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    set_log_sink([this](int, const std::string& message) { messages_.push_back(message); });
    tags().clear();
  }
  ~Description() override { set_log_sink({}); }

  std::unique_ptr<Monitor> monitor(const std::string& section, const std::string& item) const {
    const std::string other = section == "lenses" ? "visualizers: [tag_collector]\n" : "lenses: [loss_metrics]\n";
    return std::make_unique<Monitor>(Config::from_text("plugins: {path: " + BUILT_PLUGINS +
                                                           "}\nrun: {dir: " + folder_.string() + "}\n" + other +
                                                           section + ":\n  - " + item + "\n",
                                                       "a.yaml", folder_.string()));
  }
  static void add(Monitor& monitor, const std::string& name, const std::string& type, uint32_t family, uint32_t flags) {
    ModuleDescription description;
    description.name = description.path = name;
    description.type = type;
    description.full_type = "torch::nn::" + type + "Impl";
    description.family = family;
    description.flags = flags | LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
    constexpr uint32_t trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
    if (family == LOUPE_FAMILY_LINEAR) {
      description.parameters = {{"weight", trained, {2, 2}, 4}, {"bias", trained, {2}, 2}};
    }
    if (family == LOUPE_FAMILY_NORMALIZATION) {
      description.parameters = {{"running_mean", LOUPE_PARAMETER_BUFFER, {2}, 2}};
    }
    monitor.add_module(std::move(description));
  }
  /// Sends some events to every watched stream; the last value is NaN.
  static void train(Monitor& monitor) {
    for (float value : {0.F, 1.F, NAN}) {
      const float values[] = {value, 1, 0, 2};
      const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
      loupe_tensor tensor{};
      tensor.struct_size = sizeof tensor;
      tensor.dtype_code = LOUPE_DTYPE_FLOAT;
      tensor.dtype_bits = 32;
      tensor.dtype_lanes = 1;
      tensor.device_type = LOUPE_DEVICE_CPU;
      tensor.data = values;
      tensor.sizes = sizes;
      tensor.strides = strides;
      tensor.dim = 2;
      tensor.numel = 4;
      for (const auto& module : monitor.modules()) {
        for (Stream& stream : module->streams())
          stream.dispatch(&tensor, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED);
      }
      monitor.push("train_loss", value, LOUPE_EVENT_LOSS);
      monitor.push("accuracy", value, 0);
    }
  }

  /// Each test has a different folder, because the tests run side by side.
  const std::filesystem::path folder_ =
      std::filesystem::path(LOUPE_TEST_FOLDER) /
      (std::string("Description.") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::vector<std::string> messages_;
};

TEST_F(Description, ExistsForEveryBuiltInLensPreprocessorAndVisualizer) {
  for (const CatalogueEntry& entry : built_in().entries()) {
    const loupe_plugin& plugin = *entry.library->plugin;
    EXPECT_NE(plugin.description, nullptr) << plugin.name;
    EXPECT_STREQ(plugin.author, "the authors of Loupe") << plugin.name;
    EXPECT_STREQ(plugin.license, "MIT") << plugin.name;
    if (entry.kind == Kind::gatherer) continue;
    EXPECT_GT(entry.component->give_count, 0u) << entry.component->name;
    EXPECT_NE(entry.component->example, nullptr) << entry.component->name;
  }
}

TEST_F(Description, HasAnExampleThatIsAConfiguration) {
  for (const CatalogueEntry& entry : built_in().entries()) {
    if (entry.component->example == nullptr) continue;
    SCOPED_TRACE(entry.component->example);
    const bool shows = entry.kind == Kind::visualizer;
    const auto made = monitor(shows ? "visualizers" : "lenses", entry.component->example);
    const Config& config = made->config();
    EXPECT_EQ(shows ? config.visualizers.size() : config.lenses.size(), 1u);
    for (const auto& lens : made->lenses()) EXPECT_FALSE(lens->quarantined());
    // The example must contain the component's name.
    if (entry.component->name == std::string("explicit_call")) continue;  // only loss_metrics uses explicit_call
    EXPECT_NE(std::string(entry.component->example).find(entry.component->name), std::string::npos);
    EXPECT_EQ(messages_, std::vector<std::string>{});
  }
}

TEST_F(Description, NamesAndExplainsTheTagsThatALensShows) {
  for (const CatalogueEntry& entry : built_in().entries()) {
    if (entry.kind != Kind::lens) continue;
    SCOPED_TRACE(entry.component->name);
    // These lenses report findings, or write a file, and show no tags.
    if (entry.component->name == std::string("health") || entry.component->name == std::string("ranks") ||
        entry.component->name == std::string("fingerprint") || entry.component->name == std::string("incidents"))
      continue;
    // Use the defaults, which show all tags; these three need their example, as they show nothing or less by default.
    const std::string name = entry.component->name;
    const bool needs_example = name == "difference_monitor" || name == "pipeline" || name == "learning_rate";
    tags().clear();
    const auto made = monitor("lenses", needs_example ? entry.component->example : name);
    add(*made, "linear", "Linear", LOUPE_FAMILY_LINEAR, 0);
    add(*made, "relu", "ReLU", LOUPE_FAMILY_ACTIVATION, 0);
    add(*made, "norm", "BatchNorm2d", LOUPE_FAMILY_NORMALIZATION, 0);
    for (int i = 0; i < 2; ++i) {
      train(*made);
      made->tick(std::nullopt);
    }
    made->display().wait();
    const std::vector<std::string> given = given_names(*entry.component);
    EXPECT_FALSE(tags().empty());
    for (const auto& [tag, explained] : tags()) {
      EXPECT_TRUE(is_given(tag, given)) << tag;
      EXPECT_TRUE(explained) << tag << " lacks a description, its healthy look or advice";
    }
    for (const std::string& each : given) {
      if (each[0] == '{' || each == "Bias Condition Number") continue;  // shown only if a configuration asks for it
      if (each == "Layer Calls") continue;                              // shown only if a layer runs twice
      if (each == "Non-Finite Values" && needs_example) continue;
      EXPECT_EQ(tags().count(each), 1u) << each;
    }
  }
}

}  // namespace
}  // namespace loupe
