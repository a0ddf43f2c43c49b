#include "config/yaml_text.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "faults.h"

namespace loupe {
namespace {

std::string flat(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  std::string text;
  for (const auto& each : node) {
    text += text.empty() ? "" : ", ";
    text += node.IsMap() ? each.first.Scalar() + ": " + flat(each.second) : flat(each);
  }
  return node.IsMap() ? "{" + text + "}" : "[" + text + "]";
}

/// The text, read and written again in one line; what is wrong with it where something is.
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

TEST(YamlText, ATabThatIndentsIsNamedAsATab) {
  const std::string expected =
      ": error: a tab indents this line, and YAML takes only spaces there; replace it by spaces";
  EXPECT_EQ(faults_of("lenses:\n\t- a\n"), "a.yaml:2:1" + expected);
  EXPECT_EQ(faults_of("run:\n  name: a\n \tdir: b\n"), "a.yaml:3:2" + expected);
  EXPECT_EQ(faults_of("run:\n\tname: x\n\tdir: y\n"), "a.yaml:2:1" + expected);
}

TEST(YamlText, OtherTabsAreNoFault) {
  EXPECT_EQ(read_and_shown("a:\tb\n"), "{a: b}");
  EXPECT_EQ(read_and_shown("a: [b,\n\tc]\n"), "{a: [b, c]}");
  EXPECT_SAYS(read_and_shown("a: [b,\n\nc: d\n"), "a.yaml:1:4: error: this list has a '['");
}

TEST(MergeKeys, BringWhatTheMapDoesNotSayItself) {
  EXPECT_EQ(read_and_shown("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3, z: 4}\n"),
            "{a: {x: 1, y: 2}, b: {y: 3, z: 4, x: 1}}");
  EXPECT_EQ(read_and_shown("{<<: {x: 1}, y: 2}"), "{y: 2, x: 1}");
}

TEST(MergeKeys, OfAListTheFirstWins) {
  EXPECT_EQ(read_and_shown("{<<: [{x: 1}, {x: 2, y: 3}]}"), "{x: 1, y: 3}");
}

TEST(MergeKeys, GoThroughOthers) {
  EXPECT_EQ(read_and_shown("{a: {<<: {x: 1, <<: {w: 0}}, y: 2}}"), "{a: {y: 2, x: 1, w: 0}}");
}

TEST(MergeKeys, TakeMapsOnly) {
  const std::string expected = "error: the merge key '<<' must be given a map, or a list of maps, mostly as *name";
  EXPECT_EQ(read_and_shown("{<<: 3}"), "a.yaml:1:6: " + expected);
  EXPECT_SAYS(read_and_shown("{<<: [{x: 1}, y]}"), expected);
}

TEST(MergeKeys, ShareOptionsBetweenLensesAndKeepTheirPlaces) {
  EXPECT_EQ(probe_faults("lenses:\n  - probe_lens: &mine {ratio: 0.25}\n  - probe_lens: {<<: *mine, small: 2}\n"
                         "    as: second\n"),
            "");
  EXPECT_SAYS(
      probe_faults("lenses:\n  - probe_lens: &mine {rato: 0.25}\n  - probe_lens: {<<: *mine}\n    as: second\n"),
      "a.yaml:3:24: error: lens 'probe_lens' has no option 'rato'; did you mean 'ratio'?");
}

}  // namespace
}  // namespace loupe
