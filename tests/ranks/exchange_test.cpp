#include "ranks/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "memory_store.h"
#include "monitored.h"
#include "ranks/rank_message.h"
#include "ranks/rank_tree.h"
#include "replay/record_reader.h"
#include "says.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string folder_of_test() {
  const std::string folder =
      std::string(LOUPE_TEST_FOLDER) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  return folder;
}

const std::string lenses =
    "lenses:\n  - output_norm: {line: [mean, median], range: [std, min-max]}\n  - output_activation\n  - "
    "loss_metrics\n "
    " - parameter_norm\n"
    "  - histograms\nvisualizers: [record]\n";

Config config_of(const std::string& folder, const std::string& yaml, int rank, int world_size) {
  Config config = Config::from_text(
      "plugins: {path: [" LOUPE_BUILT_PLUGINS "]}\nrun: {name: r, dir: " + folder + "}\n" + yaml, "a.yaml", "/");
  Launch launch;
  launch.rank = rank;
  launch.world_size = world_size;
  config.join(launch);
  return config;
}

/// One process of a run.
class Rank {
 public:
  Rank(const std::string& yaml, int rank, int world_size, const std::shared_ptr<SharedMemory>& memory,
       milliseconds timeout, bool shows_each = false)
      : monitor(config_of(folder_of_test(), yaml, rank, world_size), &host) {
    if (world_size > 1) {
      ExchangeSettings settings;
      settings.launch = monitor.config().launch;
      settings.timeout = timeout;
      settings.shows_each = shows_each;
      settings.open = [memory]() -> std::unique_ptr<RankStore> {
        if (memory == nullptr) throw std::runtime_error("there is no such store");
        return std::make_unique<MemoryStore>(memory);
      };
      monitor.keep_ticks(std::make_unique<Exchange>(
          std::move(settings), std::make_unique<MergedLenses>(monitor.config(), monitor.display().run())));
    }
    for (const char* name : {"one", "two"}) {
      ModuleDescription description;
      description.name = description.path = name;
      description.type = "ReLU";
      description.family = LOUPE_FAMILY_ACTIVATION;
      description.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
      description.parameters = {{"weight", LOUPE_PARAMETER_TRAINABLE, {2, 3}, 6}};
      modules.push_back(monitor.add_module(std::move(description)));
    }
  }

  void forward(std::size_t module, std::vector<float> values) {
    Monitored::forward(*modules[module], std::move(values));
  }
  void tick_parameter(std::vector<float> values) {
    const FloatTensor tensor(std::move(values));
    for (const auto& module : modules) {
      if (Stream* stream = module->stream(LOUPE_TAP_TICK, "weight")) stream->dispatch(tensor.get(), training_pass);
    }
  }

  MadeHost host;
  Monitor monitor;
  std::vector<std::shared_ptr<ModuleNode>> modules;
};

class RunOfRanks {
 public:
  explicit RunOfRanks(int world_size, milliseconds timeout = milliseconds(20000), const std::string& yaml = lenses,
                      bool shows_each = false)
      : folder(folder_of_test()) {
    fs::remove_all(folder);
    for (int rank = 0; rank < world_size; ++rank)
      ranks.push_back(std::make_unique<Rank>(yaml, rank, world_size, memory, timeout, shows_each));
  }
  Rank& operator[](std::size_t rank) { return *ranks[rank]; }
  void tick() {
    for (const auto& rank : ranks) {
      if (rank) rank->monitor.tick(std::nullopt);
    }
  }
  /// All processes end at the same time.
  void end() {
    std::vector<std::thread> ends;
    for (const auto& rank : ranks) {
      if (rank) ends.emplace_back([&] { rank->monitor.end(LOUPE_END_COMPLETED, nullptr); });
    }
    for (std::thread& each : ends) each.join();
  }

  Stage stage;
  std::string folder;
  std::shared_ptr<SharedMemory> memory = std::make_shared<SharedMemory>();
  std::vector<std::unique_ptr<Rank>> ranks;
};

/// All numbers of a record, by epoch, tag, layer and line.
std::map<std::string, std::vector<double>> numbers_of(const std::string& folder) {
  std::map<std::string, std::vector<double>> numbers;
  replay::RecordReader reader(folder + "/record.jsonl");
  replay::RecordLine line;
  std::vector<std::pair<std::string, std::vector<double>>> epoch;
  while (reader.next(line)) {
    const bool is_range = line.kind == replay::RecordLine::Kind::range;
    const std::string name = line.tag + "/" + line.layer + "/" + (is_range ? line.low_name : line.line);
    switch (line.kind) {
      case replay::RecordLine::Kind::value:
        epoch.push_back({name, {line.value}});
        break;
      case replay::RecordLine::Kind::range:
        epoch.push_back({name, {line.low, line.high}});
        break;
      case replay::RecordLine::Kind::histogram:
        epoch.push_back({name, line.counts});
        break;
      case replay::RecordLine::Kind::tick:
        for (auto& [key, values] : epoch) numbers[std::to_string(line.epoch) + " " + key] = std::move(values);
        epoch.clear();
        break;
      default:
        break;
    }
  }
  return numbers;
}

std::string notes_of(const std::string& folder) {
  std::string notes;
  replay::RecordReader reader(folder + "/record.jsonl");
  replay::RecordLine line;
  while (reader.next(line)) {
    if (line.kind == replay::RecordLine::Kind::note) notes += line.text + "\n";
  }
  return notes;
}

std::vector<float> batch(int rank, int number) {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i)
    values.push_back(std::sin(static_cast<float>(rank * 100 + number * 7 + i)) + 0.1f * static_cast<float>(rank));
  return values;
}

/// Uneven: rank 2 sees nothing in the first epoch.
void train(RunOfRanks& run, Rank* alone) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const int batches = rank == 2 && epoch == 0 ? 0 : 3 + static_cast<int>(rank);
      for (int number = 0; number < batches; ++number) {
        for (std::size_t module = 0; module < 2; ++module) {
          run[rank].forward(module, batch(static_cast<int>(rank), epoch * 10 + number));
          if (alone != nullptr) alone->forward(module, batch(static_cast<int>(rank), epoch * 10 + number));
        }
        const double loss = std::cos(static_cast<double>(rank) * 3 + number);
        run[rank].monitor.push("train_loss", loss, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
        if (alone != nullptr) alone->monitor.push("train_loss", loss, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
      }
      run[rank].tick_parameter({1, 2, 3, 4, 5, 6});
    }
    run.tick();
    if (alone == nullptr) continue;
    alone->tick_parameter({1, 2, 3, 4, 5, 6});
    alone->monitor.tick(std::nullopt);
  }
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, AreMergedAsIfOneProcessHadSeenAllEvents) {
  RunOfRanks run(GetParam());
  fs::remove_all(run.folder + "-alone");
  std::map<std::string, std::vector<double>> expected;
  {
    Rank alone(lenses, 0, 1, nullptr, milliseconds(1));
    alone.monitor.set_directory(run.folder + "-alone");
    train(run, &alone);
    alone.monitor.end(LOUPE_END_COMPLETED, nullptr);
    expected = numbers_of(run.folder + "-alone");
  }
  run.end();
  const auto merged = numbers_of(run.folder);
  ASSERT_GT(expected.size(), 50u);
  EXPECT_EQ(merged.size(), expected.size());
  int sketched = 0;
  for (const auto& [name, values] : expected) {
    const auto own = merged.find(name);
    ASSERT_NE(own, merged.end()) << name << " is missing";
    ASSERT_EQ(own->second.size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_quantile = name.find("median") != std::string::npos || name.find("Q1") != std::string::npos;
      sketched += is_quantile ? 1 : 0;
      if (is_quantile) {
        EXPECT_NEAR(own->second[i], values[i], 0.02 * std::abs(values[i])) << name;
      } else {
        EXPECT_NEAR(own->second[i], values[i], 1e-12 * std::abs(values[i])) << name;
      }
    }
  }
  EXPECT_GT(sketched, 0);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 4, 8));

TEST(Exchange, OfParametersShowsOneReplicaNotTheirSum) {
  RunOfRanks run(3);
  train(run, nullptr);
  run.end();
  const auto numbers = numbers_of(run.folder);
  for (const auto& [name, values] : numbers) {
    if (name.find("Weight Norm/one/") != std::string::npos && name.find("count") == std::string::npos) {
      EXPECT_NEAR(values[0], std::sqrt(91.0), 1e-6) << name;
    }
  }
}

TEST(Exchange, SaysOnceWhichRankIsMissingAndWhenItIsBack) {
  RunOfRanks run(3, milliseconds(300));
  const auto all = [&](int epochs, bool with_last) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (std::size_t rank = 0; rank < 3; ++rank) {
        if (rank == 2 && !with_last) continue;
        run[rank].forward(0, {1});
        run[rank].monitor.tick(std::nullopt);
      }
      std::this_thread::sleep_for(milliseconds(400));
    }
  };
  all(1, true);
  all(2, false);
  run[2].monitor.end(LOUPE_END_COMPLETED, nullptr);
  all(1, false);
  run.end();
  const std::string notes = notes_of(run.folder);
  EXPECT_SAYS(notes, "from epoch 2 on numbers are of 2 of 3 ranks: rank 2 did not answer within 0.3 s");
  EXPECT_EQ(notes.find("epoch 3"), std::string::npos) << notes;
  const auto numbers = numbers_of(run.folder);
  EXPECT_EQ(numbers.count("4.000000 Output Norm/one/mean"), 1u);
}

TEST(Exchange, TakesWhatWasMeantForARankThatDied) {
  RunOfRanks run(7, milliseconds(800));
  run.ranks[1].reset();  // to which rank 5 and 6 send
  ASSERT_EQ(RankTree(7, 1).parent(5), 1);
  for (const auto& rank : run.ranks) {
    if (rank) rank->forward(0, {3, 4});
  }
  run.tick();
  run.end();
  EXPECT_SAYS(notes_of(run.folder), "from epoch 1 on numbers are of 6 of 7 ranks: rank 1 ");
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
  EXPECT_GT(furthest->second[0], numbers.at("1.000000 Output Norm/one/mean")[0]);
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
  const std::string bytes = message.bytes();
  const RankMessage read = RankMessage::read(bytes);
  EXPECT_EQ(read.bytes(), bytes);
  EXPECT_EQ(read.lenses[0].sources[0].bytes, "bytes");
  EXPECT_EQ(read.extremes.at(5).high_rank, 4);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(RankMessage::read(bytes.substr(0, size)), Error) << size;
  EXPECT_THROW(RankMessage::read(bytes + "x"), Error);
}

}  // namespace
}  // namespace loupe
