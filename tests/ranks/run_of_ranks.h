#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory_store.h"
#include "monitored.h"
#include "paths.h"
#include "ranks/exchange.h"
#include "ranks/state_keeper.h"
#include "record/reader/record_reader.h"

namespace loupe {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

inline std::string folder_of_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return LOUPE_TEST_FOLDER + "/" + test->test_suite_name() + "." + test->name();
}

inline const std::string lenses =
    "lenses:\n  - output_norm: {line: [mean, median], range: [std, min-max]}\n  - output_activation\n  - "
    "loss_metrics\n "
    " - parameter_norm\n"
    "  - histograms\nvisualizers: [record]\n";

/// Without an exchange, so that each rank only keeps its own numbers.
inline const std::string apart = "ranks: {store: none}\n";

inline Config config_of(const std::string& folder, const std::string& yaml, int rank, int world_size) {
  Config config = Config::from_text(
      "plugins: {path: [" + LOUPE_BUILT_PLUGINS + "]}\nrun: {name: r, dir: " + folder + "}\n" + yaml, "a.yaml", "/");
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
    std::unique_ptr<TickKeeper> exchange;
    if (monitor.config().ranks.exchange) {
      ExchangeSettings settings;
      settings.job = Job::of(monitor.config().launch);
      settings.timeout = timeout;
      settings.shows_each = shows_each;
      settings.open = [memory, cut_off = is_cut_off]() -> std::unique_ptr<RankStore> {
        if (memory == nullptr) throw std::runtime_error("there is no such store");
        return std::make_unique<MemoryStore>(memory, cut_off);
      };
      exchange = std::make_unique<Exchange>(std::move(settings),
                                            std::make_unique<MergedLenses>(monitor.config(), monitor.display().run()));
    }
    if (world_size > 1) monitor.keep_ticks(keep_states(monitor, std::move(exchange)));
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

  std::shared_ptr<std::atomic<bool>> is_cut_off = std::make_shared<std::atomic<bool>>(false);
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
    for (const auto& rank : ranks) {
      if (rank) rank->monitor.display().wait();
    }
  }
  /// Waits until each rank has found rank 0, which takes no time from the timeout of a tick then.
  void await_meeting() {
    await([&] { return memory->receivers["welcome"].size() == ranks.size() - 1; });
  }
  /// Waits until rank 0 has taken a rank's message from the box whose name ends so.
  void await_taken(const std::string& box_end, const std::string& rank) {
    await([&] {
      return std::any_of(memory->receivers.begin(), memory->receivers.end(), [&](const auto& received) {
        const auto& [box, ranks] = received;
        return box.ends_with(box_end) && ranks.count(rank) != 0 && memory->entries.count(box + "/" + rank) == 0;
      });
    });
  }
  /// Ends all processes at the same time.
  void end() {
    std::vector<std::thread> ends;
    for (const auto& rank : ranks) {
      if (rank) ends.emplace_back([&] { rank->monitor.end(LOUPE_END_COMPLETED, nullptr); });
    }
    for (std::thread& each : ends) each.join();
  }
  /// The messages to the user, for the message of a failed test.
  std::string log() {
    std::string text;
    for (const std::string& each : stage.take_messages()) text += each + "\n";
    return text;
  }

  /// Waits up to 40 seconds for a state of the shared memory.
  void await(const std::function<bool()>& is_so) {
    const auto look = [&] {
      const std::lock_guard lock(memory->mutex);
      return is_so();
    };
    for (int waited = 0; !look() && waited < 4000; ++waited) std::this_thread::sleep_for(milliseconds(10));
  }

  Stage stage;
  std::string folder;
  std::shared_ptr<SharedMemory> memory = std::make_shared<SharedMemory>();
  std::vector<std::unique_ptr<Rank>> ranks;
};

/// The numbers of one line of a record at one tick, and the number of their events.
struct Recorded {
  std::vector<double> numbers;
  uint64_t events = 0;
};

/// All numbers of a record. The key consists of epoch, tag, layer and line.
inline std::map<std::string, Recorded> numbers_of(const std::string& folder) {
  std::map<std::string, Recorded> numbers;
  replay::RecordReader reader(folder + "/record.jsonl");
  replay::RecordLine line;
  std::vector<std::pair<std::string, Recorded>> epoch;
  while (reader.next(line)) {
    const bool is_range = line.kind == replay::RecordLine::Kind::range;
    const std::string name = line.tag + "/" + line.layer + "/" + (is_range ? line.low_name : line.line);
    switch (line.kind) {
      case replay::RecordLine::Kind::value:
        // Numbers of single steps are skipped.
        if (line.step == 0) epoch.push_back({name, {{line.value}, line.events}});
        break;
      case replay::RecordLine::Kind::range:
        if (line.step == 0) epoch.push_back({name, {{line.low, line.high}, line.events}});
        break;
      case replay::RecordLine::Kind::histogram:
        epoch.push_back({name, {line.counts, line.events}});
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

inline std::string notes_of(const std::string& folder) {
  std::string notes;
  replay::RecordReader reader(folder + "/record.jsonl");
  replay::RecordLine line;
  while (reader.next(line)) {
    if (line.kind == replay::RecordLine::Kind::note) notes += line.text + "\n";
  }
  return notes;
}

}  // namespace loupe
