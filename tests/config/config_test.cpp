#include "config/config.h"

#include <gtest/gtest.h>
#include <loupe/options.h>

#include <cstdlib>
#include <filesystem>

#include "faults.h"
#include "stage.h"

namespace loupe {
namespace {

Config read(const std::string& yaml) {
  return Config::from_text(with_probe(yaml), "folder/digits.yaml", "/");
}
Options options_of(const ComponentConfig& component) {
  return Options(component.options->get());
}

TEST(Config, IsWholeWithoutASingleKey) {
  const Config config = read("");
  EXPECT_EQ(config.run_name, "digits");  // after the file
  EXPECT_EQ(config.run_directory, std::filesystem::current_path());
  EXPECT_FALSE(config.resume);
  EXPECT_EQ(config.depth, -1);
  EXPECT_EQ(config.separator, ".");
  EXPECT_EQ(config.active, 1);
  EXPECT_TRUE(config.redirect);
  EXPECT_FALSE(config.list_modules);
  EXPECT_EQ(config.train_loss, "train_loss");
  EXPECT_EQ(config.validation_loss, "val_loss");
  EXPECT_FALSE(config.stop_on_error);
  EXPECT_EQ(config.on_info + config.on_warning + config.on_finding_error, "telltelltell");
  EXPECT_TRUE(config.lenses.empty());
  EXPECT_TRUE(config.visualizers.empty());
}

TEST(Config, ReadsEveryKeyOfItsOwn) {
  const Config config = read(
      "loupe: 1\nrun: {name: a, dir: b/c, resume: yes}\non_error: stop\n"
      "on_finding: {warning: stop, error: throw}\n"
      "attach: {depth: 2, separator: '/', active: 5, taps: explicit, list_modules: true, train_loss: t, val_loss: "
      "v}\n");
  EXPECT_EQ(config.run_name, "a");
  EXPECT_EQ(config.run_directory, std::filesystem::current_path() / "b/c");
  EXPECT_TRUE(config.resume);
  EXPECT_EQ(config.depth, 2);
  EXPECT_EQ(config.separator, "/");
  EXPECT_EQ(config.active, 5);
  EXPECT_FALSE(config.redirect);
  EXPECT_TRUE(config.list_modules);
  EXPECT_EQ(config.train_loss, "t");
  EXPECT_EQ(config.validation_loss, "v");
  EXPECT_TRUE(config.stop_on_error);
  EXPECT_EQ(config.on_warning, "stop");
  EXPECT_EQ(config.on_finding_error, "throw");
}

TEST(Config, TakesTheEpochsOfALensOutOfWhatTheLensIsGiven) {
  const Config config = read(
      "lenses:\n  - probe_lens: {ratio: 0.25, active: 10, label: x}\n  - {probe: {}, as: other}\n"
      "  - {probe: {<<: {active: 4}, small: 2}, as: merged}\n");
  EXPECT_EQ(config.lenses[0].active, 10);
  const Options options = options_of(config.lenses[0]);
  EXPECT_FALSE(options.has("active"));
  EXPECT_EQ(options.get<double>("ratio"), 0.25);
  EXPECT_EQ(options.get<std::string>("label"), "x");
  EXPECT_EQ(options.get<Strings>("measures"), Strings{"sums"});
  EXPECT_EQ(config.lenses[1].active, 1);
  EXPECT_EQ(config.lenses[2].active, 4);
}

TEST(Config, OfARankThatDoesNotShowTheRunLooksAndKeepsARecordOfItsOwn) {
  Config config = read("run: {dir: /runs/x}\nlenses: [probe]\nvisualizers: [probe_visualizer]\n");
  config.join({2, 4});
  ASSERT_EQ(config.lenses.size(), 2u);
  EXPECT_EQ(config.lenses[1].name, "ranks") << "which compares them";
  EXPECT_TRUE(config.visualizers.empty());
  EXPECT_EQ(config.run_directory, "/runs/x/rank-2");
  config.join({2, 4});
  EXPECT_EQ(config.run_directory, "/runs/x/rank-2") << "it has joined";

  Config first = read("run: {dir: /runs/x}\nvisualizers: [probe_visualizer]\n");
  first.join({0, 4});
  EXPECT_EQ(first.visualizers.size(), 1u);
  EXPECT_EQ(first.run_directory, "/runs/x");
  EXPECT_EQ(first.launch.world_size, 4);

  Config alone = read("ranks: off\nrun: {dir: /runs/x}\nvisualizers: [probe_visualizer]\n");
  alone.join({2, 4});
  EXPECT_EQ(alone.visualizers.size(), 1u);
  EXPECT_EQ(alone.run_directory, "/runs/x");
  EXPECT_EQ(alone.launch.world_size, 1);
}

TEST(Config, NamesWhatTookThePlaceOfMasterRank) {
  EXPECT_EQ(faults_of("attach: {master_rank: 1}\n"),
            "a.yaml:1:23: error: attach.master_rank is gone: processes that a launcher started together are one run, "
            "which rank 0 shows; write 'ranks: off' at the top where each is to be a run of its own");
  EXPECT_SAYS(faults_of("ranks: of\n"), "ranks cannot be 'of'; did you mean 'off'?");
}

TEST(Config, MayLetEachRankKeepItsNumbersToItself) {
  EXPECT_FALSE(read("ranks: {store: none}\n").ranks.exchange);
  EXPECT_TRUE(read("ranks: {store: \"file:///a\"}\n").ranks.exchange);
  EXPECT_SAYS(
      faults_of("ranks: {store: nowhere}\n"),
      "ranks.store is file://FOLDER, a folder that all ranks reach, tcp://HOST:PORT, where rank 0 may listen, or "
      "none, not 'nowhere'");
}

TEST(Config, TakesAComponentByNameByAliasAndWithOptions) {
  const Config config = read("lenses:\n  - probe_lens\n  - probe: {ratio: 0.25, tables: wide}\n    as: mine\n");
  ASSERT_EQ(config.lenses.size(), 2u);
  EXPECT_EQ(config.lenses[0].name, "probe_lens");
  EXPECT_FALSE(config.lenses[0].renamed);
  EXPECT_EQ(options_of(config.lenses[0]).get<double>("ratio"), 0.5);
  EXPECT_EQ(config.lenses[1].name, "mine");
  EXPECT_TRUE(config.lenses[1].renamed);
  EXPECT_EQ(options_of(config.lenses[1]).get<double>("ratio"), 0.25);
  EXPECT_EQ(options_of(config.lenses[1]).get<Strings>("tables"), (Texts{"wide"}));
  EXPECT_EQ(config.lenses[1].line, 4);
  EXPECT_EQ(config.lenses[1].column, 5);
}

TEST(Config, TakesNullSectionsAsEmpty) {
  const Config config = read("run:\nattach:\nlenses:\nvisualizers:\n");
  EXPECT_EQ(config.depth, -1);
  EXPECT_TRUE(config.lenses.empty());
}

TEST(Config, PluginPathsStartAtTheFile) {
  const Folder folder;
  folder.add_plugin("sound", "here/sound");
  folder.add_plugin("newer_minor", "there/newer_minor");
  const std::string file = folder.write(
      "configs/a.yaml", "plugins: {path: [../here, ../there/newer_minor.so]}\nvisualizers: [sound, newer_minor]\n");
  EXPECT_EQ(Config::from_file(file).visualizers.size(), 2u);

  const std::string single = folder.write("configs/b.yaml", "plugins: {path: ../here}\nvisualizers: [sound]\n");
  EXPECT_EQ(Config::from_file(single).visualizers.size(), 1u);
}

TEST(Config, PathsStayWhereTheyWereWhenTheTrainerChangesItsWorkingDirectory) {
  const Folder folder;
  folder.add_plugin("sound", "here/sound");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  setenv("LOUPE_PLUGIN_PATH", "here", 1);
  const Config config = Config::from_text("run: {dir: runs/../a}\n", "a.yaml", folder.path());
  unsetenv("LOUPE_PLUGIN_PATH");
  std::filesystem::current_path(before);
  EXPECT_EQ(config.run_directory, folder.path("a"));
  EXPECT_NE(config.catalogue.find(Kind::visualizer, "sound"), nullptr);
}

TEST(Config, ATildeAtTheStartOfAPathIsTheHomeFolder) {
  const Folder folder;
  folder.add_plugin("sound", "mine/sound");
  const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  setenv("HOME", folder.path("").c_str(), 1);
  const Config config = Config::from_text("run: {dir: ~/runs/a}\nplugins: {path: [~/mine]}\nvisualizers: [sound]\n",
                                          "a.yaml", "/nowhere");
  EXPECT_EQ(config.run_directory, folder.path("runs/a"));
  EXPECT_EQ(read("run: {dir: a/~/b}\n").run_directory, std::filesystem::current_path() / "a/~/b");
  EXPECT_EQ(faults_of("run: {dir: ~bob/runs}\n"),
            "a.yaml:1:12: error: '~bob/runs' begins with another user's home folder, which is not looked up; write the "
            "whole path, or './~bob/runs' if that is its name");
  EXPECT_SAYS(faults_of("plugins: {path: ~bob}\n"), "a.yaml:1:17: error: '~bob' begins with another user's home");
  setenv("HOME", before.c_str(), 1);
}

TEST(Config, WhereNoPluginIsItSaysWhereItLooked) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("empty"));
  Catalogue catalogue;
  catalogue.add_path(folder.path("empty"));
  try {
    Config::visualizers_from_text("[x]", catalogue);
    ADD_FAILURE();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.what(), "<visualizers>:1:2: error: unknown visualizer 'x'; no plugin that brings a visualizer is in '" +
                            folder.path("empty") +
                            "'; name the right folder in plugins.path or LOUPE_PLUGIN_PATH, or install it");
  }
}

TEST(Config, PluginPathsMustBeThere) {
  EXPECT_SAYS(faults_of("plugins: {path: [nowhere]}\n", "/home"),
              "a.yaml:1:18: error: the plugin path '/home/nowhere' does not exist; correct it");
  for (const char* wrong : {"{path: {a: b}}", "{path: }", "{path: [[a]]}", "{path: ''}"}) {
    EXPECT_SAYS(faults_of(std::string("plugins: ") + wrong + "\n"),
                "error: plugins.path must be a folder or file, or a list of them")
        << wrong;
  }
  EXPECT_EQ(faults_of("plugins: nowhere\n"), "a.yaml:1:10: error: 'plugins' must be a map with a 'path'");
}

TEST(Config, AFaultyPluginThatTheFileNamesIsAFault) {
  EXPECT_SAYS(faults_of("plugins: {path: [" + test_plugin("newer_major") + "]}\n"),
              "a.yaml:1:18: error: the plugin '" + test_plugin("newer_major") + "' was built for ABI 2.3");
}

TEST(Config, AFaultyPluginInAFolderLeavesTheOthers) {
  const Folder folder;
  folder.add_plugin("newer_major");
  folder.add_plugin("sound");
  const Config config = Config::from_text("plugins: {path: .}\nvisualizers: [sound]\n", "a.yaml", folder.path());
  ASSERT_EQ(config.catalogue.problems().size(), 1u);
  EXPECT_SAYS(config.catalogue.problems()[0], folder.path("newer_major.so"));
}

TEST(Config, WhyAPluginIsMissingIsToldWithTheComponentThatIsUnknown) {
  const Stage stage;
  const Folder folder;
  folder.add_plugin("newer_major");
  EXPECT_SAYS(faults_of("plugins: {path: .}\nvisualizers: [newer_major]\n", folder.path()),
              "a.yaml:2:15: error: unknown visualizer 'newer_major'");
  EXPECT_SAYS(only(stage.take_messages()), "newer_major.so' was built for ABI 2.3");
}

TEST(Config, TheEnvironmentAddsPluginPaths) {
  const Folder folder;
  folder.add_plugin("sound", "one/sound");
  folder.add_plugin("newer_minor", "two/newer_minor");
  const std::string yaml = "visualizers: [sound, newer_minor]\n";
  EXPECT_SAYS(faults_of(yaml), "unknown visualizer 'sound'");
  setenv("LOUPE_PLUGIN_PATH", (folder.path("one") + "::" + folder.path("two/newer_minor.so")).c_str(), 1);
  EXPECT_EQ(faults_of(yaml), "");
  unsetenv("LOUPE_PLUGIN_PATH");
}

TEST(Config, WhatTheFileNamesGoesBeforeTheEnvironment) {
  const Folder folder;
  const std::string first = folder.add_plugin("sound", "first/sound");
  folder.add_plugin("same_name", "second/same_name");
  setenv("LOUPE_PLUGIN_PATH", folder.path("second").c_str(), 1);
  const Config config = Config::from_text("plugins: {path: first}\nvisualizers: [sound]\n", "a.yaml", folder.path());
  unsetenv("LOUPE_PLUGIN_PATH");
  EXPECT_EQ(config.visualizers[0].entry.library->file, first);
}

TEST(Config, ThePluginsOfThisBuildAreFoundByThemselves) {
  const Config config = Config::from_text("lenses: [loss_metrics]\n", "a.yaml", "/");
  EXPECT_EQ(config.lenses[0].entry.library->file, std::string(LOUPE_BUILT_PLUGINS) + "/loss_metrics.so");
}

}  // namespace
}  // namespace loupe
