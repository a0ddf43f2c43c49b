// `loupe explain` explains a plot with the text of the glossary.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

Finished explain(const std::string& arguments) {
  return run(LOUPE_COMMAND + " explain " + arguments, fresh_folder());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Explain, TellsWhatAPlotIsWhatIsHealthyAndWhatToDo) {
  const Finished told = explain("'weight update ratio'");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output.substr(0, 20), "Weight Update Ratio\n");
  EXPECT_TRUE(contains(told.output, "|update| / |parameter|")) << told.output;
  EXPECT_TRUE(contains(told.output, "\n  healthy: Between 1e-4 and 1e-2")) << told.output;
  EXPECT_TRUE(contains(told.output, "\n  what to do: Above 1e-2")) << told.output;
  EXPECT_TRUE(contains(told.output, "\n  shown by: update_ratio\n")) << told.output;
}

TEST(Explain, AcceptsTheBeginningOrAPartOfAName) {
  const Finished begins = explain("'bias upd'");
  EXPECT_TRUE(contains(begins.output, "Bias Update Norm\n")) << begins.output;
  EXPECT_TRUE(contains(begins.output, "\nBias Update Ratio\n")) << begins.output;
  EXPECT_FALSE(contains(begins.output, "Weight Update")) << begins.output;
  EXPECT_TRUE(contains(explain("condition").output, "Weight Condition Number\n"));
}

TEST(Explain, SuggestsTheNearestNameForAnUnknownOne) {
  EXPECT_ENDS(explain("'Wieght Norm'"), 2, "'Wieght Norm'; did you mean 'Weight Norm'?\n");
}

TEST(Explain, NamesTheListForAnUnknownNameThatIsLikeNoOther) {
  EXPECT_ENDS(explain("frobnicate"), 2,
              "no plot, rule or line is called 'frobnicate'; `loupe explain` lists all rules and plots\n");
}

TEST(Explain, ExplainsRulesAndLines) {
  const Finished rule = explain("dead_units");
  EXPECT_EQ(rule.exit_code, 0);
  EXPECT_EQ(rule.output.find("dead_units\n  error; "), 0u) << rule.output;
  EXPECT_TRUE(contains(rule.output, "\n  dead_share (0.5): ")) << rule.output;
  EXPECT_TRUE(contains(rule.output, "\n  to silence it: health: {off: [dead_units]}\n")) << rule.output;
  EXPECT_ENDS(explain("death_rate"), 0, "Output Activations\n");
  EXPECT_TRUE(contains(explain("dead_unit").output, "did you mean 'dead_units'?"));
  EXPECT_TRUE(contains(explain("dead").output, "did you mean 'dead_units'?"));
}

TEST(Explain, ExplainsCausesAndConsequencesOfARule) {
  const std::string told = explain("unchanged_parameter").output;
  EXPECT_TRUE(contains(told, "\n  why it happens: often because of ")) << told;
  EXPECT_TRUE(contains(told, "dead_units")) << told;
  EXPECT_TRUE(contains(explain("dead_units").output, "\n  what may follow: ")) << told;
  EXPECT_TRUE(contains(explain("dead_units").output, "\n  to set its threshold: health: {dead_share: 0.5}\n"));
}

TEST(Explain, ShowsAnExampleOfEachRuleAndItsRepair) {
  std::vector<std::string> rules = {"memory_creep", "one_layer_dominates"};
  for (const char* lens : {"health", "ranks"}) {
    const Finished described = run(LOUPE_COMMAND + " describe " + lens, fresh_folder());
    const std::string title = "\ntags, and their contents\n", text = described.output;
    ASSERT_TRUE(contains(text, title)) << text;
    for (const std::string& line : lines_of(text.substr(text.find(title) + title.size()))) {
      if (line.rfind("  ", 0) != 0) break;
      rules.push_back(line.substr(2, line.find(": ") - 2));
    }
  }
  ASSERT_GT(rules.size(), 50u);
  for (const std::string& rule : rules) {
    const Finished told = run(std::string("COLUMNS=80 ") + LOUPE_COMMAND + " explain " + rule, fresh_folder());
    EXPECT_EQ(told.exit_code, 0) << told.output;
    const std::size_t fault = told.output.find("\n  for example:\n      "),
                      repair = told.output.find("\n  repaired:\n");
    EXPECT_FALSE(contains(told.output, "as the finding says")) << told.output;
    ASSERT_TRUE(fault != std::string::npos && repair != std::string::npos && fault < repair) << told.output;
    // Lines of code must not be wrapped: each fits 80 columns, and there are between 2 and 14 of them.
    std::size_t lines = 0;
    for (const std::string& line : lines_of(told.output.substr(fault + 1))) {
      if (line.rfind("      ", 0) == 0) ++lines;
      EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_GE(lines, 2u) << told.output;
    EXPECT_LE(lines, 14u) << told.output;
  }
}

TEST(Explain, ShowsCodeUnwrapped) {
  const std::string told = explain("mode_mismatch").output;
  EXPECT_TRUE(
      contains(told, "\n  repaired:\n      for (int epoch = 0; epoch < 20; ++epoch) {\n        model->train();\n"))
      << told;
  EXPECT_EQ(explain("straggler").output.find("straggler\n  error or warning; "), 0u);
}

TEST(Explain, ListsAllNamesIncludingThoseOfOtherPeoplesLenses) {
  const Finished listed = explain("--plugins " + PROBE_PLUGIN);
  EXPECT_EQ(listed.exit_code, 0);
  for (const char* name :
       {"\ndead_units ", "\nstraggler ", "\nmemory_creep ", "\nLearning Rate ", "\nNon-Finite Values ", "\nProbe "})
    EXPECT_TRUE(contains(listed.output, name)) << name << listed.output;
}

TEST(Explain, AcceptsANameAfterAFolderOfPlugins) {
  const Finished told = explain("--plugins " + PROBE_PLUGIN + " 'Weight Norm'");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output.find("Weight Norm\n"), 0u) << told.output;
}

TEST(Explain, LeavesNoFileBehind) {
  const auto folder = fresh_folder();
  run(LOUPE_COMMAND + " explain", folder);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Glossary, IsWhatTheLensesSay) {
  std::ifstream file(GLOSSARY);
  const std::string kept{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Finished told = run("LOUPE_PLUGIN_PATH= " + LOUPE_COMMAND + " explain --glossary", fresh_folder());
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output, kept) << "write the file again: loupe explain --glossary > plugins/GLOSSARY.md";
}

}  // namespace
}  // namespace loupe::test
