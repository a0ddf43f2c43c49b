#include "ranks/exchange.h"

#include <fstream>

#include "ranks/rank_message.h"
#include "ranks/rank_tree.h"
#include "run_of_ranks.h"
#include "says.h"

namespace loupe {
namespace {

TEST(Exchange, SaysOnceWhichRankIsMissingAndWhenItIsBack) {
  RunOfRanks run(3, milliseconds(2000));
  const auto train = [&](int epochs, bool with_last) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (std::size_t rank = 0; rank < 3; ++rank) {
        if (rank == 2 && !with_last) continue;
        run[rank].forward(0, {1});
        run[rank].monitor.tick(std::nullopt);
      }
    }
  };
  train(1, true);
  train(2, false);
  std::this_thread::sleep_for(milliseconds(3500));  // until rank 0 waits no longer
  run[2].monitor.end(LOUPE_END_COMPLETED, nullptr);
  train(1, false);
  run.end();
  const std::string notes = notes_of(run.folder);
  EXPECT_SAYS(notes, "from epoch 2 on numbers are of 2 of 3 ranks: rank 2 did not answer within 2 s");
  EXPECT_EQ(notes.find("epoch 3"), std::string::npos) << notes;
  const auto numbers = numbers_of(run.folder);
  EXPECT_EQ(numbers.count("4.000000 Output Norm/one/mean"), 1u);
}

TEST(Exchange, SaysOnceWhichRankCannotKeepItsRecordThoughItsNumbersAreThere) {
  RunOfRanks run(7, milliseconds(10000));
  fs::remove_all(run.folder + "/rank-5");
  fs::create_directories(run.folder);
  std::ofstream(run.folder + "/rank-5") << "no folder";
  for (int tick = 0; tick < 4; ++tick) {
    for (const auto& rank : run.ranks) rank->forward(0, {1});
    run.tick();
  }
  run.end();
  const std::string notes = notes_of(run.folder), told = "rank 5: the visualizer 'record' failed: ";
  EXPECT_SAYS(notes, told);
  EXPECT_EQ(notes.find(told), notes.rfind(told)) << notes;
  EXPECT_EQ(notes.find("numbers are of"), std::string::npos) << notes;
  EXPECT_EQ(numbers_of(run.folder).at("4.000000 Output Norm/one/mean").events, 7u);
}

/// Seven ranks, of which rank 5 and 6 send to rank 1. All have met.
class SevenRanks : public testing::Test {
 protected:
  SevenRanks() {
    EXPECT_EQ(RankTree(7, 1).parent(5), 1);
    tick();
    for (int waited = 0; !all_are_sent() && waited < 4000; ++waited) std::this_thread::sleep_for(milliseconds(5));
  }
  void tick() {
    for (const auto& rank : run.ranks) {
      if (rank) rank->forward(0, {3, 4});
    }
    run.tick();
  }
  RunOfRanks run{7, milliseconds(4000)};

 private:
  /// Whether rank 0 has the first tick of all.
  bool all_are_sent() {
    const std::lock_guard lock(run.memory->mutex);
    for (const auto& [box, senders] : run.memory->receivers) {
      if (box.find("-tick-0-to-0") != std::string::npos && senders.size() == 4) return true;
    }
    return false;
  }
};

TEST_F(SevenRanks, GoOnWithoutOneThatDiedAndTakeWhatWasMeantForIt) {
  *run[1].is_cut_off = true;
  tick();
  run.end();
  EXPECT_SAYS(notes_of(run.folder), "from epoch 2 on numbers are of 6 of 7 ranks: rank 1 did not answer within 4 s");
  EXPECT_EQ(numbers_of(run.folder).at("2.000000 Output Norm/one/mean").events, 6u);
}

TEST_F(SevenRanks, DoNotWaitForOneThatHasEnded) {
  run.ranks[1].reset();
  const auto begin = std::chrono::steady_clock::now();
  tick();
  run.end();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(4000));
  EXPECT_SAYS(notes_of(run.folder), "from epoch 2 on numbers are of 6 of 7 ranks: rank 1 ended before");
  EXPECT_EQ(numbers_of(run.folder).at("2.000000 Output Norm/one/mean").events, 6u);
}

TEST_F(SevenRanks, KeepTheirRecordsWhereRankZeroDies) {
  *run[0].is_cut_off = true;
  tick();
  run.end();
  for (int rank = 1; rank < 7; ++rank) {
    const auto numbers = numbers_of(run.folder + "/rank-" + std::to_string(rank));
    EXPECT_EQ(numbers.count("2.000000 Output Norm/one/mean"), 1u) << rank;
  }
  EXPECT_EQ(numbers_of(run.folder).at("2.000000 Output Norm/one/mean").events, 1u);
}

TEST(Exchange, KeepsWhatARankSentLongBeforeRankZeroCameSoFar) {
  constexpr int ticks = 30;
  RunOfRanks run(2);
  for (int tick = 0; tick < ticks; ++tick) {
    run[1].forward(0, {3, 4});
    run[1].monitor.tick(std::nullopt);
  }
  run[1].monitor.end(LOUPE_END_COMPLETED, nullptr);
  for (int tick = 0; tick < ticks; ++tick) {
    run[0].forward(0, {3, 4});
    run[0].monitor.tick(std::nullopt);
  }
  run[0].monitor.end(LOUPE_END_COMPLETED, nullptr);
  EXPECT_EQ(notes_of(run.folder), "");
  const auto numbers = numbers_of(run.folder);
  for (int tick = 1; tick <= ticks; ++tick) {
    const auto mean = numbers.find(std::to_string(static_cast<double>(tick)) + " Output Norm/one/mean");
    ASSERT_NE(mean, numbers.end()) << tick;
    EXPECT_EQ(mean->second.events, 2u) << tick;
  }
}

TEST(Exchange, WithoutAStoreShowsRankZeroAndSaysWhy) {
  const std::string folder = folder_of_test();
  fs::remove_all(folder);
  Stage stage;
  Rank alone(lenses, 0, 2, nullptr, milliseconds(300));
  alone.forward(0, {3, 4});
  alone.monitor.tick(std::nullopt);
  alone.forward(0, {3, 4});
  alone.monitor.tick(std::nullopt);
  alone.monitor.end(LOUPE_END_COMPLETED, nullptr);
  EXPECT_EQ(numbers_of(folder).count("1.000000 Output Norm/one/mean"), 1u);
  EXPECT_EQ(numbers_of(folder).count("2.000000 Output Norm/one/mean"), 1u);
  std::string told;
  for (const std::string& message : stage.take_messages()) told += message + "\n";
  EXPECT_SAYS(told, "is lost: there is no such store; from now on this run shows the numbers of rank 0 alone");
}

TEST(Exchange, GoesOnAloneWhereTheStoreIsLostHalfWay) {
  RunOfRanks run(2);
  run.tick();
  for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
  run.memory->set(&SharedMemory::is_lost, true);
  run.tick();
  for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
  run.tick();
  run.end();
  EXPECT_EQ(numbers_of(run.folder).count("3.000000 Output Norm/one/mean"), 1u);
  EXPECT_EQ(numbers_of(run.folder + "/rank-1").count("3.000000 Output Norm/one/mean"), 1u);
}

TEST(Exchange, DoesNotKeepARunFromEndingWhereTheStoreHangs) {
  RunOfRanks run(2, milliseconds(200));
  run.memory->set(&SharedMemory::hangs, true);
  for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
  run.tick();
  const auto begin = std::chrono::steady_clock::now();
  run.end();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(numbers_of(run.folder).count("1.000000 Output Norm/one/mean"), 1u);
  run.ranks.clear();
  run.memory->set(&SharedMemory::hangs, false);
  // The threads that were left behind use what the end of this process destroys.
  const auto limit = begin + std::chrono::seconds(120);
  while (run.memory.use_count() > 1 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(run.memory.use_count(), 1);
}

TEST(Exchange, LeavesOutAMessageThatCannotBeRead) {
  RunOfRanks run(2, milliseconds(500));
  run[0].forward(0, {3, 4});
  run[0].monitor.tick(std::nullopt);
  for (bool is_there = false; !is_there; std::this_thread::sleep_for(milliseconds(5))) {
    const std::lock_guard lock(run.memory->mutex);
    for (auto& [key, bytes] : run.memory->entries) is_there = is_there || key.find("welcome") == 0;
    for (const auto& [key, bytes] : run.memory->entries) {
      if (key.rfind("welcome/", 0) != 0) continue;
      const std::string session = bytes.substr(bytes.find(' ') + 1, bytes.rfind(' ') - bytes.find(' ') - 1);
      run.memory->entries[session + "-tick-0-to-0/1"] = "no message at all";
      break;
    }
  }
  run.end();
  std::string told;
  for (const std::string& message : run.stage.take_messages()) told += message + "\n";
  EXPECT_SAYS(told, "the numbers of rank 1 cannot be read: it is of another version of Loupe");
  EXPECT_EQ(numbers_of(run.folder).count("1.000000 Output Norm/one/mean"), 1u);
}

TEST(Exchange, ShowsTheRankThatIsFurthestOutWhereAskedTo) {
  RunOfRanks run(3, milliseconds(20000), lenses, true);
  for (std::size_t rank = 0; rank < 3; ++rank) run[rank].forward(0, {rank == 1 ? 30.0f : 3.0f, 4});
  run.tick();
  run.end();
  const auto numbers = numbers_of(run.folder);
  const auto furthest = numbers.find("1.000000 Output Norm/one/mean (rank 1)");
  ASSERT_NE(furthest, numbers.end());
  EXPECT_GT(furthest->second.numbers[0], numbers.at("1.000000 Output Norm/one/mean").numbers[0]);
}

TEST(RankTree, GivesEachRankAParentAndNoneMoreThanAHandfulOfChildren) {
  for (const auto& [world_size, per_host] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 4}, {7, 1}, {64, 8}, {1000, 8}, {16384, 8}}) {
    const RankTree tree(world_size, per_host);
    std::vector<int> received(static_cast<std::size_t>(world_size));
    for (int rank = 1; rank < world_size; ++rank) {
      const int parent = tree.parent(rank);
      ASSERT_GE(parent, 0);
      ASSERT_LT(parent, rank);
      ++received[static_cast<std::size_t>(parent)];
      if (rank % per_host != 0) {
        EXPECT_EQ(parent / per_host, rank / per_host) << "a host's ranks meet within it";
      }
    }
    int found = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      EXPECT_EQ(tree.children(rank).size(), static_cast<std::size_t>(received[static_cast<std::size_t>(rank)]));
      EXPECT_LE(tree.children(rank).size(), 2u * RankTree::fan_in);
      for (const int child : tree.children(rank)) EXPECT_EQ(tree.parent(child), rank);
      found += static_cast<int>(tree.children(rank).size());
    }
    EXPECT_EQ(found, world_size - 1);
    EXPECT_EQ(tree.parent(0), -1);
  }
}

TEST(RankMessage, IsReadAsItWasWrittenAndRefusedWhereItIsCutShort) {
  RankMessage message;
  message.tick = 7;
  message.ranks = {3, 4};
  message.lenses = {{"a", {{1, "bytes"}, {2, ""}}, ""}, {"b", {}, "why"}};
  message.extremes[5] = {-1, 2, 3, 4};
  message.faults[4] = "the disk is full";
  const std::string bytes = message.bytes();
  const RankMessage read = RankMessage::read(bytes);
  EXPECT_EQ(read.bytes(), bytes);
  EXPECT_EQ(read.lenses[0].sources[0].bytes, "bytes");
  EXPECT_EQ(read.extremes.at(5).high_rank, 4);
  EXPECT_EQ(read.faults, message.faults);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(RankMessage::read(bytes.substr(0, size)), Error) << size;
  EXPECT_THROW(RankMessage::read(bytes + "x"), Error);
}

}  // namespace
}  // namespace loupe
