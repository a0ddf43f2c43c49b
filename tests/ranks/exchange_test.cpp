#include "ranks/exchange.h"

#include <fstream>
#include <optional>
#include <set>

#include "child_process.h"
#include "core/run_folder.h"
#include "ranks/rank_message.h"
#include "run_of_ranks.h"
#include "says.h"

namespace loupe {
namespace {

TEST(Exchange, SaysOnceWhichRankIsMissingAndWhenItIsBack) {
  RunOfRanks run(3, milliseconds(4000));
  run.await_meeting();
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
  run.await_taken("-tick-2-to-0", "1");  // then rank 0 no longer waits for rank 2 in epoch 2
  run[2].monitor.end(LOUPE_END_COMPLETED, nullptr);
  train(1, false);
  run.end();
  const std::string notes = notes_of(run.folder);
  EXPECT_SAYS(notes, "from epoch 2 on numbers come from 2 of 3 ranks: rank 2 did not answer within 4 s");
  EXPECT_EQ(notes.find("epoch 3"), std::string::npos) << notes;
  const auto numbers = numbers_of(run.folder);
  EXPECT_EQ(numbers.count("4.000000 Output Norm/one/mean"), 1u);
}

TEST(RankThatShowsNothing, ReportsTheFirstErrorOfARuleAndOnceThatThereAreMore) {
  fs::remove_all(folder_of_test());
  const Stage stage;
  Rank rank(apart + lenses, 1, 2, nullptr, milliseconds(100));
  for (const char* layer : {"a", "b", "c"}) {
    Finding finding;
    finding.rule = "made_up";
    finding.severity = LOUPE_SEVERITY_ERROR;
    finding.layer = layer;
    finding.message = "it is broken";
    rank.monitor.publish(finding.c_form(), "the test");
  }
  rank.monitor.tick(std::nullopt);
  Texts told = stage.take_messages();
  std::erase_if(told, [](const std::string& each) { return each.find("(made_up; see ") == std::string::npos; });
  ASSERT_EQ(told.size(), 2U);
  EXPECT_SAYS(told[0], "a: it is broken (made_up; see ");
  EXPECT_SAYS(told[1], "the same for more layers (made_up; see ");
}

TEST(Exchange, ReportsOnceWhichRankCannotWriteItsRecord) {
  RunOfRanks run(7, milliseconds(10000));
  fs::remove_all(run.folder + "/rank-5");
  fs::create_directories(run.folder);
  std::ofstream(run.folder + "/rank-5") << "this is not a folder";
  for (int tick = 0; tick < 4; ++tick) {
    for (const auto& rank : run.ranks) rank->forward(0, {1});
    run.tick();
  }
  run.end();
  const std::string notes = notes_of(run.folder), told = "rank 5: the visualizer 'record' failed: ";
  EXPECT_SAYS(notes, told);
  EXPECT_EQ(notes.find(told), notes.rfind(told)) << notes;
  EXPECT_EQ(notes.find("numbers come from"), std::string::npos) << notes;
  EXPECT_EQ(numbers_of(run.folder).at("4.000000 Output Norm/one/mean").events, 7u);
}

/// Seven ranks that have met. Ranks 5 and 6 send to rank 1.
class SevenRanks : public testing::Test {
 protected:
  explicit SevenRanks(milliseconds timeout = milliseconds(4000)) : run(7, timeout) {
    EXPECT_EQ(RankTree(7, 1).parent(5), 1);
    run.await_meeting();
    tick();
    for (int waited = 0; !all_are_sent() && waited < 4000; ++waited) std::this_thread::sleep_for(milliseconds(5));
  }
  void tick() {
    for (const auto& rank : run.ranks) {
      if (rank) rank->forward(0, {3, 4});
    }
    run.tick();
  }
  RunOfRanks run;

 private:
  /// Whether rank 0 has received the first tick of all ranks.
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
  EXPECT_SAYS(notes_of(run.folder), "from epoch 2 on numbers come from 6 of 7 ranks: rank 1 did not answer within 4 s");
  EXPECT_EQ(numbers_of(run.folder).at("2.000000 Output Norm/one/mean").events, 6u);
}

constexpr milliseconds long_timeout(60000);

class SevenPatientRanks : public SevenRanks {
 protected:
  SevenPatientRanks() : SevenRanks(long_timeout) {}
};

TEST_F(SevenPatientRanks, DoNotWaitForOneThatHasEnded) {
  run.ranks[1].reset();
  const auto begin = std::chrono::steady_clock::now();
  tick();
  run.end();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, long_timeout);
  EXPECT_SAYS(notes_of(run.folder), "from epoch 2 on numbers come from 6 of 7 ranks: rank 1 ended before");
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

TEST(Exchange, WithoutAStoreShowsOnlyRankZeroWithTheReason) {
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
  EXPECT_SAYS(told, "is lost: there is no such store; from now on this run shows only the numbers of rank 0");
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

TEST(Exchange, ReportsALostStoreOnlyIfTheRankHasMoreToSend) {
  for (const int ticks_after : {0, 1}) {
    RunOfRanks run(2, milliseconds(2000));
    run.await_meeting();
    run.memory->set(&SharedMemory::cuts_off_after_tick, true);
    for (int i = 0; i < 1 + ticks_after; ++i) {
      for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
      run.tick();
    }
    run.end();
    EXPECT_EQ(numbers_of(run.folder).at("1.000000 Output Norm/one/mean").events, 2u);
    EXPECT_EQ(run.log().find("is lost: connection reset by peer") != std::string::npos, ticks_after > 0);
  }
}

TEST(Exchange, DoesNotKeepARunFromEndingWhereTheStoreHangs) {
  RunOfRanks run(2, std::chrono::minutes(2));
  run.memory->set(&SharedMemory::hangs, true);
  for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
  run.tick();
  const auto begin = std::chrono::steady_clock::now();
  run.end();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
  EXPECT_EQ(numbers_of(run.folder).count("1.000000 Output Norm/one/mean"), 1u);
  run.ranks.clear();
  run.memory->set(&SharedMemory::hangs, false);
  // The threads that the exchange abandoned use objects that this process destroys at its end.
  const auto limit = begin + std::chrono::seconds(120);
  while (run.memory.use_count() > 1 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(run.memory.use_count(), 1);
}

TEST(Exchange, ShowsRankZeroAloneWhileTheStoreHangsAndAllRanksOnceItAnswers) {
  RunOfRanks run(2, milliseconds(100));
  const auto tick = [&] {
    for (const auto& rank : run.ranks) rank->forward(0, {3, 4});
    run.tick();
    std::this_thread::sleep_for(milliseconds(20));
  };
  const auto events_since = [&](int epoch) {
    std::set<uint64_t> events;
    if (!fs::exists(run.folder + "/record.jsonl")) return events;
    for (const auto& [name, line] : numbers_of(run.folder)) {
      if (name.find("Output Norm/one/mean") != std::string::npos && std::stod(name) >= epoch)
        events.insert(line.events);
    }
    return events;
  };
  run.memory->set(&SharedMemory::hangs, true);
  const auto begin = std::chrono::steady_clock::now();
  const auto is_patient = [&] { return std::chrono::steady_clock::now() - begin < std::chrono::seconds(120); };
  int epochs = 0;
  for (; events_since(1).empty() && is_patient(); ++epochs) tick();
  EXPECT_EQ(events_since(1), std::set<uint64_t>{1});
  EXPECT_SAYS(notes_of(run.folder), "from epoch 1 on numbers are only from rank 0: the store of the ranks does not ");
  for (const int shown = epochs; epochs < shown + 3; ++epochs) tick();
  EXPECT_EQ(notes_of(run.folder).find("only from rank 0"), notes_of(run.folder).rfind("only from rank 0"));
  run.memory->set(&SharedMemory::hangs, false);
  for (const int answers = epochs + 1; events_since(answers).count(2) == 0 && is_patient(); ++epochs) tick();
  run.end();
  EXPECT_EQ(events_since(1), (std::set<uint64_t>{1, 2}));
  EXPECT_SAYS(notes_of(run.folder), " on all 2 ranks are there");
}

TEST(Exchange, EndsAtOnceWhereNoOtherRankEverCame) {
  const std::string folder = folder_of_test();
  fs::remove_all(folder);
  Stage stage;
  Rank alone(lenses, 0, 4, std::make_shared<SharedMemory>(), std::chrono::minutes(2));
  alone.forward(0, {3, 4});
  alone.monitor.tick(std::nullopt);
  const auto begin = std::chrono::steady_clock::now();
  alone.monitor.end(LOUPE_END_COMPLETED, nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
  EXPECT_EQ(numbers_of(folder).count("1.000000 Output Norm/one/mean"), 1u);
  EXPECT_SAYS(notes_of(folder),
              "numbers come from 1 of 4 ranks: ranks 1, 2 and 3 never came (if this process trains alone, unset WOR");
}

/// Rank 0 of a run whose rank 1 is a process that does not train.
class RankZeroBesideAProcess : public testing::Test {
 protected:
  RankZeroBesideAProcess() {
    fs::remove_all(folder_of_test());
    RunHolder holder = RunHolder::this_process();
    holder.process = process.number();
    memory->entries["hello/1"] = "1 " + holder.text();
    rank.emplace(lenses, 0, 2, memory, std::chrono::minutes(2));
    // Waits until rank 0 has answered rank 1.
    for (bool is_met = false; !is_met; std::this_thread::sleep_for(milliseconds(5))) {
      const std::lock_guard lock(memory->mutex);
      is_met = memory->entries.count("welcome/1") > 0;
    }
    rank->forward(0, {3, 4});
    rank->monitor.tick(std::nullopt);
  }
  void end() {
    const auto begin = std::chrono::steady_clock::now();
    rank->monitor.end(LOUPE_END_COMPLETED, nullptr);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1)) << "rank 0 waits for no rank";
  }

  Stage stage;
  test::ChildProcess process{{"sleep", "1000"}, {}};
  std::shared_ptr<SharedMemory> memory = std::make_shared<SharedMemory>();
  std::optional<Rank> rank;
};

TEST_F(RankZeroBesideAProcess, NamesARankThatWasKilled) {
  process.kill();
  end();
  const std::string notes = notes_of(folder_of_test());
  EXPECT_SAYS(notes, "numbers come from 1 of 2 ranks: rank 1 ended without a message (it may have been killed, or ");
  EXPECT_SAYS(notes,
              "rank 1 ended without a message: its process " + std::to_string(process.number()) + " no longer exists");
}

TEST_F(RankZeroBesideAProcess, DoesNotBlameARankThatWasAheadAndHasEnded) {
  {
    const std::lock_guard lock(memory->mutex);
    const std::string& welcome = memory->entries["welcome/1"];
    const std::string session = welcome.substr(2, welcome.rfind(' ') - 2);
    memory->entries[session + "-bye/1"] = "30";
  }
  process.kill();
  end();
  EXPECT_EQ(notes_of(folder_of_test()).find("rank 1 ended without a message: its process"), std::string::npos)
      << notes_of(folder_of_test());
}

TEST_F(RankZeroBesideAProcess, NamesARankThatWasStopped) {
  process.stop();
  end();
  const std::string notes = notes_of(folder_of_test());
  EXPECT_SAYS(notes, "from epoch 1 on numbers come from 1 of 2 ranks: rank 1 did not answer (stopped by a signal)");
  EXPECT_SAYS(notes, "'kill -CONT " + std::to_string(process.number()) + "' continues it");
}

TEST_F(RankZeroBesideAProcess, ReportsADeadRankWhileTheProgramHangs) {
  process.kill();
  std::string told;
  for (int waited = 0; told.find("rank 1 ended without a message") == std::string::npos && waited < 4000; ++waited) {
    for (const std::string& message : stage.take_messages()) told += message + "\n";
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_SAYS(told,
              "rank 1 ended without a message: its process " + std::to_string(process.number()) + " no longer exists");
}

TEST(Exchange, LeavesOutAnUnreadableMessage) {
  RunOfRanks run(2);
  run[0].forward(0, {3, 4});
  run[0].monitor.tick(std::nullopt);
  run.await_meeting();
  MemoryStore store(run.memory, run[0].is_cut_off);
  const auto welcome = store.read("welcome", "1");
  ASSERT_TRUE(welcome);
  const std::string session = welcome->substr(welcome->find(' ') + 1, welcome->rfind(' ') - welcome->find(' ') - 1);
  store.put(session + "-tick-0-to-0", "1", "no message at all");
  run.await_taken("-tick-0-to-0", "1");
  run.end();
  std::string told;
  for (const std::string& message : run.stage.take_messages()) told += message + "\n";
  EXPECT_SAYS(told, "the numbers of rank 1 cannot be read: it is from another version of Loupe");
  EXPECT_EQ(numbers_of(run.folder).count("1.000000 Output Norm/one/mean"), 1u);
}

TEST(Exchange, ShowsTheRankThatDiffersMostIfConfigured) {
  RunOfRanks run(3, milliseconds(20000), lenses, true);
  for (std::size_t rank = 0; rank < 3; ++rank) run[rank].forward(0, {rank == 1 ? 30.0f : 3.0f, 4});
  run.tick();
  run.end();
  const auto numbers = numbers_of(run.folder);
  const auto furthest = numbers.find("1.000000 Output Norm/one/mean (rank 1)");
  ASSERT_NE(furthest, numbers.end());
  EXPECT_GT(furthest->second.numbers[0], numbers.at("1.000000 Output Norm/one/mean").numbers[0]);
}

TEST(Exchange, GivesALateFindingTheEpochOfItsTick) {
  RunOfRanks run(2, milliseconds(20000), "lenses: [ranks]\nvisualizers: [record]\n");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ModuleDescription model;
    model.name = model.path = "net";
    model.type = rank == 0 ? "One" : "Another";
    model.flags = LOUPE_MODULE_ROOT;
    run[rank].modules.push_back(
        run[rank].monitor.add_module(std::move(model), std::make_shared<ModelNode>("net", "net", "Net")));
  }
  run.tick();
  run.end();
  ASSERT_TRUE(fs::exists(run.folder + "/record.jsonl")) << run.log();
  replay::RecordReader reader(run.folder + "/record.jsonl");
  replay::RecordLine line;
  int found = 0;
  while (reader.next(line)) {
    if (line.kind != replay::RecordLine::Kind::finding) continue;
    ++found;
    EXPECT_SAYS(line.message, "the ranks run with different settings: the model is of kind A in rank 0 and of kind B");
    EXPECT_EQ(line.first_epoch, 1);
    EXPECT_EQ(line.last_epoch, 1);
  }
  EXPECT_EQ(found, 1);
}

TEST(RankTree, GivesEachRankAParentAndAtMostAFewChildren) {
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
        EXPECT_EQ(parent / per_host, rank / per_host) << "ranks of one host send within the host";
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

TEST(RankMessage, IsReadAsItWasWrittenAndRefusedIfIncomplete) {
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
