// Plugins that were built once, with the headers of 1.0, by several compilers, run in this host.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <loupe/testing.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "paths.h"

// LeakSanitizer asks for this. The frozen plugin copies one of its declarations, and never frees the first.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:whole_rust.so";
}

namespace loupe::testing {
namespace {

namespace fs = std::filesystem;

class FrozenPlugin : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool needs_libcxx = file().find("libcxx") != std::string::npos;
    if (needs_libcxx && ::dlopen("libc++.so.1", RTLD_LAZY) == nullptr) GTEST_SKIP() << "there is no libc++.so.1";
  }
  static std::string file() {
    const std::string name = GetParam();
    return (name.find("_newer") != std::string::npos ? LOUPE_NEWER_PLUGINS + "/" : LOUPE_FROZEN_PLUGINS + "/") + name;
  }

  /// Runs two ticks of two layers, the second of which has large outputs; then the run ends.
  /// @param check  called after each of the ticks
  template <class Check>
  static void run(const std::string& yaml, const Check& check) {
    Bench bench("on_error: stop\n" + yaml, {file()});
    const Module linear = bench.module("linear", "Linear");
    const Module relu = bench.module("relu", "ReLU");
    bench.optimizer("SGD", 0.1);
    for (const double scale : {1.0, 4.0}) {
      for (const double mean : {0.25, 0.75}) {
        bench.forward(linear, tensor({mean - 2, mean + 2}));
        bench.forward(relu, tensor({0, 2 * mean * scale}));
        bench.step();
      }
      bench.forward(linear, tensor({100, 100}), evaluation_pass);
      bench.tick();
      check(bench);
    }
    bench.end();
  }
  static std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
};

TEST_P(FrozenPlugin, OfEachKindGivesTheNumbersOfThen) {
  const std::string name = std::string(GetParam()).substr(0, std::string(GetParam()).find('_'));
  const fs::path lines =
      fs::temp_directory_path() / ("loupe_frozen_" + std::string(GetParam()) + std::to_string(::getpid()));
  run("lenses: [" + name + "_lens: {limit: 1.5}]\nvisualizers: [" + name + "_lines: {path: " + lines.string() + "}]\n",
      [&](Bench& bench) { EXPECT_FALSE(bench.is_quarantined(name + "_lens")); });
  EXPECT_EQ(text_of(lines), text_of(fs::path(LOUPE_FROZEN_PLUGINS).parent_path() / (name + "_lines.txt")));
  fs::remove(lines);
}

/// A plugin that uses everything in 1.0; see whole.c.
class FrozenWhole : public FrozenPlugin {
 protected:
  /// Runs three ticks with the same events of a module with a parameter and an attribute; then the module is forgotten.
  static void run_all(const std::string& yaml, const std::string& lens) {
    Bench bench("on_error: stop\n" + yaml, {file()});
    const std::uint32_t trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
    const Module watched =
        bench.module("watched", "Linear", {{"weight", {2, 2}, trained}, {"state", {2}, trained, true}});
    bench.set(watched, "weight", tensor({4, 0, 0, 2}, {2, 2}));
    bench.set(watched, "state", tensor({5, 6}));
    bench.optimizer("SGD", 0.1);
    for (int tick = 0; tick < 3; ++tick) {
      for (const double scale : {1.0, 2.0}) {
        bench.forward(watched, {tensor({1, 0.5}, {1, 2})},
                      {tensor({3 * scale, 4, 6, 8 * scale}, {2, 2}), tensor({0.5 * scale})});
        bench.output_gradient(watched, tensor({0.5 * scale, 1, 0, 2}, {2, 2}));
        bench.input_gradient(watched, tensor({scale, -1}, {1, 2}));
        bench.gradient(watched, "weight", tensor({1, 0, 0, scale}, {2, 2}));
        bench.set(watched, "weight", tensor({4 * scale, 0, 0, 2}, {2, 2}));
        bench.push_loss(scale);
        bench.push_metric("accuracy", 0.25);
        bench.step();
      }
      bench.forward(watched, tensor({1, 1}, {1, 2}), evaluation_pass);
      bench.gradient(watched, "weight", tensor({1, 2, 3, 4}, {2, 2}));  // no step uses this gradient
      if (tick == 2) bench.forget(watched);
      bench.tick();
      EXPECT_FALSE(bench.is_quarantined(lens));
    }
    bench.end();
  }
};

TEST_P(FrozenWhole, GivesTheNumbersOfThen) {
  const std::string file = GetParam(),
                    language = file.substr(6, file.find_first_of("_.", 6) - 6);  // from a name like whole_c_gcc.so
  const fs::path lines = fs::temp_directory_path() / ("loupe_frozen_" + file + std::to_string(::getpid()));
  run_all("lenses: [" + language +
              "_whole: {flag: true, count: 3, share: 0.25, word: maybe, names: [a, b], map: {two: 2}}]\n" +
              "visualizers: [" + language + "_text: {path: " + lines.string() + "}]\n",
          language + "_whole");
  EXPECT_EQ(text_of(lines), text_of(fs::path(LOUPE_FROZEN_PLUGINS).parent_path() / ("whole_" + language + ".txt")));
  fs::remove(lines);
}

class FrozenLens : public FrozenPlugin {};

TEST_P(FrozenLens, ReportsTheMeansOfItsVersion) {
  double mean_of_relu = 0.5;
  run("lenses: [rust_lens]\n", [&](Bench& bench) {
    EXPECT_DOUBLE_EQ(bench.value("Rust Means", "linear", "mean"), 0.5);
    EXPECT_DOUBLE_EQ(bench.value("Rust Means", "relu", "mean"), mean_of_relu);
    mean_of_relu = 2;
  });
}

std::string name_of(const ::testing::TestParamInfo<const char*>& plugin) {
  return std::string(plugin.param, std::string(plugin.param).find('.'));
}
INSTANTIATE_TEST_SUITE_P(Built, FrozenPlugin, ::testing::Values(LOUPE_FROZEN_PLUGIN_NAMES), name_of);
// The same sources, built with headers of a newer minor version: they fill and use fields that this host does not know.
INSTANTIATE_TEST_SUITE_P(OfANewerMinor, FrozenPlugin, ::testing::Values("c_newer.so", "cpp_newer.so"), name_of);
INSTANTIATE_TEST_SUITE_P(Built, FrozenWhole, ::testing::Values(LOUPE_FROZEN_WHOLE_NAMES), name_of);
INSTANTIATE_TEST_SUITE_P(Built, FrozenLens, ::testing::Values("rust.so"), name_of);

}  // namespace
}  // namespace loupe::testing
