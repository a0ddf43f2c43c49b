#include "ranks/judge.h"

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ranks/prints.h"
#include "says.h"

namespace loupe::ranks {
namespace {

/// Sets what ranks report about a model of two layers and a buffer, and returns the findings.
class JudgeOfRanks : public testing::Test {
 protected:
  static Replica replica() {
    Replica replica;
    replica.start = {11, 12, 0};
    replica.parameters = {21, 22, 23};
    replica.gradients = {{1, {31, 32, 0}}, {2, {41, 42, 0}}, {3, {51, 52, 0}}};
    replica.first_states = {{"exp_avg", {61, 62}}, {"step", {63, 63}}};
    replica.states = {{"exp_avg", {71, 72}}, {"step", {73, 73}}};
    return replica;
  }
  static RankRecord record(int rank) {
    RankRecord record;
    record.loupe_version = record.framework_version = "1";
    record.learning_rate = 0.1;
    record.steps = record.all_steps = record.losses = record.compared = record.timed = 20;
    record.batch_size = 16;
    record.loss = 1 + 0.1 * rank;
    record.gradient = 2 + 0.1 * rank;
    record.step_seconds = 0.1;
    record.waited_seconds = 0.01;
    for (uint64_t i = 1; i <= 8; ++i) record.batches.push_back(static_cast<uint64_t>(rank) * 100 + i);
    return record;
  }

  void SetUp() override {
    for (int rank = 0; rank < 4; ++rank) {
      replicas[rank] = replica();
      records[rank] = record(rank);
    }
  }

  static void add(const Replica& replica, int rank, std::vector<Said::Group>& groups) {
    for (Said::Group& group : groups) {
      if (group.replica.bytes() == replica.bytes()) return group.ranks.push_back(rank);
    }
    groups.push_back({replica, {rank}});
  }

  /// Judges one more tick. Returns the findings as "rule severity state: message".
  Texts judge() {
    Said said;
    said.world_size = 4;
    said.records = records;
    for (const auto& [rank, own] : replicas) {
      Replica parameters = own, buffers, states;
      buffers.parameters = {0, 0, std::exchange(parameters.parameters[2], 0)};
      states.first_states = std::exchange(parameters.first_states, {});
      states.states = std::exchange(parameters.states, {});
      add(parameters, rank, said.replicas);
      add(buffers, rank, said.buffers);
      add(states, rank, said.states);
    }
    Texts told;
    judge_.judge(said, {{"one", "weight", false}, {"two", "weight", false}, {"norm", "running_mean", true}},
                 [&](const Finding& finding) {
                   // Sets the state as a host does.
                   const std::string identity = finding.rule + finding.layer + finding.parameter;
                   const bool is_new = standing_.insert(identity).second;
                   if (finding.is_over) standing_.erase(identity);
                   const char* state = finding.is_over ? " 3 " : is_new ? " 1 " : " 2 ";
                   told.push_back(finding.rule + " " + std::to_string(finding.severity) + state + finding.layer + "." +
                                  finding.parameter + ": " + finding.message + " -> " + finding.advice);
                 });
    return told;
  }
  std::string told() { return only(judge()); }

  std::map<int, Replica> replicas;
  std::map<int, RankRecord> records;
  Judge judge_;
  std::set<std::string> standing_;
};

TEST_F(JudgeOfRanks, FindsNothingInReplicasThatAgree) {
  for (int tick = 0; tick < 5; ++tick) EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, NamesTheRanksAndTheFirstParameterThatDriftOnce) {
  replicas[2].parameters[1] = 99;
  EXPECT_SAYS(told(),
              "rank 2 from ranks 0, 1 and 3, first in two.weight; the gradients that they used were equal in all 3 "
              "steps that were compared, and their optimizers' states are equal ->");
  EXPECT_EQ(judge(), Texts());
  replicas[2] = replica();
  EXPECT_SAYS(told(), "replica_drift 3 3 ");
}

TEST_F(JudgeOfRanks, KeepsADriftOpenIfTheModelIsDestroyedBeforeTheLastTick) {
  replicas[2].parameters[1] = 99;
  EXPECT_SAYS(told(), "replica_drift 3 1 ");
  for (auto& [rank, each] : replicas) each.parameters = {0, 0, 0};
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, NamesTheCauseOfADrift) {
  replicas[2].parameters[0] = 99;
  replicas[2].start[0] = 98;
  EXPECT_SAYS(told(), "they differed before the first step");
  replicas[2].start[0] = 11;
  records[2].all_steps = 19;
  judge_ = Judge();
  EXPECT_SAYS(told(), "rank 2 made 19 steps and the others 20");
  records[2].all_steps = 20;
  records[2].learning_rate = 0.2;
  judge_ = Judge();
  const Texts both = judge();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_SAYS(both[0], "different settings: the learning rate is 0.1 in ranks 0, 1 and 3 and 0.2 in rank 2");
  EXPECT_SAYS(both[1], "their learning rates differ");
  records[2].learning_rate = 0.1;
  replicas[2].gradients[1].used[1] = 97;
  judge_ = Judge();
  EXPECT_SAYS(told(), "the gradients that they used differed at step 2, first in two.weight");
}

TEST_F(JudgeOfRanks, ReportsUnaveragedGradientsWithoutTheirConsequences) {
  for (auto& [rank, own] : replicas) {
    own.parameters[0] += static_cast<uint64_t>(rank);
    for (Replica::Gradients& each : own.gradients) {
      for (uint64_t& used : each.used) used += used != 0 ? static_cast<uint64_t>(rank) : 0;
    }
  }
  const std::string text = told();
  EXPECT_BEGINS(text, "gradients_not_averaged 3 1 one.weight: ");
  EXPECT_SAYS(text, "in 3 of the 3 steps that were compared, first at step 1 in one.weight: ");
  EXPECT_SAYS(text, "(4 different ones)");
}

/// Gradients with the same direction in all ranks. Those of the last rank have different bytes.
class ScaledGradients : public JudgeOfRanks {
 protected:
  void SetUp() override {
    JudgeOfRanks::SetUp();
    replicas[3].parameters[0] = 99;
    for (auto& [rank, own] : replicas) {
      double size = 1;
      for (Replica::Gradients& each : own.gradients) {
        each.used[0] += rank == 3 ? 100 : 0;
        each.shape = {7, 2 * size, size};
        size *= 1.5;
      }
    }
  }
  /// The part of the message after the parameter.
  std::string cause() {
    judge_ = Judge();
    standing_.clear();
    const std::string text = told();
    const std::string drift = "replica_drift 3 1 one.weight: ";
    EXPECT_EQ(text.substr(0, drift.size()), drift) << text;
    const std::size_t at = text.find("; ");
    return at != std::string::npos ? text.substr(at + 2) : text;
  }
};

TEST_F(ScaledGradients, AreReportedAsMultiplesAndNotAsUnaveraged) {
  for (Replica::Gradients& each : replicas[3].gradients)
    each.shape = {7, 0.1 * each.shape.norm, 0.1 * each.shape.largest};
  EXPECT_SAYS(cause(),
              "at step 1, but had one direction: those of rank 3 are 0.1 times those of ranks 0, 1 and 2: they are "
              "clipped or scaled only in rank 3 -> clip and scale gradients after they are averaged");
  replicas.erase(1);
  replicas.erase(2);
  EXPECT_SAYS(cause(),
              "those of rank 3 are 0.1 times those of rank 0: they are clipped or scaled only in one of the two");
}

TEST_F(ScaledGradients, ThatAreTheSumOverRanksAreReportedAsUndivided) {
  for (Replica::Gradients& each : replicas[3].gradients) each.shape = {7, 4 * each.shape.norm, 4 * each.shape.largest};
  EXPECT_SAYS(cause(), "those of rank 3 are 4 times those of ranks 0, 1 and 2, by the number of ranks: some divide");
}

TEST_F(ScaledGradients, WithALimitOfTheirElementsAreReportedAsClippedByValue) {
  for (Replica::Gradients& each : replicas[3].gradients) each.shape = {7, 0.5 * each.shape.norm, 0.25};
  EXPECT_SAYS(cause(),
              "those of rank 3 have no element above 0.25 and the signs of ranks 0, 1 and 2: their values are clipped "
              "only in rank 3");
}

TEST_F(ScaledGradients, WithDifferentFactorsAreReportedAsScaledByEachRank) {
  for (int rank = 1; rank < 4; ++rank) {
    for (Replica::Gradients& each : replicas[rank].gradients) {
      each.used[0] += static_cast<uint64_t>(rank);
      each.shape = {7, each.shape.norm / (rank + 1), each.shape.largest / (rank + 1)};
    }
  }
  EXPECT_SAYS(cause(), "but had one direction: each rank clips or scales them differently");
}

TEST_F(ScaledGradients, WithDifferentSignsAreNotReportedAsScaled) {
  for (const uint64_t signs : {8, 0}) {
    for (Replica::Gradients& each : replicas[3].gradients)
      each.shape = {7, 0.1 * each.shape.norm, 0.1 * each.shape.largest};
    replicas[3].gradients[1].shape.signs = signs;
    judge_ = Judge();
    const Texts texts = judge();
    ASSERT_FALSE(texts.empty());
    for (const std::string& each : texts) EXPECT_EQ(each.find("one direction"), std::string::npos) << each;
  }
}

TEST_F(ScaledGradients, WithRoundingErrorsAreNotReportedAsScaled) {
  for (Replica::Gradients& each : replicas[3].gradients) each.shape.norm *= 1.001;
  judge_ = Judge();
  const Texts texts = judge();
  ASSERT_FALSE(texts.empty());
  for (const std::string& each : texts) EXPECT_EQ(each.find("one direction"), std::string::npos) << each;
}

TEST_F(JudgeOfRanks, AcceptsAveragedParameters) {
  // Each rank steps with its own gradients, and the ranks average their parameters before the tick.
  for (auto& [rank, own] : replicas) own.gradients[0].used[0] += static_cast<uint64_t>(rank);
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, NamesTheStateOfAnOptimizerThatDriftsWhileParametersAreEqual) {
  replicas[2].states["exp_avg"][1] = 99;
  EXPECT_SAYS(told(),
              "rank 2 from ranks 0, 1 and 3, first in 'exp_avg' of two.weight, while all parameters are still equal; "
              "the gradients that they used were equal in all 3 steps that were compared -> compare the optimizers'");
  EXPECT_EQ(judge(), Texts());
  replicas[2] = replica();
  EXPECT_SAYS(told(), "replica_drift 3 3 ");
}

TEST_F(JudgeOfRanks, TellsAnOptimizerThatWasNotRestoredFromOneWhoseMemoryChanged) {
  for (auto* states : {&replicas[3].first_states, &replicas[3].states}) {
    for (auto& [name, prints] : *states) {
      for (uint64_t& print : prints) print += 100;
    }
  }
  EXPECT_SAYS(told(),
              "while all parameters are still equal; they already differed after the first step -> let all ranks "
              "restore their optimizers' states");
  judge_ = Judge();
  replicas[3].parameters[0] = 99;
  EXPECT_SAYS(told(),
              "in all 3 steps that were compared, but their optimizers' states differ, first 'exp_avg' of one.weight, "
              "already after the first step -> let all ranks");
  judge_ = Judge();
  replicas[3].first_states = replica().first_states;
  for (auto& [rank, own] : replicas) own.gradients.resize(1);
  EXPECT_SAYS(told(), "states differ, first 'exp_avg' of one.weight -> compare the optimizers'");
}

TEST_F(JudgeOfRanks, TakesStatesThatSomeRanksDoNotKeepForNoDrift) {
  // The states are divided: two ranks keep each state, and no rank keeps that of the second parameter.
  for (auto& [rank, own] : replicas) {
    const uint64_t half = static_cast<uint64_t>(rank) / 2;
    own.first_states = {};
    own.states = {{half == 0 ? "exp_avg" : "exp_avg_sq", {71 + half, 0}}};
  }
  EXPECT_EQ(judge(), Texts());
  replicas[3].states["exp_avg_sq"][0] = 99;
  EXPECT_SAYS(told(), "rank 3 from rank 2, first in 'exp_avg_sq' of one.weight");
  judge_ = Judge();
  replicas[3].states = {};  // the rank made no step since the last tick, or its states are on a device
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, ComparesNoStatesWhereGradientsDifferOrAreUnknown) {
  // Each rank steps with its own gradients, and the ranks average only their parameters.
  for (auto& [rank, own] : replicas) {
    own.gradients[2].used[0] += static_cast<uint64_t>(rank);
    own.states["exp_avg"][0] += static_cast<uint64_t>(rank);
  }
  EXPECT_EQ(judge(), Texts());
  for (auto& [rank, own] : replicas) {
    for (Replica::Gradients& each : own.gradients) each.used[0] = 0;
  }
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, ReportsDriftingBuffersAsInfo) {
  replicas[1].parameters[2] = 99;
  EXPECT_SAYS(told(), "replica_drift 1 1 norm.running_mean: the buffer norm.running_mean differs between ranks");
}

TEST_F(JudgeOfRanks, ComparesNoReplicasOfDifferentModels) {
  records[3].model = 7;
  replicas[3].parameters[0] = 99;
  EXPECT_SAYS(told(), "different settings: the model is of kind A in ranks 0, 1 and 2 and of kind B in rank 3");
}

TEST_F(JudgeOfRanks, NamesTheLayerThatIsInEvalModeInOneRankOnly) {
  records[2].evaluated = {"norm"};
  EXPECT_SAYS(told(),
              "ranks_differ 2 1 norm.: norm is in eval mode while rank 2 trains, and not while ranks 0, 1 and 3 do -> "
              "call train() on the whole model in every rank");
  EXPECT_EQ(judge(), Texts());
  records[2].evaluated = {"drop", "norm"};
  records[1].evaluated = {"drop", "norm"};
  judge_ = Judge();
  EXPECT_SAYS(told(), "ranks_differ 2 1 drop.: drop and 1 more layer are in eval mode while ranks 1 and 2 train, and");
  for (auto& [rank, own] : records) own.evaluated = {"norm"};  // frozen in all ranks
  judge_ = Judge();
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, FindsRanksThatTrainOnTheSameData) {
  records[3].batches = records[1].batches;
  EXPECT_SAYS(told(), "same_data 2 1 .: ranks 1 and 3 train on identical batches: all of the 8 that were compared");
  records[3].batches[7] = 1;
  EXPECT_SAYS(told(), "same_data 2 3 ");
  for (auto& [rank, own] : records) own.batches = {5, 5, 5, 5};  // a single batch for all, like a constant input
  EXPECT_EQ(judge(), Texts());
  for (auto& [rank, own] : records) own.batches = {0, 1, 2, 3};  // the print of one batch is unknown
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, FindsEqualDropoutMasksOnDifferentData) {
  std::string mask, other;
  for (int i = 0; i < 200; ++i) {
    mask += i % 3 == 0 ? 'd' : 'k';
    other += i % 4 == 0 ? 'd' : 'k';
  }
  for (auto& [rank, own] : records) own.masks = {{"drop", mask}};
  records[2].masks[0].second[5] = '?';
  EXPECT_SAYS(told(),
              "same_dropout 1 1 .: ranks 0, 1, 2 and 3 drop the same elements of their different batches (drop)");
  records[2].masks[0].second = other;
  EXPECT_SAYS(told(), "same_dropout 1 3 ");
  for (auto& [rank, own] : records) own.masks[0].second = std::string(200, 'k');  // no element is dropped
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, DistinguishesTheRankThatMadeANaNFromThoseThatReceivedIt) {
  for (auto& [rank, own] : records) {
    const uint64_t step = rank == 1 ? 57 : 58;
    own.non_finite = {step, rank == 1 ? "two" : "one", "the output", step};
  }
  EXPECT_SAYS(told(), "rank 1, after step 57, in the output of two; ranks 0, 2 and 3 had none before step 58");
  judge_ = Judge();
  for (auto& [rank, own] : records) own.non_finite.step = 57;
  EXPECT_EQ(judge(), Texts()) << "all ranks have it at the same step";
}

TEST_F(JudgeOfRanks, BlamesNoRankIfOthersMayHaveHadTheNaNInAnUnmeasuredStep) {
  for (auto& [rank, own] : records) own.non_finite = {60, "one", "the output", 41};
  records[1].non_finite = {57, "two", "the output", 41};
  EXPECT_EQ(judge(), Texts());
  records[1].non_finite.step = 60;
  records[0].non_finite = {};
  records[0].non_finite.finite_before = 61;
  EXPECT_EQ(judge(), Texts()) << "three ranks saw it in the same step, and each may have had it before";
}

TEST_F(JudgeOfRanks, UsesTheLossOfEachStepIfARankMeasuredTooLittle) {
  for (auto& [rank, own] : records) {
    own.non_finite = {60, "one", "the output", 41};
    const uint64_t step = rank == 2 ? 55 : 56;
    own.bad_loss = {step, "", "the training loss", step};
  }
  EXPECT_BEGINS(told(), "rank_non_finite 3 1 .: the first NaN or Inf appeared in rank 2, after step 55, in the ");
}

TEST_F(JudgeOfRanks, NamesTheRankThatWaitsLeastAfterThreeTicks) {
  for (auto& [rank, own] : records) own.waited_seconds = rank == 3 ? 0.001 : 0.015;
  EXPECT_EQ(judge(), Texts());
  EXPECT_EQ(judge(), Texts());
  EXPECT_SAYS(told(), "rank 3 is slowest: between backward and step the others wait 15 of 100 ms, it waits 1 ms ");
  for (auto& [rank, own] : records) own.waited_seconds = rank == 3 ? 0.001 : 0.03;
  EXPECT_SAYS(told(), "straggler 3 2 ");
  for (auto& [rank, own] : records) own.waited_seconds = rank == 2 ? 0.001 : 0.03;
  EXPECT_SAYS(told(), "straggler 3 3 ") << "now rank 2 waits least, for only one tick";
}

TEST_F(JudgeOfRanks, NamesNoStragglerForTheNoiseOfShortSteps) {
  for (auto& [rank, own] : records) {
    own.step_seconds = 0.008;
    own.waited_seconds = rank == 3 ? 0.0033 : 0.0043;
  }
  for (int tick = 0; tick < 5; ++tick) EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, NamesNoStragglerIfTooFewRanksAnswer) {
  for (auto& [rank, own] : records) own.waited_seconds = rank == 3 ? 0.001 : 0.03;
  records[1].waited_seconds = NAN;
  for (int tick = 0; tick < 5; ++tick) EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, KeepsAFindingOpenInATickWithoutCommonSteps) {
  const auto forget_steps = [&] {
    for (auto& [rank, own] : records) {
      own.compared = own.timed = 0;
      own.batches.clear();
      own.evaluated.clear();
      own.step_seconds = own.waited_seconds = own.input = own.batch_size = own.gradient = NAN;
    }
  };
  records[3].batches = records[1].batches;
  records[2].evaluated = {"norm"};
  for (auto& [rank, own] : records) {
    own.waited_seconds = rank == 3 ? 0.001 : 0.015;
    own.input = rank == 0 ? 8 : 1;
  }
  std::size_t told = 0;
  for (int tick = 0; tick < 3; ++tick) told += judge().size();
  EXPECT_EQ(told, 4U) << "same data, a mode, a straggler and an input";
  forget_steps();
  EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, FindsARankWithADifferentLossAfterThreeTicks) {
  records[2].loss = 4;
  EXPECT_EQ(judge(), Texts());
  EXPECT_EQ(judge(), Texts());
  EXPECT_SAYS(told(),
              "rank_imbalance 2 1 rank 2.training loss: the training loss of rank 2 is 4, that of the middle rank ");
  for (auto& [rank, own] : records) own.loss = std::pow(3, rank);  // all ranks differ from each other
  judge_ = Judge();
  for (int tick = 0; tick < 5; ++tick) EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, DistinguishesScaledInputsFromWrongLabels) {
  for (auto& [rank, own] : records) own.input = 1 + 0.01 * rank;
  records[2].loss = 4;
  judge();
  judge();
  EXPECT_SAYS(told(), "the training loss of rank 2 is 4");
  judge_ = Judge();
  judge();
  judge();
  EXPECT_SAYS(told(), "-> compare its labels with those of the others: its inputs are as large as theirs");
  judge_ = Judge();
  records[2].input = 8;
  records[2].gradient = 40;
  judge();
  judge();
  EXPECT_SAYS(told(), "the inputs of rank 2 is 8, that of the middle rank 1.03, in the last 3 ticks -> prepare the ");
}

TEST_F(JudgeOfRanks, ReportsDifferentInputsOfTwoRanks) {
  replicas.erase(2);
  replicas.erase(3);
  records.erase(2);
  records.erase(3);
  records[0].input = 0.5;
  records[1].input = 0.1;
  judge();
  judge();
  EXPECT_SAYS(told(), "the root mean square of the inputs of rank 0 is 0.5, that of the other rank 0.1, in the last 3");
}

TEST_F(JudgeOfRanks, IgnoresTheLossesOfRanksThatTrainSeparateModels) {
  replicas[2].parameters[1] = 99;
  records[2].loss = 4;
  EXPECT_SAYS(told(), "replica_drift ");
  for (int tick = 0; tick < 4; ++tick) EXPECT_EQ(judge(), Texts());
}

TEST_F(JudgeOfRanks, NamesTheOnlyRankThatIsFarFromTheOthers) {
  const auto tells = [&](const std::vector<double>& losses) {
    judge_ = Judge();
    for (int rank = 0; rank < 4; ++rank) records[rank].loss = losses[static_cast<std::size_t>(rank)];
    Texts last;
    for (int tick = 0; tick < 3; ++tick) last = judge();
    return last.empty() ? "" : last[0].substr(0, last[0].find(':'));
  };
  EXPECT_EQ(tells({1, 1, 1, 9}), "rank_imbalance 2 1 rank 3.training loss");
  EXPECT_EQ(tells({0.1, 1, 1.5, 1}), "rank_imbalance 2 1 rank 0.training loss") << "lower than the others";
  EXPECT_EQ(tells({1, 1, 9, 9}), "") << "two ranks differ in the same way";
  EXPECT_EQ(tells({1, 1, 9, NAN}), "rank_imbalance 2 1 rank 2.training loss");
  EXPECT_EQ(tells({1, NAN, 9, NAN}), "") << "two ranks do not show which one is odd";
  EXPECT_EQ(tells({1, 4, 9, 20}), "") << "the other ranks differ as much from each other";
}

TEST_F(JudgeOfRanks, ListsAFewOfManyDifferentSettings) {
  for (int rank = 0; rank < 2000; ++rank) {
    replicas[rank] = replica();
    records[rank] = record(rank);
    records[rank].loss = records[rank].gradient = 1;
    records[rank].learning_rate = 1 + rank;
  }
  const std::string text = told();
  EXPECT_SAYS(text, "the learning rate is 1 in rank 0, 2 in rank 1, 3 in rank 2, 4 in rank 3 and others in the other");
  EXPECT_LT(text.size(), 400u);
}

TEST_F(JudgeOfRanks, FindsADifferentNumberOfStepsButNotASmallDifference) {
  records[1].steps = 22;
  EXPECT_EQ(judge(), Texts());
  for (auto& [rank, own] : records) own.losses = own.steps = rank == 1 ? 30 : 20;
  EXPECT_SAYS(told(), "the number of steps since the last tick is 20 in ranks 0, 2 and 3 and 30 in rank 1");
}

TEST_F(JudgeOfRanks, FindsBatchesThatARankSkipsAlthoughItSteps) {
  records[2].losses = 15;
  EXPECT_SAYS(told(), "training losses, one for each batch, since the last tick is 20 in ranks 0, 1 and 3 and 15 in");
}

TEST_F(JudgeOfRanks, DoesNotCountBatchesByRareLosses) {
  for (auto& [rank, own] : records) own.losses = rank == 0 ? 20 : 2;
  EXPECT_EQ(judge(), Texts());
  for (auto& [rank, own] : records) own.losses = rank == 0 ? 20 : 0;
  EXPECT_EQ(judge(), Texts());
}

TEST(RankRecords, AreReadAsTheyWereWritten) {
  RankRecord record;
  record.masks = {{"a", "kd?"}};
  record.measured = {{.step = 7, .forwards = 2, .gradient_squares = 3, .batches = {1, 2}, .evaluated = {4}}};
  record.non_finite = {1, "m", "w", 1};
  record.bad_loss = {2, "", "l", 1};
  record.loss = 0.5;
  record.losses = 9;
  const RankRecord read = RankRecord::read(record.bytes());
  EXPECT_EQ(read.bytes(), record.bytes());
  EXPECT_EQ(read.measured.at(0).batches, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(read.bad_loss.what, "l");
  Replica replica;
  replica.gradients = {{3, {1, 2}, {6, 2, 1}}};
  replica.states = {{"exp_avg", {4, 0}}, {"step", {5}}};
  EXPECT_EQ(Replica::read(replica.bytes()).gradients[0].shape.signs, 6U);
  EXPECT_EQ(Replica::read(replica.bytes()).bytes(), replica.bytes());
  EXPECT_EQ(Replica::read(replica.bytes()).states, replica.states);
}

TEST(RankRecords, AreRefusedIfTheyAreTooShortOrTooLong) {
  Replica replica;
  replica.parameters = {1, 2};
  replica.gradients = {{3, {1, 2}}};
  replica.first_states = {{"step", {5}}};
  replica.states = {{"exp_avg", {4, 0}}, {"step", {5}}};
  const std::string bytes = replica.bytes();
  for (std::size_t size = 1; size < bytes.size(); ++size)
    EXPECT_THROW(Replica::read(std::string_view(bytes).substr(0, size)), Error) << size;
  EXPECT_THROW(Replica::read(bytes + '\0'), Error);
  std::string endless = Replica().bytes();  // claims to have more states than there are bytes
  endless.replace(endless.size() - 8, 8, std::string(8, '\x7f'));
  EXPECT_THROW(Replica::read(endless), Error);
}

TEST(Fingerprint, ChangesWithAnyBitOrLength) {
  std::string bytes(100, 'a');
  const uint64_t whole = fingerprint_of(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 1;
    EXPECT_NE(fingerprint_of(bytes), whole) << at;
    bytes[at] ^= 1;
  }
  EXPECT_EQ(fingerprint_of(bytes), whole);
  EXPECT_NE(fingerprint_of(bytes + '\0'), whole);
  EXPECT_NE(fingerprint_of(std::string(1, '\0')), fingerprint_of(std::string()));
}

}  // namespace
}  // namespace loupe::ranks
