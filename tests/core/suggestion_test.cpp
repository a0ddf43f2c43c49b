#include "core/text.h"

#include <gtest/gtest.h>

namespace loupe {
namespace {

const std::vector<std::string> known = {"output_activation", "loss_metrics", "parameter_norm"};

TEST(Suggestion, NamesTheNearestOfAFewTypos) {
  EXPECT_EQ(suggestion("output_activaton", known), "; did you mean 'output_activation'?");
  EXPECT_EQ(suggestion("los_metric", known), "; did you mean 'loss_metrics'?");
}

TEST(Suggestion, CountsASwapOfNeighboursAsOneTypo) {
  EXPECT_EQ(suggestion("ab", {"cbax", "ba"}), "; did you mean 'ba'?");
  EXPECT_EQ(suggestion("dpeht", {"depth"}), "; did you mean 'depth'?");
}

TEST(Suggestion, ListsAllWhenNoneIsNear) {
  const std::string all = "; known are: output_activation, loss_metrics, parameter_norm";
  EXPECT_EQ(suggestion("parameter_difference", known), all);
  EXPECT_EQ(suggestion("dropout", known), all);
  EXPECT_EQ(suggestion("dead_units", {"probe_lens"}), "; the only one is: probe_lens");
}

TEST(Suggestion, OfShortNamesIsNotFarFetched) {
  EXPECT_EQ(suggestion("lr", {"dir", "eps"}), "; known are: dir, eps");
  EXPECT_EQ(suggestion("x", {"y", "z"}), "; known are: y, z");
  EXPECT_EQ(suggestion("csv", {"html", "svg"}), "; known are: html, svg");
  EXPECT_EQ(suggestion("name", {"dir", "size", "same"}), "; did you mean 'same'?");
}

TEST(Suggestion, TakesABeginningForTheWhole) {
  EXPECT_EQ(suggestion("directory", {"name", "dir", "resume"}), "; did you mean 'dir'?");
  EXPECT_EQ(suggestion("param", known), "; did you mean 'parameter_norm'?");
  EXPECT_EQ(suggestion("no", {"norm", "other"}), "; known are: norm, other");
}

TEST(Suggestion, OfAnEndlessNameTakesNoTime) {
  EXPECT_EQ(suggestion(std::string(1'000'000, 'a'), {"a", "ab"}), "; known are: a, ab");
}

TEST(Suggestion, ListsManyNamesInColumns) {
  std::vector<std::string> many;
  for (char letter = 'a'; letter <= 'u'; ++letter) many.push_back(std::string(20, letter));
  const std::string text = suggestion("1", many);
  EXPECT_EQ(text.rfind("; known are:\n  aaaaaaaaaaaaaaaaaaaa  bbbbbbbbbbbbbbbbbbbb  cccccccccccccccccccc\n  dddd", 0),
            0u)
      << text;
  EXPECT_NE(text.find("  uuuuuuuuuuuuuuuuuuuu"), std::string::npos) << text;
}

TEST(Columns, HoldNamesBelowEachOther) {
  EXPECT_EQ(in_columns({"one", "two", "three", "four", "five"}, 14, 2), "  one    two\n  three  four\n  five");
  EXPECT_EQ(in_columns({"longer than that", "b"}, 8, 1), " longer than that\n b");
  EXPECT_EQ(in_columns({}, 80, 2), "");
}

TEST(Suggestion, SaysThatThereIsNothingToChooseFrom) {
  EXPECT_EQ(suggestion("x", {}), "; there are none");
}

TEST(Suggestion, TakesAnEmptyName) {
  EXPECT_EQ(suggestion("", {"a", "abcd"}), "; known are: a, abcd");
}

}  // namespace
}  // namespace loupe
