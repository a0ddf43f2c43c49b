// A lens that is built outside Loupe's tree, against an installed Loupe, as its author would build it.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "paths.h"
#include "process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Installs Loupe, and builds a copy of examples/custom_lens against it, once for all tests of this file.
class CustomLens : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(base());
    fs::create_directories(base());
    installing = run(LOUPE_CMAKE + " --install " + LOUPE_BUILD + " --prefix " + prefix().string(), base());
    fs::copy(LOUPE_CUSTOM_LENS, project());
    building = run(LOUPE_CMAKE + " -B build -DCMAKE_PREFIX_PATH=" + prefix().string() +
                       " " LOUPE_CUSTOM_LENS_ARGUMENTS " && " + LOUPE_CMAKE + " --build build",
                   project());
  }
  void SetUp() override {
    ASSERT_EQ(installing.exit_code, 0) << installing.output;
    ASSERT_EQ(building.exit_code, 0) << building.output;
  }

  static fs::path base() { return fs::path(LOUPE_TEST_FOLDER) / "CustomLens"; }
  static fs::path prefix() { return base() / "installed"; }
  static fs::path project() { return base() / "project"; }
  static Finished loupe(const std::string& arguments) {
    return run("LOUPE_PLUGIN_PATH=build " + (prefix() / "bin/loupe ").string() + arguments, project());
  }

  inline static Finished installing, building;
};

TEST_F(CustomLens, IsNoLongerThanSixtyLines) {
  std::ifstream source(project() / "output_range.cpp");
  int lines = 0;
  for (std::string line; std::getline(source, line);) ++lines;
  EXPECT_GT(lines, 0);
  EXPECT_LE(lines, 60);
}

TEST_F(CustomLens, IsListedByAnInstalledLoupeWithTheFileItCameFrom) {
  const Finished listed = loupe("list --long");
  EXPECT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_NE(listed.output.find("output_range"), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("build/output_range.so"), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("gradient_geometry"), std::string::npos) << listed.output;
}

TEST_F(CustomLens, DescribesItsOptions) {
  const Finished described = loupe("describe output_range");
  EXPECT_EQ(described.exit_code, 0) << described.output;
  EXPECT_NE(described.output.find("the types of module to look at"), std::string::npos) << described.output;
}

TEST_F(CustomLens, HasItsOptionsChecked) {
  EXPECT_EQ(loupe("validate monitor.yaml").exit_code, 0) << loupe("validate monitor.yaml").output;
  std::ofstream(project() / "wrong.yaml") << "loupe: 1\nlenses:\n  - output_range: {typo: [Linear]}\n";
  const Finished wrong = loupe("validate wrong.yaml");
  EXPECT_EQ(wrong.exit_code, 2) << wrong.output;
  EXPECT_NE(wrong.output.find("wrong.yaml:3:"), std::string::npos) << wrong.output;
}

TEST_F(CustomLens, WatchesATrainerThatKnowsNothingOfIt) {
  const fs::path folder = fresh_folder();
  const Finished finished =
      run(LOUPE_EXAMPLES + "/digits --epochs 1 --out . --config " + (project() / "monitor.yaml").string(), folder);
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  Recorded recorded = read_record(folder / "runs/custom_lens/record.jsonl");
  EXPECT_EQ(recorded.layers("Output Range"), (std::set<std::string>{"features.0", "features.3", "hidden", "output"}));
  const auto lines = recorded.values["Output Range"]["hidden"];
  EXPECT_GT(lines.at("mean").at(1), 0);
  EXPECT_GE(lines.at("max").at(1), lines.at("mean").at(1));
}

}  // namespace
}  // namespace loupe::test
