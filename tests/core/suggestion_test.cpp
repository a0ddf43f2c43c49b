#include "core/suggestion.h"

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
  EXPECT_EQ(suggestion("parameter_difference", known),
            "; the nearest is 'parameter_norm', known are: output_activation, loss_metrics, parameter_norm");
}

TEST(Suggestion, SaysThatThereIsNothingToChooseFrom) {
  EXPECT_EQ(suggestion("x", {}), "; there are none");
}

TEST(Suggestion, TakesAnEmptyName) {
  EXPECT_EQ(suggestion("", {"a", "abcd"}), "; did you mean 'a'?");
}

}  // namespace
}  // namespace loupe
