// Plugins that are built differently than the host, or with other versions of its libraries: neither uses the other's
// libraries. yaml-cpp is among the libraries of this program, as in a trainer that links Loupe.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <string>
#include <vector>

#include "paths.h"

namespace loupe::testing {
namespace {

std::string plugin(const std::string& name) {
  return std::string(LOUPE_FOREIGN_PLUGINS + "/") + name + ".so";
}
std::string name_of(const ::testing::TestParamInfo<const char*>& plugin) {
  return plugin.param;
}
/// A bench with one module, after a tick.
Bench bench_with(const std::vector<std::string>& lenses) {
  std::string yaml = "on_error: stop\nlenses:\n";
  std::vector<std::string> files;
  for (const std::string& each : lenses) {
    yaml += "  - " + each + ": {fails: false}\n";
    files.push_back(plugin(each));
  }
  Bench bench(yaml, files);
  bench.module("first", "Linear");
  bench.tick();
  return bench;
}

class ForeignPlugin : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignPlugin, UsesItsOwnLibrariesWhileTheHostUsesOthers) {
  ASSERT_NE(::dlsym(RTLD_DEFAULT, "_ZN4YAML4LoadERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"), nullptr)
      << "all plugins see yaml-cpp's function with this name";
  for (int run = 0; run < 2; ++run) {  // the second run comes after the plugin was loaded and used
    const Bench bench = bench_with({GetParam()});
    const auto shown = [&](const char* line) { return bench.value(GetParam(), "first", line); };
    EXPECT_EQ(shown("yaml"), 9);
    EXPECT_EQ(shown("json"), 200);
    EXPECT_EQ(shown("symbol"), 1);
    EXPECT_EQ(shown("variable"), run + 1);
    EXPECT_EQ(shown("caught"), 17);
    EXPECT_EQ(shown("read"), 2.5);
  }
}

TEST_P(ForeignPlugin, FailsWithItsOwnMessage) {
  try {
    const Bench bench("lenses: [" + std::string(GetParam()) + ": {fails: true}]\n", {plugin(GetParam())});
    ADD_FAILURE() << "the lens was created";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("another library has 4"), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Built, ForeignPlugin, ::testing::Values(LOUPE_FOREIGN_PLUGIN_NAMES), name_of);

TEST(ForeignPlugins, ThatDefineTheSameSymbolEachUseTheirOwn) {
  for (int run = 1; run <= 2; ++run) {
    const Bench bench = bench_with({"twin_one", "twin_two"});
    EXPECT_EQ(bench.value("twin_one", "first", "symbol"), 1);
    EXPECT_EQ(bench.value("twin_two", "first", "symbol"), 2);
    EXPECT_EQ(bench.value("twin_one", "first", "variable"), run);
    EXPECT_EQ(bench.value("twin_two", "first", "variable"), run * 2);
  }
}

TEST(ForeignPlugins, ThatExportTheSameFunctionEachCallTheirOwn) {
  const Bench bench = bench_with({"exporting_one", "exporting_two"});
  EXPECT_EQ(bench.value("exporting_one", "first", "symbol"), 1);
  EXPECT_EQ(bench.value("exporting_two", "first", "symbol"), 2);
}

TEST(ForeignPlugins, NeedNeitherExceptionsNorRtti) {
  Bench bench("on_error: stop\nlenses: [bare]\n", {plugin("bare")});
  bench.tick();
  EXPECT_EQ(bench.value("Bare", "", "answer"), 42);
}

}  // namespace
}  // namespace loupe::testing
