// `loupe list`, `loupe describe` and `loupe --version` print what is installed.

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "examples/process.h"
#include "paths.h"
#include "visualizers/driver.h"

namespace loupe::test {
namespace {

Finished loupe_command(const std::string& arguments) {
  return run(LOUPE_COMMAND + " " + arguments, fresh_folder());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Describe, GivesASchemaOfTheConfigurationThatEditorsRead) {
  const Finished described = loupe_command("describe config --schema --plugins " + PROBE_PLUGIN);
  EXPECT_EQ(described.exit_code, 0);
  const auto schema = nlohmann::json::parse(described.output);
  EXPECT_EQ(schema.at("$schema"), "http://json-schema.org/draft-07/schema#");
  const auto& sections = schema.at("properties");
  for (const char* key : {"loupe", "run", "attach", "plugins", "lenses", "visualizers", "on_error", "on_finding",
                          "run_program", "ranks", "trace"})
    EXPECT_TRUE(sections.contains(key)) << key;
  EXPECT_EQ(sections.size(), 11u);
  EXPECT_EQ(sections.at("attach").at("properties").at("depth").at("type"), "integer");
  const auto& lens = sections.at("lenses").at("items").at("anyOf").at(1).at("properties");
  EXPECT_TRUE(lens.contains("gradient_geometry")) << "an alias";
  const auto& options = lens.at("probe_lens").at("properties");
  EXPECT_EQ(options.at("small").at("default"), 1);
  EXPECT_EQ(options.at("passes").at("enum"), (nlohmann::json{"both", "training", "evaluation"}));
  EXPECT_EQ(options.at("active").at("minimum"), 1) << "every lens has this option";
  EXPECT_EQ(loupe_command("describe health --schema").exit_code, 2);
}

TEST(List, NamesEveryComponentByKindWithItsFileAndVersions) {
  const Finished listed = loupe_command("list --long --plugins " + PROBE_PLUGIN);
  EXPECT_EQ(listed.exit_code, 0);
  std::size_t at = 0;
  for (const char* expected : {"lenses\n", "  loss_metrics ", "  probe_lens ", "visualizers\n", "  probe_visualizer ",
                               "  record ", "preprocessors\n", "  probe_numbers ", "gatherers\n", "  probe_forward "}) {
    const std::size_t found = listed.output.find(expected, at);
    ASSERT_NE(found, std::string::npos) << expected << "is not in order in\n" << listed.output;
    at = found;
  }
  EXPECT_TRUE(std::regex_search(listed.output, std::regex("  probe_lens +reports what it is told to watch\n +" +
                                                          PROBE_PLUGIN + " \\(probe 1\\.2\\.3, ABI 1\\.0\\)\n")))
      << listed.output;
}

TEST(List, HasALinePerComponentByDefault) {
  EXPECT_FALSE(contains(loupe_command("list --plugins " + PROBE_PLUGIN).output, PROBE_PLUGIN));
}

TEST(List, FindsPluginsNamedInTheEnvironment) {
  const Finished listed = run("LOUPE_PLUGIN_PATH=" + PROBE_PLUGIN + " " + LOUPE_COMMAND + " list", fresh_folder());
  EXPECT_TRUE(contains(listed.output, "  probe_lens "));
  EXPECT_FALSE(contains(loupe_command("list").output, "  probe_lens "));
}

TEST(List, IgnoresTheEnvironmentInASetuidProgram) {
  const auto folder = fresh_folder();
  const auto copy = folder / "loupe";
  std::filesystem::copy_file(LOUPE_COMMAND, copy);
  struct ::statvfs mount {};
  const bool ignored = ::statvfs(copy.c_str(), &mount) != 0 || (mount.f_flag & ST_NOSUID) != 0;
  if (ignored || ::chown(copy.c_str(), ::geteuid(), 65534) != 0 || ::chmod(copy.c_str(), 02755) != 0)
    GTEST_SKIP() << "only root can make such a program, where the file system knows them";
  EXPECT_FALSE(contains(run("LOUPE_PLUGIN_PATH=" + PROBE_PLUGIN + " ./loupe list", folder).output, "  probe_lens "));
  ASSERT_EQ(::chmod(copy.c_str(), 0755), 0);
  EXPECT_TRUE(contains(run("LOUPE_PLUGIN_PATH=" + PROBE_PLUGIN + " ./loupe list", folder).output, "  probe_lens "));
}

TEST(List, FindsItsOwnPluginsWithAnyPathOfTheCommand) {
  const auto folder = fresh_folder();
  std::filesystem::create_symlink(LOUPE_COMMAND, folder / "linked");
  const std::string bin = std::filesystem::path(LOUPE_COMMAND).parent_path().string();
  for (const std::string& call : {"PATH=" + bin + ":$PATH loupe list", std::string("./linked list")}) {
    EXPECT_TRUE(contains(run(call, folder).output, "  loss_metrics ")) << call;
  }
}

TEST(List, WarnsOfPluginsThatCannotBeUsedAndListsTheOthers) {
  const Finished told = loupe_command("list --plugins " + NEWER_PLUGIN + " 2>&1 >/dev/null");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output,
            "loupe: warning: the plugin '" + NEWER_PLUGIN +
                "' was built for ABI 2.3, this host has 1.0; update Loupe, or rebuild the plugin against this "
                "Loupe's SDK\n");
  const Finished listed = loupe_command("list --plugins " + NEWER_PLUGIN + " 2>/dev/null");
  EXPECT_TRUE(contains(listed.output, "  loss_metrics "));
}

TEST(Describe, PrintsEachOptionWithItsTypeDefaultLimitsAndHelp) {
  const Finished described = loupe_command("describe probe_lens --plugins " + PROBE_PLUGIN);
  EXPECT_EQ(described.exit_code, 0);
  EXPECT_EQ(described.output.substr(0, 52), "lens probe_lens: reports what it is told to watch\nfr");
  EXPECT_TRUE(contains(described.output, "\nfrom " + PROBE_PLUGIN + "\n"));
  EXPECT_TRUE(contains(described.output,
                       "  ratio         number   default 0.5; at least 0; at most 1\n"
                       "                nothing but a bounded number\n"))
      << described.output;
  EXPECT_TRUE(contains(described.output, "  small         integer  default 1\n"));
  EXPECT_TRUE(
      contains(described.output, "  passes        text     default \"both\"; one of both, training, evaluation\n"));
  EXPECT_TRUE(contains(described.output, "  tables        list     default []; one of wide, narrow\n"));
  EXPECT_TRUE(contains(described.output, "  tensor        boolean  default false\n"));
  EXPECT_TRUE(contains(described.output, "  extra         map      default {}\n"));
}

TEST(Describe, PrintsTheOptionsOfEveryLens) {
  const std::string every =
      "as every lens\n  active  integer  default 1; at least 1; at most 1e+06\n          measure ";
  EXPECT_TRUE(contains(loupe_command("describe loss_metrics").output, every))
      << loupe_command("describe loss_metrics").output;
  EXPECT_FALSE(contains(loupe_command("describe csv").output, "as every lens"));
}

TEST(List, AtLengthPrintsEachPluginsDescription) {
  const Finished listed = loupe_command("list --long --plugins " + PROBE_PLUGIN);
  EXPECT_EQ(listed.exit_code, 0);
  const std::size_t plugins = listed.output.find("\nplugins\n");
  ASSERT_NE(plugins, std::string::npos);
  EXPECT_TRUE(std::regex_search(listed.output, std::regex("\n  loss_metrics [0-9.]+\n    [^\n]+/loss_metrics\\.so\n"
                                                          "    description: Losses and metrics\\.\n"
                                                          "    author: the authors of Loupe\n    license: MIT\n  ")))
      << listed.output;
  EXPECT_TRUE(contains(listed.output.substr(plugins), "\n  probe 1.2.3\n    " + PROBE_PLUGIN + "\n"));
  EXPECT_FALSE(contains(loupe_command("list").output, "\nplugins\n"));
}

TEST(List, TellsWhatARunLoaded) {
  const auto folder = fresh_folder();
  std::ofstream(folder / "record.jsonl") << "{}\n";
  const auto list = [&](const std::string& path) { return run(LOUPE_COMMAND + " list --loaded " + path, folder); };
  EXPECT_EQ(list("record.jsonl").output,
            "loupe: error: 'record.jsonl' does not list its plugins: '.loupe.loaded.json', which a run with run.dir "
            "writes at its first tick, is not there\n");
  std::ofstream(folder / ".loupe.loaded.json") << R"({"loupe_version": "1.2.3", "abi": "1.1", "plugins": [
      {"file": "/p/mine.so", "name": "mine", "version": "7", "abi": "1.0", "more": 1, "drafts": ["loupe.x/draft-1"],
       "components": [{"kind": "lens", "name": "a"}, {"kind": "visualizer", "name": "b"}]},
      {"file": "/p/other.so", "name": "other", "version": "8", "abi": "1.1", "drafts": [], "components": []}]})";
  const std::string expected =
      "loupe 1.2.3, ABI 1.1\nmine 7, ABI 1.0\n  /p/mine.so\n  lens a\n  visualizer b\n"
      "  draft loupe.x/draft-1, which may change or disappear\nother 8, ABI 1.1\n  /p/other.so\n";
  EXPECT_EQ(list("record.jsonl").output, expected);
  EXPECT_EQ(list(".").output, expected);
  std::ofstream(folder / ".loupe.loaded.json") << R"({"loupe_version": 1})";
  const Finished damaged = list(".");
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_EQ(damaged.output,
            "loupe: error: '.' does not list its plugins: '.loupe.loaded.json' beside its record is damaged\n");
}

TEST(Describe, PrintsOutputsAndAnExampleOfAComponent) {
  EXPECT_TRUE(contains(loupe_command("describe loss_metrics").output,
                       "\ntags, and their contents\n  Loss: the training and validation loss"));
  EXPECT_TRUE(contains(loupe_command("describe loss_metrics").output, "\nexample\n  lenses:\n    - loss_metrics: {"));
  EXPECT_TRUE(contains(loupe_command("describe parameter_condition").output,
                       "\nseries\n  condition: the largest singular value over the smallest\n"
                       "example\n  lenses:\n    - pipeline: {gather: tick, parameters: weight, preprocess: "
                       "parameter_condition}\n"));
  EXPECT_TRUE(contains(loupe_command("describe csv").output, "\nexample\n  visualizers:\n    - csv: {"));
  EXPECT_FALSE(contains(loupe_command("describe push").output, "example"));
}

TEST(Describe, PrintsDefaultsAndLimitsToTheLastDigit) {
  EXPECT_TRUE(contains(loupe_command("describe gradient_activation").output,
                       "  eps        number   default 1e-08; at least 0\n"));
  EXPECT_TRUE(contains(loupe_command("describe tensorboard").output, "default 1; at least 1e-06; at most 1e+12\n"));
}

TEST(Describe, KnowsAliases) {
  EXPECT_TRUE(contains(loupe_command("describe probe --plugins " + PROBE_PLUGIN).output, "lens probe_lens: "));
}

TEST(Describe, SaysThatAComponentHasNoOptions) {
  EXPECT_TRUE(contains(loupe_command("describe push").output, "\n  no options\n"));
}

TEST(Describe, PrintsTheKeysOfTheConfiguration) {
  const Finished described = loupe_command("describe config");
  EXPECT_EQ(described.exit_code, 0);
  EXPECT_TRUE(contains(described.output, "run\n"));
  EXPECT_TRUE(contains(described.output, "attach\n"));
  EXPECT_TRUE(contains(described.output, "  depth         integer  default -1; at least -1"));
}

TEST(Describe, SuggestsTheNearestNameForAnUnknownOne) {
  const Finished described = loupe_command("describe los_metrics");
  EXPECT_EQ(described.exit_code, 2);
  EXPECT_EQ(described.output, "loupe: error: there is no component 'los_metrics'; did you mean 'loss_metrics'?\n");
}

TEST(Version, PrintsTheVersionsOfLoupeItsAbiAndLibTorch) {
  const Finished told = loupe_command("--version");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_TRUE(std::regex_match(
      told.output, std::regex("loupe \\d+\\.\\d+\\.\\d+\nplugin ABI 1\\.0\nLibTorch \\d+\\.\\d+\\.\\d+.*\n")))
      << told.output;
}

TEST(List, HasOnlyComponentsOfTheGuideToConfigurations) {
  const std::string guide = read(CONFIGURATION_GUIDE);
  const Finished listed = run("LOUPE_PLUGIN_PATH= " + LOUPE_COMMAND + " list", fresh_folder());
  ASSERT_EQ(listed.exit_code, 0);
  std::string kind;
  int found = 0;
  for (const std::string& line : lines_of(listed.output)) {
    if (line.find(' ') == std::string::npos) kind = line;
    if (line.rfind("  ", 0) != 0 || line[2] == ' ' || (kind != "lenses" && kind != "visualizers")) continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_NE(guide.find('`' + name + '`'), std::string::npos) << name << " is not in configs/README.md";
    ++found;
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace loupe::test
