// Error messages for configurations that are wrong, endless, or far too large.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <string>
#include <utility>

#include "config/yaml_text.h"
#include "faults.h"

namespace loupe {
namespace {

TEST(ConfigFaults, SyntaxErrorsNameTheirPlace) {
  EXPECT_BEGINS(faults_of("run: {name: x}\nlenses: [a}\n"), "a.yaml:2:11: error: this is not YAML: ");
}

TEST(ConfigFaults, AWronglyIndentedLineIsNamed) {
  EXPECT_FAULT(faults_of("loupe: 1\nlenses:\n  - health\n - loss_metrics\nvisualizers: [console]\n"), "4:2",
               "indent it like its list or section");
}

TEST(ConfigFaults, AnUnclosedBracketIsReportedAtItsBeginning) {
  EXPECT_FAULT(faults_of("run: {name: x\nlenses: []\n"), "1:6", "this map has a '{' and no '}' at its end");
  EXPECT_FAULT(faults_of("loupe: 1\nlenses: [a, {b: {}},\nvisualizers:\n  - c\n\n"), "2:9", "'[' and no ']'");
}

TEST(ConfigFaults, AnotherKindOfFileIsNotQuoted) {
  const std::string told = faults_of("PATH: /bin\nUSER: me\nTOKEN: secret\nHOME: /root\n");
  EXPECT_EQ(told, "a.yaml:1:1: error: none of the 4 keys is known in a configuration; is this another kind of file?");
  EXPECT_SAYS(faults_of("PATH: /bin\nUSER: me\nlenses: []\nHOME: /root\n"), "unknown key 'USER'");
}

TEST(ConfigFaults, AnUnquotedGlobIsToldWithTheQuotesThatItNeeds) {
  EXPECT_EQ(faults_of("loupe: 1\nlenses:\n  - a: {include: [x, *.fc], b: 1}\n"),
            "a.yaml:3:22: error: YAML reads a * at the beginning as an alias; quote the pattern: \"*.fc\"");
  EXPECT_SAYS(faults_of("a: &b 1\nlenses: *c\n"), "quote the pattern: \"*c\"");
}

TEST(ConfigFaults, ANameOfItsOwnAmongTheOptionsIsToldWithItsPlace) {
  EXPECT_FAULT(probe_faults("lenses:\n  - probe_lens: {as: mine}\n  - probe_lens\n"), "3:22",
               "write it beside the name: {probe_lens: {…}, as: mine}");
}

TEST(ConfigFaults, ALensThatIsUsedTwiceHidesNoOtherError) {
  const std::string told = probe_faults("lenses:\n  - probe_lens\n  - probe_lens: {gatherers: x}\n");
  EXPECT_SAYS(told, "a.yaml:4:5: error: the lens 'probe_lens' is used twice");
  EXPECT_SAYS(told, "a.yaml:4:18: error: lens 'probe_lens' has no option 'gatherers'");
}

TEST(ConfigFaults, ComponentsOfAProgramAreMentioned) {
  EXPECT_SAYS(probe_faults("lenses: [entirely_different]\n"), "are linked into your program are known only there");
}

TEST(ConfigFaults, LossesMustHaveDifferentNames) {
  const std::string expected = "error: train_loss and val_loss must be two names";
  EXPECT_SAYS(faults_of("attach: {train_loss: x, val_loss: x}\n"), expected);
  EXPECT_SAYS(faults_of("attach: {train_loss: ''}\n"), expected);
}

TEST(ConfigFaults, TwoVisualizersMustNotWriteTheSameFile) {
  EXPECT_SAYS(probe_faults("visualizers:\n  - record\n  - {record: {}, as: second}\n"),
              "a.yaml:4:6: error: this visualizer does the same as another 'record'");
}

TEST(ConfigFaults, AFileWithoutAMapIsNotAConfiguration) {
  const std::string expected = ":1:1: error: a configuration is a map with the keys loupe, run, attach, lenses, ";
  EXPECT_SAYS(faults_of(""), expected);
  EXPECT_SAYS(faults_of("# nothing\n"), expected);
  EXPECT_SAYS(faults_of("- loss_metrics\n"), expected);
}

TEST(ConfigFaults, UnknownKeysGetTheNearestName) {
  EXPECT_FAULT(faults_of("visualisers: []\n"), "1:1", "'visualisers' at the top; did you mean 'visualizers'?");
  EXPECT_FAULT(faults_of("loupe: 1\nattach: {dept: 2}\n"), "2:10", "no option 'dept'; did you mean 'depth'?");
  EXPECT_FAULT(faults_of("run:\n  name: x\n  directory: y\n"), "3:3", "no option 'directory'; did you mean 'dir'?");
  EXPECT_FAULT(faults_of("plugins: {paths: []}\n"), "1:11", "unknown key 'paths' of 'plugins'; did you mean 'path'?");
  EXPECT_BEGINS(probe_faults("lenses:\n  - probe_lens:\n      gatherers: x\n"),
                "a.yaml:4:7: error: lens 'probe_lens' has no option 'gatherers'; did you mean 'gatherer'?");
  EXPECT_SAYS(faults_of("? [a, b]\n: c\n"), "error: unknown key ''");
}

TEST(ConfigFaults, InOptionsOfEveryLensAreReportedWithPlaceAndRemedy) {
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {active: 0}]\n"), "2:31", "active must be between 1 and 1e+06");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {active: seldom}]\n"), "2:31", "a whole number, not 'seldom'");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {actve: 2}]\n"), "2:23", "no option 'actve'; did you mean 'active'?");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {active: 2, active: 3}]\n"), "2:34", "'active' twice; keep one");
  EXPECT_SAYS(probe_faults("visualizers: [probe_visualizer: {active: 2}]\n"), "has no option 'active'");
}

TEST(ConfigFaults, WrongTypesAreReported) {
  EXPECT_FAULT(faults_of("attach: {depth: deep}\n"), "1:17", "attach.depth must be a whole number, not 'deep'");
  EXPECT_FAULT(faults_of("attach: {depth: 1.5}\n"), "1:17", "attach.depth must be a whole number, not '1.5'");
  EXPECT_FAULT(faults_of("attach: {depth: [1]}\n"), "1:17", "attach.depth must be a whole number, not a list");
  EXPECT_FAULT(faults_of("attach: {list_modules: often}\n"), "1:24", "list_modules must be true or false, not 'often'");
  EXPECT_FAULT(faults_of("attach: {list_modules: }\n"), "1:24", "list_modules must be true or false, not nothing");
  EXPECT_FAULT(faults_of("run: {name: {a: b}}\n"), "1:13", "run.name must be a text, not a map");
  EXPECT_FAULT(faults_of("run: fast\n"), "1:6", "the options of run must be a map of names and values, not 'fast'");
  EXPECT_FAULT(faults_of("lenses: {a: b}\n"), "1:9", "'lenses' must be a list");
  EXPECT_FAULT(faults_of("lenses: [[a]]\n"), "1:10", "'lenses' must be a name, or a name with a map of options");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {tables: {}}]\n"), "2:31", "must be a list of texts, not a map");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {extra: 3}]\n"), "2:30", "extra must be a map, not '3'");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: 3]\n"), "2:22", "'probe_lens' must be a map of names and values");
}

TEST(ConfigFaults, NumbersMustBeWithinTheirBounds) {
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {ratio: 1.5}]\n"), "2:30", "ratio must be between 0 and 1, not 1.5");
  EXPECT_EQ(probe_faults("lenses: [probe_lens: {ratio: 1}]\n"), "");
  EXPECT_FAULT(faults_of("attach: {depth: -2}\n"), "1:17", "attach.depth must be between -1 and 1e+06, not -2");
  EXPECT_SAYS(faults_of("attach: {active: 0}\n"), "attach.active must be between 1 and");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {ratio: .nan}]\n"), "2:30", "ratio must be a number, not '.nan'");
}

TEST(ConfigFaults, NumbersTooLargeForAMachineWordAreRefused) {
  // In an int, these numbers would overflow to 0 and -1.
  EXPECT_SAYS(faults_of("attach: {active: 4294967296}\n"), "attach.active must be between");
  EXPECT_SAYS(faults_of("attach: {depth: 4294967295}\n"), "attach.depth must be between");
  EXPECT_SAYS(faults_of("attach: {depth: 99999999999999999999}\n"), "must be a whole number");
}

TEST(ConfigFaults, UnknownChoicesAreReportedWithTheNearest) {
  EXPECT_FAULT(faults_of("attach: {taps: explict}\n"), "1:16", "taps cannot be 'explict'; did you mean 'explicit'?");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {tables: [wide, narow]}]\n"), "2:38",
               "lens 'probe_lens'.tables cannot be 'narow'; did you mean 'narrow'?");
  EXPECT_FAULT(faults_of("on_error: stopp\n"), "1:11", "on_error cannot be 'stopp'; did you mean 'stop'?");
  EXPECT_BEGINS(faults_of("on_error: [stop]\n"), "a.yaml:1:11: error: on_error cannot be ''");
  EXPECT_SAYS(faults_of("on_finding: {error: halt}\n"), std::string("stop"));
  EXPECT_SAYS(faults_of("on_finding: {erorr: stop}\n"), std::string("did you mean 'error'?"));
}

TEST(ConfigFaults, UnknownComponentsAreReportedWithTheNearestName) {
  EXPECT_FAULT(probe_faults("lenses: [probe_lense]\n"), "2:10", "lens 'probe_lense'; did you mean 'probe_lens'?");
  EXPECT_FAULT(probe_faults("visualizers:\n  - probe_visualiser: {id: a}\n"), "3:5",
               "unknown visualizer 'probe_visualiser'; did you mean 'probe_visualizer'?");
}

TEST(ConfigFaults, MlflowIsReportedWithTheCommandOfThePythonModule) {
  EXPECT_SAYS(probe_faults("visualizers: [mlflow: {experiment: digits}]\n"),
              "python -m loupe RUN --to mlflow --follow");
}

TEST(ConfigFaults, AComponentUnderAnotherKindIsReportedWithItsRightPlace) {
  EXPECT_FAULT(probe_faults("lenses: [probe_visualizer]\n"), "2:10",
               "unknown lens 'probe_visualizer'; it is a visualizer; write it under visualizers");
  EXPECT_FAULT(probe_faults("visualizers: [probe_lens]\n"), "2:15", "it is a lens; write it under lenses");
  EXPECT_FAULT(probe_faults("lenses: [probe_numbers]\n"), "2:10", "unknown lens 'probe_numbers'; it is a preprocessor");
}

TEST(ConfigFaults, APluginFolderWithoutPluginsIsReported) {
  const Folder folder;
  folder.add_plugin("sound", "one/sound");
  std::filesystem::create_directory(folder.path("none"));
  EXPECT_SAYS(faults_of("plugins: {path: [one, none]}\nvisualizers: [mine]\n", folder.path()),
              "unknown visualizer 'mine'; no plugin is in '" + folder.path("none") + "'; ");
}

TEST(ConfigFaults, ALensUsedTwiceNeedsItsOwnName) {
  EXPECT_FAULT(probe_faults("lenses:\n  - probe_lens\n  - probe_lens: {ratio: 1}\n"), "4:5",
               "is used twice; give each its own name with 'as: name'");
  EXPECT_SAYS(probe_faults("lenses:\n  - probe_lens\n  - probe\n"), "is used twice");
  EXPECT_SAYS(probe_faults("lenses:\n  - {probe: , as: mine}\n  - {probe: , as: mine}\n"),
              "the lens 'mine' is used twice");
  EXPECT_SAYS(probe_faults("visualizers: [probe_visualizer, probe_visualizer]\n"),
              "the visualizer 'probe_visualizer' is used twice");
  EXPECT_EQ(probe_faults("lenses:\n  - probe_lens\n  - probe_lens: {ratio: 1}\n    as: second\n"), "");
}

TEST(ConfigFaults, AKeyMayOccurOnce) {
  EXPECT_FAULT(faults_of("on_error: stop\non_error: stop\n"), "2:1", "'on_error' occurs twice at the top; keep one");
  EXPECT_FAULT(faults_of("run:\n  name: a\n  name: b\n"), "3:3", "run is given the option 'name' twice; keep one");
  EXPECT_FAULT(probe_faults("lenses: [probe_lens: {ratio: 1, ratio: 0}]\n"), "2:33", "'ratio' twice; keep one");
}

TEST(ConfigFaults, ANameMustBeAString) {
  const std::string expected = "error: 'as' needs one name, for this entry of 'lenses'";
  EXPECT_EQ(probe_faults("lenses: [{probe: , as: [a]}]\n"), "a.yaml:2:20: " + expected);
  EXPECT_SAYS(probe_faults("lenses: [{probe: , as: }]\n"), expected);
  EXPECT_SAYS(probe_faults("lenses: [{probe: , as: a, as: b}]\n"), expected);
}

TEST(ConfigFaults, AnEntryMustNameOneComponent) {
  EXPECT_FAULT(probe_faults("lenses:\n  - probe_lens:\n    ratio: 1\n"), "4:5",
               "'ratio' is in the same entry as 'probe_lens'; begin a new one with '- '");
  EXPECT_FAULT(probe_faults("lenses:\n  - as: mine\n"), "3:5", "an entry of 'lenses' names no component");
  EXPECT_SAYS(probe_faults("lenses:\n  -\n"), "error: an entry of 'lenses' must be a name");
}

TEST(ConfigFaults, AnotherVersionOfTheFormatIsRefused) {
  EXPECT_FAULT(faults_of("loupe: 2\n"), "1:8", "reads configurations of version 1; write 'loupe: 1'");
  EXPECT_EQ(faults_of("loupe: 1\n"), "");
}

TEST(ConfigFaults, AreAllToldInTheOrderOfTheFile) {
  EXPECT_EQ(
      probe_faults("visualizers: [nothing_like_it]\nlenses: [probe_lens: {ratio: 2, rato: 1}]\nattach: {depth: x}\n"
                   "on_eror: stop\n")
          .substr(0, 7),
      "a.yaml:");
  const std::string text = probe_faults(
      "visualizers: [probe_visualize]\nlenses: [probe_lens: {ratio: 2, rato: 1}]\nattach: {depth: x}\non_eror: stop\n");
  EXPECT_EQ(text,
            "a.yaml:2:15: error: unknown visualizer 'probe_visualize'; did you mean 'probe_visualizer'?\n"
            "a.yaml:3:30: error: lens 'probe_lens'.ratio must be between 0 and 1, not 2\n"
            "a.yaml:3:33: error: lens 'probe_lens' has no option 'rato'; did you mean 'ratio'?\n"
            "a.yaml:4:17: error: attach.depth must be a whole number, not 'x'\n"
            "a.yaml:5:1: error: unknown key 'on_eror' at the top; did you mean 'on_error'?");
}

TEST(ConfigFaults, AnUnreadableFileIsReported) {
  const Folder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe.yaml").c_str(), 0600), 0);
  const std::pair<std::string, std::string> files[] = {
      {folder.path("nowhere.yaml"), "; check its path and rights"},
      {folder.path(), ": it is a folder, not a file"},
      {folder.path("pipe.yaml"), ": it is a pipe or a device, not a file"}};
  for (const auto& [path, why] : files) {
    EXPECT_EQ(thrown_by<ConfigError>([&path = path] { Config::from_file(path); }),
              path + ":1:1: error: the file cannot be read" + why);
  }
}

TEST(ConfigFaults, AListOfVisualizersIsCheckedToo) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin("probe"));
  EXPECT_EQ(Config::visualizers_from_text("[probe_visualizer]", catalogue).size(), 1u);
  for (const char* wrong : {"[probe_visualizr]", "[probe_visualizer: {idd: 1}]", "[", "{}"}) {
    const std::string told = thrown_by<ConfigError>([&] { Config::visualizers_from_text(wrong, catalogue); });
    EXPECT_BEGINS(told, "<visualizers>:1:");
    EXPECT_SAYS(told, ": error: ");
  }
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(YamlBounds, ATextThatBeginsWithACommaEnds) {
  const std::string expected = "a.yaml:1:1: error: this is not YAML: nothing can be read from here on; a comment that ";
  EXPECT_BEGINS(faults_of(", and so on\nloupe: 1\n"), expected);
  EXPECT_BEGINS(faults_of(","), expected);
  EXPECT_BEGINS(faults_of("# a comment\n, that wrapped\nlenses: []\n"), "a.yaml:2:1: error: this is not YAML: nothing");
}

TEST(YamlBounds, ASecondDocumentIsRefused) {
  EXPECT_FAULT(faults_of("loupe: 1\n---\nlenses: []\n"), "2:1", "a second document begins here ('---')");
  EXPECT_EQ(faults_of("---\nloupe: 1\n...\n"), "");
}

TEST(YamlBounds, AnAliasInsideItsOwnValueIsRefused) {
  EXPECT_FAULT(faults_of("lenses: [{pipeline: {preprocessor_options: &a {normalize: *a}}}]\n"), "1:59",
               "this alias (*name) is inside the value that it names");
}

TEST(YamlBounds, AliasesCountWithTheirFullSize) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string name = "a" + std::to_string(i), before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + repeated(before + ", ", 9) + before + "]\n";
  }
  EXPECT_LT(text.size(), 600u);
  EXPECT_SAYS(faults_of(text),
              "error: the configuration is too large: more than 20000 keys and values, with each alias");
  EXPECT_SAYS(faults_of("a: &a [b, c]\nd: [*a, *a]\n"), "unknown key 'a'") << "a few aliases are fine";
}

TEST(YamlBounds, DepthIsBoundedEvenThroughAliases) {
  const std::string expected = "error: this is nested more than 100 deep";
  EXPECT_SAYS(faults_of("a: " + repeated("[", 101) + repeated("]", 101) + "\n"), expected);
  EXPECT_SAYS(faults_of(repeated("[", 1'000'000)), expected);
  EXPECT_SAYS(faults_of(repeated("- ", 400'000)), expected);
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i < 120; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_SAYS(faults_of(text), expected);
  EXPECT_EQ(faults_of("run: {name: " + repeated("[", 90) + repeated("]", 90) + "}\n"),
            "a.yaml:1:13: error: run.name must be a text, not a list");
}

TEST(YamlBounds, NodesAreCounted) {
  EXPECT_SAYS(faults_of("[" + repeated("a,", 20'000) + "]"), "error: the configuration is too large: more than ");
  EXPECT_SAYS(faults_of("[" + repeated("[],", 20'000) + "]"), "error: the configuration is too large: more than ");
  EXPECT_SAYS(faults_of("[" + repeated("a,", 19'000) + "]"), "error: a configuration is a map");
}

TEST(YamlBounds, AHugeFileIsRefusedWithoutReadingItWhole) {
  const Folder folder;
  const std::string file = folder.write("huge.yaml", "");
  std::filesystem::resize_file(file, 100'000'000);
  const std::string expected = ":1:1: error: the configuration is too large: more than 1024 KiB; is it another ";
  for (const std::string& path : {file, std::string("/dev/zero")}) {
    EXPECT_BEGINS(thrown_by<ConfigError>([&] { Config::from_file(path); }), path + expected);
  }
}

TEST(YamlBounds, OnlyAFewOfThousandsOfErrorsAreListed) {
  std::string text = "loupe: 1\n";
  for (int i = 0; i < 9000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const std::string told = faults_of(text);
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 50);
  EXPECT_SAYS(told, "\na.yaml: error: and 8950 more faults");
  EXPECT_LT(faults_of(repeated("k", 900'000) + ": 1\n").size(), 5000u);
}

std::string flat(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  std::string text;
  for (const auto& each : node) {
    text += text.empty() ? "" : ", ";
    text += node.IsMap() ? each.first.Scalar() + ": " + flat(each.second) : flat(each);
  }
  return node.IsMap() ? "{" + text + "}" : "[" + text + "]";
}

/// Returns the parsed text in one line, or the error messages.
std::string read_and_shown(const std::string& text) {
  Diagnostics diagnostics("a.yaml");
  try {
    const YAML::Node root = read_yaml(text, diagnostics);
    diagnostics.throw_if_any();
    return flat(root);
  } catch (const ConfigError& e) {
    return e.what();
  }
}

TEST(YamlText, ATabForIndentationIsReportedAsATab) {
  const std::string expected =
      ": error: this line is indented with a tab; YAML accepts only spaces: replace it by spaces";
  EXPECT_EQ(faults_of("lenses:\n\t- a\n"), "a.yaml:2:1" + expected);
  EXPECT_EQ(faults_of("run:\n  name: a\n \tdir: b\n"), "a.yaml:3:2" + expected);
  EXPECT_EQ(faults_of("run:\n\tname: x\n\tdir: y\n"), "a.yaml:2:1" + expected);
}

TEST(YamlText, OtherTabsAreAccepted) {
  EXPECT_EQ(read_and_shown("a:\tb\n"), "{a: b}");
  EXPECT_EQ(read_and_shown("a: [b,\n\tc]\n"), "{a: [b, c]}");
  EXPECT_SAYS(read_and_shown("a: [b,\n\nc: d\n"), "a.yaml:1:4: error: this list has a '['");
}

TEST(MergeKeys, AddOnlyKeysThatTheMapLacks) {
  EXPECT_EQ(read_and_shown("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3, z: 4}\n"),
            "{a: {x: 1, y: 2}, b: {y: 3, z: 4, x: 1}}");
  EXPECT_EQ(read_and_shown("{<<: {x: 1}, y: 2}"), "{y: 2, x: 1}");
}

TEST(MergeKeys, PreferTheFirstMapOfAList) {
  EXPECT_EQ(read_and_shown("{<<: [{x: 1}, {x: 2, y: 3}]}"), "{x: 1, y: 3}");
}

TEST(MergeKeys, MayBeNested) {
  EXPECT_EQ(read_and_shown("{a: {<<: {x: 1, <<: {w: 0}}, y: 2}}"), "{a: {y: 2, x: 1, w: 0}}");
}

TEST(MergeKeys, AcceptOnlyMaps) {
  const std::string expected = "error: the merge key '<<' must be given a map, or a list of maps, mostly as *name";
  EXPECT_EQ(read_and_shown("{<<: 3}"), "a.yaml:1:6: " + expected);
  EXPECT_SAYS(read_and_shown("{<<: [{x: 1}, y]}"), expected);
}

TEST(MergeKeys, ShareOptionsBetweenLensesAndKeepErrorPlaces) {
  EXPECT_EQ(probe_faults("lenses:\n  - probe_lens: &mine {ratio: 0.25}\n  - probe_lens: {<<: *mine, small: 2}\n"
                         "    as: second\n"),
            "");
  EXPECT_SAYS(
      probe_faults("lenses:\n  - probe_lens: &mine {rato: 0.25}\n  - probe_lens: {<<: *mine}\n    as: second\n"),
      "a.yaml:3:24: error: lens 'probe_lens' has no option 'rato'; did you mean 'ratio'?");
}

}  // namespace
}  // namespace loupe
