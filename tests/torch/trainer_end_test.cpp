// The record of a trainer's run that does not finish normally.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace nn = torch::nn;
using Json = nlohmann::json;

const char* const out_of_patience = "out of patience";

struct EndingTrainer {
  explicit EndingTrainer(const fs::path& folder)
      : inspector(loupe::Inspector::from_text("attach: {summary: false}\nrun: {dir: '" + folder.string() +
                                              "'}\nlenses: [health, loss_metrics]\nvisualizers: [record, csv]\n")),
        optimizer(model->parameters(), 0.05) {
    inspector.attach(*model, optimizer);
  }
  void step(bool clears = true) {
    if (clears) optimizer.zero_grad();
    const auto loss = nn::functional::cross_entropy(model->forward(torch::randn({16, 6})), torch::randint(3, {16}));
    loss.backward();
    optimizer.step();
    inspector.push_loss(loss, true);
  }
  /// Trains two epochs and calls `in_the_third` within the third.
  void train(const std::function<void()>& in_the_third) {
    for (const int epoch : inspector.epochs(9)) {
      step();
      if (epoch == 3) in_the_third();
    }
  }

  nn::Sequential model{nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3)};
  loupe::Inspector inspector;
  torch::optim::SGD optimizer;
};

class Ending : public ::testing::Test {
 protected:
  Ending() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked child cannot train with some LibTorch versions
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / "loupe-ending" / test->name();
    if (::testing::internal::InDeathTestChild()) return;
    fs::remove_all(folder_);
  }

  void expect_end(const std::string& how, const Json& message, std::size_t ticks, bool is_broken_off) const {
    std::vector<Json> told, ends;
    std::ifstream stream(folder_ / "record.jsonl");
    for (std::string line; std::getline(stream, line);) {
      const Json json = Json::parse(line);
      if (json["kind"] == "tick") told.push_back(json);
      if (json["kind"] == "end") ends.push_back(json);
    }
    ASSERT_EQ(told.size(), ticks);
    EXPECT_EQ(told.back()["incomplete"], is_broken_off);
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0]["how"], how);
    EXPECT_EQ(ends[0].value("message", Json()), message);
  }

  fs::path folder_;
};
using EndingDeathTest = Ending;

const char* const by_exception = "an exception left the training loop";

void lose_patience() {
  throw std::runtime_error(out_of_patience);
}

TEST_F(Ending, ByAnExceptionThatDestroysTheInspectorIsAFailure) {
  EXPECT_THROW(EndingTrainer(folder_).train(&lose_patience), std::runtime_error);
  expect_end("failed", by_exception, 3, true);
}

TEST_F(Ending, ByAnExceptionThatIsCaughtOutsideTheLoopIsAFailure) {
  {
    EndingTrainer trainer(folder_);
    EXPECT_THROW(trainer.train(&lose_patience), std::runtime_error);
  }
  expect_end("failed", by_exception, 3, true);
}

TEST_F(Ending, OfATrainerThatContinuesAfterAnExceptionIsItsLaterEnd) {
  {
    EndingTrainer trainer(folder_);
    EXPECT_THROW(trainer.train(&lose_patience), std::runtime_error);
    for ([[maybe_unused]] const int epoch : trainer.inspector.epochs(3, 9)) trainer.step();
  }
  expect_end("completed", nullptr, 9, false);
}

TEST_F(Ending, ByABreakIsAnInterruption) {
  {
    EndingTrainer trainer(folder_);
    for (const int epoch : trainer.inspector.epochs(9)) {
      if (epoch == 3) break;
      trainer.step();
    }
  }
  expect_end("interrupted", nullptr, 2, false);
}

TEST_F(Ending, ByAnExceptionCallsNoCallbackThatMayReferToDestroyedVariables) {
  int told = 0;
  {
    EndingTrainer trainer(folder_);
    trainer.inspector.on_finding([&](const loupe::Finding&) { ++told; });
    const auto forget_to_clear = [&] {
      nn::functional::cross_entropy(trainer.model->forward(torch::full({16, 6}, NAN)), torch::randint(3, {16}))
          .backward();
      told = 0;
      lose_patience();
    };
    EXPECT_THROW(trainer.train(forget_to_clear), std::runtime_error);
  }
  EXPECT_EQ(told, 0);
}

TEST_F(EndingDeathTest, ByExitOnAnotherThreadIsRecorded) {
  EXPECT_EXIT(EndingTrainer(folder_).train([] { std::thread([] { std::exit(5); }).join(); }),
              ::testing::ExitedWithCode(5), "");
  expect_end("interrupted", "the program ended by exit()", 3, true);
}

/// A trainer whose model runs again in the destructor. backward() cannot run there: LibTorch has already destroyed
/// data that it keeps for each thread.
struct LateModel {
  explicit LateModel(const fs::path& folder) : trainer(folder) {
    trainer.train([] {});
  }
  LateModel(const LateModel&) = delete;
  LateModel& operator=(const LateModel&) = delete;
  ~LateModel() {
    const torch::NoGradGuard no_grad;
    for (int i = 0; i < 9; ++i) trainer.model->forward(torch::ones({16, 6}));
    trainer.optimizer.step();
    std::fputs("ran late\n", stderr);
  }
  EndingTrainer trainer;
};

TEST_F(EndingDeathTest, MayComeBeforeAModelRunsInTheDestructorOfAStaticObject) {
  const auto leave = [&] {
    static const LateModel late(folder_);
    std::exit(5);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(5), "ran late");
  expect_end("completed", nullptr, 9, false);
}

TEST_F(Ending, MayComeInTheDestructorOfAThreadsOwnObject) {
  std::thread([&] {
    // Created before Loupe's objects of this thread, and therefore destroyed after them.
    thread_local std::unique_ptr<LateModel> late;
    static_cast<void>(late.get());
    late = std::make_unique<LateModel>(folder_);
  }).join();
  expect_end("completed", nullptr, 9, false);
}

}  // namespace
