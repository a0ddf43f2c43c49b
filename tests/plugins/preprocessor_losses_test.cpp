#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "stream.h"

namespace loupe::test {
namespace {

TEST(LossModulePreprocessor, FilesALossByWhetherGradientsAreOn) {
  PreprocessorStream stream("loss_module");
  stream.feed(Tensor({}, {2}), LOUPE_EVENT_GRAD_ENABLED);
  stream.feed(Tensor({}, {5}), LOUPE_EVENT_TRAINING);  // a loss module is seldom put in eval mode
  EXPECT_DOUBLE_EQ(*stream.get("train_loss"), 2);
  EXPECT_DOUBLE_EQ(*stream.get("val_loss"), 5);
}

TEST(LossModulePreprocessor, FilesALossByTheModulesModeWhenToldTo) {
  PreprocessorStream stream("loss_module", "{evaluation_from_grad: false}");
  stream.feed(Tensor({1}, {2}), LOUPE_EVENT_TRAINING);
  stream.feed(Tensor({1}, {5}), LOUPE_EVENT_GRAD_ENABLED);
  EXPECT_DOUBLE_EQ(*stream.get("train_loss"), 2);
  EXPECT_DOUBLE_EQ(*stream.get("val_loss"), 5);
}

TEST(LossModulePreprocessor, NamesItsSeriesAsTold) {
  PreprocessorStream stream("loss_module", "{train_loss: fit, val_loss: check}");
  EXPECT_EQ(stream.series(), (std::vector<std::string>{"fit", "check"}));
}

TEST(LossModulePreprocessor, RefusesAnUnreducedLoss) {
  PreprocessorStream stream("loss_module");
  try {
    stream.feed(Tensor({3}, {1, 2, 3}));
    FAIL() << "three numbers passed as a loss";
  } catch (const Error& e) {
    EXPECT_NE(std::strstr(e.what(), "3 numbers"), nullptr) << e.what();
  }
}

TEST(LossModulePreprocessor, CountsNanAndInf) {
  PreprocessorStream stream("loss_module", "{inplace: false}");
  stream.feed(Tensor({}, {NAN}));
  stream.feed(Tensor({}, {INFINITY}));
  stream.feed(Tensor({}, {3}));
  EXPECT_EQ(stream.values("train_loss"), std::vector<double>{3});
  EXPECT_EQ(stream.get("train_loss", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("train_loss", Aggregate::inf_count), 1);
}

TEST(ExplicitCallPreprocessor, FoldsWhatIsPushedUnderEachName) {
  PreprocessorStream stream("explicit_call");
  stream.push("accuracy", 0.5);
  stream.push("accuracy", 1.0);
  stream.push("train_loss", 3, LOUPE_EVENT_LOSS);
  EXPECT_EQ(stream.series(), (std::vector<std::string>{"accuracy", "train_loss"}));
  EXPECT_DOUBLE_EQ(*stream.get("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(*stream.get("train_loss"), 3);
  EXPECT_THROW(stream.values("accuracy"), Error);
}

TEST(ExplicitCallPreprocessor, KeepsWhatIsPushedToMemory) {
  PreprocessorStream stream("explicit_call");
  stream.push("accuracy", 0.5, LOUPE_EVENT_MEMORY);
  stream.push("accuracy", 1.0, LOUPE_EVENT_MEMORY);
  EXPECT_EQ(stream.values("accuracy"), (std::vector<double>{0.5, 1}));
}

TEST(ExplicitCallPreprocessor, TakesOnlyWhatItSelects) {
  PreprocessorStream losses("explicit_call", "{select: losses}");
  PreprocessorStream metrics("explicit_call", "{select: metrics}");
  for (PreprocessorStream* stream : {&losses, &metrics}) {
    stream->push("val_loss", 1, LOUPE_EVENT_LOSS);
    stream->push("accuracy", 2);
  }
  EXPECT_EQ(losses.series(), std::vector<std::string>{"val_loss"});
  EXPECT_EQ(metrics.series(), std::vector<std::string>{"accuracy"});
}

TEST(ExplicitCallPreprocessor, CountsPushedNanAndForgetsItWithTheEpoch) {
  PreprocessorStream stream("explicit_call", "{quantiles: true}");
  stream.push("loss", NAN);
  stream.push("loss", 2);
  EXPECT_DOUBLE_EQ(*stream.get("loss", Aggregate::median), 2);
  EXPECT_EQ(stream.get("loss", Aggregate::nan_count), 1);
  stream.reset();
  EXPECT_FALSE(stream.get("loss"));
}

TEST(ExplicitCallPreprocessor, TellsManyNamesApart) {
  PreprocessorStream stream("explicit_call");
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 30; ++i) stream.push(("name" + std::to_string(i)).c_str(), round * i);
  }
  ASSERT_EQ(stream.series().size(), 30U);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(stream.get("name" + std::to_string(i), Aggregate::count), 2) << i;
    EXPECT_EQ(stream.get("name" + std::to_string(i)), 1.5 * i) << i;
  }
  EXPECT_FALSE(stream.get("name30"));
}

}  // namespace
}  // namespace loupe::test
