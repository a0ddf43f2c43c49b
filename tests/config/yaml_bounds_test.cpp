// A configuration that has no end, or is out of all proportion, is refused at once and in one sentence.

#include "config/yaml_text.h"

#include <gtest/gtest.h>

#include <fstream>

#include "faults.h"

namespace loupe {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(YamlBounds, ATextThatBeginsWithACommaEnds) {
  const std::string expected = "a.yaml:1:1: error: this is no YAML: nothing can be read from here on; a comment that ";
  EXPECT_BEGINS(faults_of(", and so on\nloupe: 1\n"), expected);
  EXPECT_BEGINS(faults_of(","), expected);
  EXPECT_BEGINS(faults_of("# a comment\n, that wrapped\nlenses: []\n"), "a.yaml:2:1: error: this is no YAML: nothing");
}

TEST(YamlBounds, ASecondDocumentIsNotIgnored) {
  EXPECT_EQ(faults_of("loupe: 1\n---\nlenses: []\n"),
            "a.yaml:2:1: error: a second document begins here ('---'); a configuration is one");
  EXPECT_EQ(faults_of("---\nloupe: 1\n...\n"), "");
}

TEST(YamlBounds, AnAliasInsideOfWhatItNamesHasNoEnd) {
  EXPECT_EQ(faults_of("lenses: [{pipeline: {preprocessor_options: &a {normalize: *a}}}]\n"),
            "a.yaml:1:59: error: this alias (*name) stands inside of what it names, so it has no end");
}

TEST(YamlBounds, AliasesCountAsWhatTheyStandFor) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string name = "a" + std::to_string(i), before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + repeated(before + ", ", 9) + before + "]\n";
  }
  EXPECT_LT(text.size(), 600u);
  EXPECT_SAYS(faults_of(text), "error: this is too much for a configuration: more than 20000 keys and values, each ");
  EXPECT_SAYS(faults_of("a: &a [b, c]\nd: [*a, *a]\n"), "unknown key 'a'") << "a few aliases are no harm";
}

TEST(YamlBounds, DepthIsBoundedAlsoThroughAliases) {
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
  EXPECT_SAYS(faults_of("[" + repeated("a,", 20'000) + "]"), "error: this is too much for a configuration: more than ");
  EXPECT_SAYS(faults_of("[" + repeated("[],", 20'000) + "]"),
              "error: this is too much for a configuration: more than ");
  EXPECT_SAYS(faults_of("[" + repeated("a,", 19'000) + "]"), "error: a configuration is a map");
}

TEST(YamlBounds, AHugeFileIsRefusedWithoutReadingItWhole) {
  const Folder folder;
  const std::string file = folder.write("huge.yaml", "");
  std::filesystem::resize_file(file, 100'000'000);
  const std::string expected = ":1:1: error: this is too much for a configuration: more than 1024 KiB; is it another ";
  for (const std::string& path : {file, std::string("/dev/zero")}) {
    try {
      Config::from_file(path);
      ADD_FAILURE() << path << " was taken";
    } catch (const ConfigError& e) {
      EXPECT_BEGINS(e.what(), path + expected);
    }
  }
}

TEST(YamlBounds, ThousandsOfFaultsAreToldInShort) {
  std::string text = "loupe: 1\n";
  for (int i = 0; i < 9000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const std::string told = faults_of(text);
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 50);
  EXPECT_SAYS(told, "\na.yaml: error: and 8950 more faults");
  EXPECT_LT(faults_of(repeated("k", 900'000) + ": 1\n").size(), 5000u);
}

}  // namespace
}  // namespace loupe
