// Configurations, the environment variables of launchers, and settings by name.

#include <gtest/gtest.h>
#include <loupe/options.h>
#include <loupe/text/words.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include "config/config.h"
#include "config/launch.h"
#include "config/settings.h"
#include "faults.h"
#include "paths.h"
#include "stage.h"

namespace loupe {
namespace {

Config read(const std::string& yaml) {
  return Config::from_text(with_probe(yaml), "folder/digits.yaml", "/");
}
Options options_of(const ComponentConfig& component) {
  return Options(component.options->get());
}

TEST(Config, IsCompleteWithoutAnyKey) {
  const Config config = read("");
  EXPECT_EQ(config.run_name, "digits");  // the name of the file
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

TEST(Config, ReadsAllItsKeys) {
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

TEST(Config, SeparatesTheEpochsOfALensFromItsOptions) {
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
  EXPECT_EQ(config.lenses[1].name, "ranks") << "it compares the ranks";
  EXPECT_TRUE(config.visualizers.empty());
  EXPECT_EQ(config.run_directory, "/runs/x/rank-2");
  config.join({2, 4});
  EXPECT_EQ(config.run_directory, "/runs/x/rank-2") << "joining twice has no further effect";

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

TEST(Config, NamesTheReplacementOfMasterRank) {
  EXPECT_FAULT(faults_of("attach: {master_rank: 1}\n"), "1:23", "which rank 0 shows; write 'ranks: off' at the top");
  EXPECT_SAYS(faults_of("ranks: of\n"), "ranks cannot be 'of'; did you mean 'off'?");
}

TEST(Config, MayDisableTheExchangeOfRanks) {
  EXPECT_FALSE(read("ranks: {store: none}\n").ranks.exchange);
  EXPECT_TRUE(read("ranks: {store: \"file:///a\"}\n").ranks.exchange);
  for (const char* wrong : {"nowhere", "tcp://127.0.0.1:29700"}) {
    const std::string faults = faults_of(std::string("ranks: {store: \"") + wrong + "\"}\n");
    for (const std::string& told : {std::string("file://FOLDER"), std::string("torchrun"), std::string("loupe merge"),
                                    "not '" + std::string(wrong)})
      EXPECT_NE(faults.find(told), std::string::npos) << faults;
  }
}

TEST(Config, AcceptsAComponentByNameOrAliasAndWithOptions) {
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

TEST(Config, TreatsNullSectionsAsEmpty) {
  const Config config = read("run:\nattach:\nlenses:\nvisualizers:\n");
  EXPECT_EQ(config.depth, -1);
  EXPECT_TRUE(config.lenses.empty());
}

TEST(Config, PluginPathsAreRelativeToTheFile) {
  const Folder folder;
  folder.add_plugin("sound", "here/sound");
  folder.add_plugin("newer_minor", "there/newer_minor");
  const std::string file = folder.write(
      "configs/a.yaml", "plugins: {path: [../here, ../there/newer_minor.so]}\nvisualizers: [sound, newer_minor]\n");
  EXPECT_EQ(Config::from_file(file).visualizers.size(), 2u);

  const std::string single = folder.write("configs/b.yaml", "plugins: {path: ../here}\nvisualizers: [sound]\n");
  EXPECT_EQ(Config::from_file(single).visualizers.size(), 1u);
}

TEST(Config, PathsDoNotChangeWithTheWorkingDirectory) {
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

TEST(Config, ATildeAtTheStartOfAPathMeansTheHomeFolder) {
  const Folder folder;
  folder.add_plugin("sound", "mine/sound");
  const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  setenv("HOME", folder.path("").c_str(), 1);
  const Config config = Config::from_text("run: {dir: ~/runs/a}\nplugins: {path: [~/mine]}\nvisualizers: [sound]\n",
                                          "a.yaml", "/nowhere");
  EXPECT_EQ(config.run_directory, folder.path("runs/a"));
  EXPECT_EQ(read("run: {dir: a/~/b}\n").run_directory, std::filesystem::current_path() / "a/~/b");
  EXPECT_FAULT(faults_of("run: {dir: ~bob/runs}\n"), "1:12",
               "write the whole path, or './~bob/runs' if that is its name");
  EXPECT_SAYS(faults_of("plugins: {path: ~bob}\n"), "a.yaml:1:17: error: '~bob' begins with another user's home");
  setenv("HOME", before.c_str(), 1);
}

TEST(Config, IfThereIsNoPluginTheSearchedFoldersAreNamed) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("empty"));
  Catalogue catalogue;
  catalogue.add_path(folder.path("empty"));
  EXPECT_EQ(thrown_by<ConfigError>([&] { Config::visualizers_from_text("[x]", catalogue); }),
            "<visualizers>:1:2: error: unknown visualizer 'x'; no plugin with a visualizer is in '" +
                folder.path("empty") + "'; name the right folder in plugins.path or LOUPE_PLUGIN_PATH, or install it");
}

TEST(Config, PluginPathsMustExist) {
  EXPECT_SAYS(faults_of("plugins: {path: [nowhere]}\n", "/home"),
              "a.yaml:1:18: error: the plugin path '/home/nowhere' does not exist; correct it");
  for (const char* wrong : {"{path: {a: b}}", "{path: }", "{path: [[a]]}", "{path: ''}"}) {
    EXPECT_SAYS(faults_of(std::string("plugins: ") + wrong + "\n"),
                "error: plugins.path must be a folder or file, or a list of them")
        << wrong;
  }
  EXPECT_FAULT(faults_of("plugins: nowhere\n"), "1:10", "'plugins' must be a map with a 'path'");
}

TEST(Config, AFaultyPluginThatTheFileNamesIsAnError) {
  EXPECT_SAYS(faults_of("plugins: {path: [" + test_plugin("newer_major") + "]}\n"),
              "a.yaml:1:18: error: the plugin '" + test_plugin("newer_major") + "' was built for ABI 2.3");
}

TEST(Config, AFaultyPluginInAFolderDoesNotAffectOthers) {
  const Folder folder;
  folder.add_plugin("newer_major");
  folder.add_plugin("sound");
  const Config config = Config::from_text("plugins: {path: .}\nvisualizers: [sound]\n", "a.yaml", folder.path());
  ASSERT_EQ(config.catalogue.problems().size(), 1u);
  EXPECT_SAYS(config.catalogue.problems()[0], folder.path("newer_major.so"));
}

TEST(Config, TheReasonForAMissingPluginIsReportedWithAnUnknownComponent) {
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

TEST(Config, PathsOfTheFileTakePrecedenceOverTheEnvironment) {
  const Folder folder;
  const std::string first = folder.add_plugin("sound", "first/sound");
  folder.add_plugin("same_name", "second/same_name");
  setenv("LOUPE_PLUGIN_PATH", folder.path("second").c_str(), 1);
  const Config config = Config::from_text("plugins: {path: first}\nvisualizers: [sound]\n", "a.yaml", folder.path());
  unsetenv("LOUPE_PLUGIN_PATH");
  EXPECT_EQ(config.visualizers[0].entry.library->file, first);
}

TEST(Config, ThePluginsOfThisBuildAreFoundWithoutAPath) {
  const Config config = Config::from_text("lenses: [loss_metrics]\n", "a.yaml", "/");
  EXPECT_EQ(config.lenses[0].entry.library->file, LOUPE_BUILT_PLUGINS + "/loss_metrics.so");
}

Config config_of(const std::string& text) {
  return Config::from_text(text, "a.yaml", "/");
}

TEST(TickRule, CountsStepsOrSecondsOrLeavesItToTheTrainer) {
  EXPECT_EQ(config_of("{}").tick.by, TickRule::By::epoch);
  EXPECT_EQ(config_of("run: {tick: epoch}").tick.by, TickRule::By::epoch);
  const TickRule steps = config_of("run: {name: x, tick: {steps: 500, of: generator}}").tick;
  EXPECT_EQ(steps.by, TickRule::By::steps);
  EXPECT_EQ(steps.steps, 500U);
  EXPECT_EQ(steps.of, "generator");
  EXPECT_EQ(steps.words(), "500 steps");
  const TickRule seconds = config_of("run: {tick: {seconds: 1.5}}").tick;
  EXPECT_EQ(seconds.by, TickRule::By::seconds);
  EXPECT_EQ(seconds.words(), "1.5 seconds");
  EXPECT_EQ(config_of("run: {name: x, tick: epoch}").run_name, "x") << "the rest of the section is still read";
}

TEST(TickRule, ErrorsHaveTheirPlaceAndRemedy) {
  EXPECT_FAULT(faults_of("run: {tick: often}\n"), "1:13", "run.tick is epoch, {steps: n} or {seconds: s}, not 'often'");
  EXPECT_SAYS(faults_of("run: {tick: [1]}\n"), "run.tick is epoch, {steps: n} or {seconds: s}, not a list");
  EXPECT_SAYS(faults_of("run: {tick: {step: 5}}\n"), "unknown key 'step' in run.tick; did you mean 'steps'?");
  EXPECT_SAYS(faults_of("run: {tick: {steps: 5, seconds: 5}}\n"), "counts either steps or seconds");
  EXPECT_SAYS(faults_of("run: {tick: {}}\n"), "counts either steps or seconds");
  for (const char* wrong : {"0", "-1", "2.5", "many", "''", "[1]"}) {
    EXPECT_SAYS(faults_of(std::string("run: {tick: {steps: ") + wrong + "}}\n"),
                "run.tick.steps must be a whole number from 1 on");
  }
  for (const char* wrong : {"0", "-1", "soon", "nan", "1e300"}) {
    EXPECT_SAYS(faults_of(std::string("run: {tick: {seconds: ") + wrong + "}}\n"),
                "run.tick.seconds must be a number of seconds above 0");
  }
  EXPECT_SAYS(faults_of("run: {tick: {seconds: 5, of: x}}\n"), "run.tick.of names the model");
  EXPECT_SAYS(faults_of("run: {tick: {steps: 5, of: ''}}\n"), "run.tick.of names the model");
}

TEST(AttachBudget, IsAPercentage) {
  EXPECT_EQ(config_of("{}").budget, 0);
  EXPECT_EQ(config_of("attach: {budget: off}").budget, 0);
  EXPECT_DOUBLE_EQ(config_of("attach: {budget: 1%}").budget, 0.01);
  EXPECT_DOUBLE_EQ(config_of("attach: {budget: 0.5 %}").budget, 0.005);
  for (const char* wrong : {"1", "0.01", "0%", "-1%", "101%", "much", "'%'"}) {
    EXPECT_SAYS(faults_of(std::string("attach: {budget: ") + wrong + "}\n"),
                "attach.budget is off or a share of the time such as 1%");
  }
}

TEST(AttachHistory, IsALargeNumberOfElementsOrAll) {
  EXPECT_EQ(config_of("{}").history, 65536);
  EXPECT_EQ(config_of("attach: {history: 0}").history, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(config_of("attach: {history: 4096}").history, 4096);
  EXPECT_FAULT(faults_of("attach: {history: 64}\n"), "1:19", "attach.history is 0, for all elements, or at least 4096");
  EXPECT_SAYS(faults_of("attach: {history: -1}\n"), "attach.history must be between 0 and");
  EXPECT_SAYS(faults_of("attach: {history: all}\n"), "attach.history");
}

TEST(AttachEvery, IsAPositiveInteger) {
  EXPECT_EQ(config_of("{}").every, 1);
  EXPECT_EQ(config_of("attach: {every: 20}").every, 20);
  EXPECT_SAYS(faults_of("attach: {every: 0}\n"), "attach.every must be between 1 and");
}

Launch launched_with(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                           "SLURM_PROCID", "SLURM_NTASKS"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const Launch launch = Launch::from_environment();
  for (const auto& each : variables) ::unsetenv(each.first.c_str());
  return launch;
}

TEST(Launch, IsReadFromTheVariablesOfTorchrunMpiAndSlurm) {
  for (const auto& [rank, size] : std::map<std::string, std::string>{{"RANK", "WORLD_SIZE"},
                                                                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                                     {"PMI_RANK", "PMI_SIZE"},
                                                                     {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const Launch launch = launched_with({{rank, "3"}, {size, "8"}});
    EXPECT_EQ(launch.rank, 3) << rank;
    EXPECT_EQ(launch.world_size, 8) << rank;
  }
}

TEST(Launch, OfTorchrunTakesPrecedenceOverSlurm) {
  EXPECT_EQ(launched_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"RANK", "5"}, {"WORLD_SIZE", "8"}}).rank, 5);
}

TEST(Launch, IsOfASingleProcessIfTheNumbersAreInvalid) {
  for (const auto& [rank, size] : std::multimap<std::string, std::string>{{"3", ""},
                                                                          {"", "4"},
                                                                          {"4", "4"},
                                                                          {"-1", "4"},
                                                                          {"one", "4"},
                                                                          {"1x", "4"},
                                                                          {"1", "99999999999999"},
                                                                          {"0", "2147483647"}})
    EXPECT_EQ(launched_with({{"RANK", rank}, {"WORLD_SIZE", size}}).world_size, 1) << rank << " of " << size;
  EXPECT_EQ(launched_with({{"RANK", "3"}}).world_size, 1);
  EXPECT_EQ(launched_with({}).world_size, 1);
}

TEST(Launch, GivesEachRankExceptTheFirstAFolderInTheRuns) {
  EXPECT_EQ((Launch{0, 4}.folder_in("/runs/x")), "/runs/x");
  EXPECT_EQ((Launch{3, 4}.folder_in("/runs/x")), "/runs/x/rank-3");
  EXPECT_EQ((Launch{3, 4}.folder_in("")), "rank-3");
}

using Settings = std::map<std::string, std::string>;

Settings setting_texts(const std::string& config) {
  Settings texts;
  settings_of(config).lend([&](const loupe_options* settings) {
    for (std::size_t i = 0; i < settings->value_count; ++i)
      texts[settings->values[i]->name] = setting_text(*settings->values[i]);
  });
  return texts;
}

TEST(ConfigSettings, HaveDottedNamesInAnyLayout) {
  EXPECT_EQ(setting_texts("loupe: 1\nrun: {name: a, tick: {steps: 500}}\n"
                          "lenses:\n  - health\n  - gradient_geometry: {range: [std, min-max], line: mean}\n"
                          "  - loss_metrics:\nvisualizers: [html, {csv: {every: 2}}]\nexclude: []\n"),
            (Settings{{"exclude", ""},
                      {"lenses.gradient_geometry.line", "mean"},
                      {"lenses.gradient_geometry.range", "std, min-max"},
                      {"lenses.health", "true"},
                      {"lenses.loss_metrics", "true"},
                      {"loupe", "1"},
                      {"run.name", "a"},
                      {"run.tick.steps", "500"},
                      {"visualizers.csv.every", "2"},
                      {"visualizers.html", "true"}}));
}

TEST(ConfigSettings, HaveTypesAndAreSortedByName) {
  settings_of("b: [x, y]\na: 1\nlenses: [c]\n").lend([](const loupe_options* settings) {
    ASSERT_EQ(settings->value_count, 3U);
    EXPECT_STREQ(settings->values[0]->name, "a");
    EXPECT_EQ(settings->values[0]->type, LOUPE_TYPE_STRING);
    EXPECT_STREQ(settings->values[0]->string, "1");
    EXPECT_EQ(settings->values[1]->type, LOUPE_TYPE_STRINGS);
    ASSERT_EQ(settings->values[1]->string_count, 2U);
    EXPECT_STREQ(settings->values[1]->strings[1], "y");
    EXPECT_STREQ(settings->values[2]->name, "lenses.c");
    EXPECT_EQ(settings->values[2]->type, LOUPE_TYPE_BOOLEAN);
    EXPECT_EQ(settings->values[2]->integer, 1);
  });
}

TEST(ConfigSettings, AreEmptyForAnInvalidConfiguration) {
  for (const char* text : {"", "{a: [", "- a\n- b\n", "text", "\xff\xfe", "{}"}) {
    EXPECT_EQ(setting_texts(text), Settings()) << text;
  }
}

TEST(ConfigSettings, AreLimitedForEndlessAliasesAndLongNames) {
  std::string aliases = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), own = "a" + std::to_string(i);
    aliases += own + ": &" + own + " {p: " + before + ", q: " + before + "}\n";
  }
  EXPECT_LE(setting_texts(aliases).size(), 2000U);
  const std::string name(600, 'n');
  EXPECT_EQ(setting_texts("other: 1\n" + name + ": {short: 2, " + name + ": {too: 3}}\n"),
            (Settings{{name + ".short", "2"}, {"other", "1"}}));
}

}  // namespace
}  // namespace loupe
