// Measures the cost of a tick in a run of thousands of ranks. It sends the states that the lenses gathered in a model
// of 100 layers along the tree of ranks, and merges them with the code of the exchange, one rank after another. Times
// are processor times of this machine; the time of a network is calculated.
//   ranks_scale [RANKS...]      default: 64, 1024 and 16384

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "monitored.h"
#include "paths.h"
#include "ranks/lens_states.h"
#include "ranks/merged_lenses.h"
#include "ranks/merged_ticks.h"
#include "ranks/rank_message.h"
#include "ranks/rank_record.h"

namespace {

using namespace loupe;

constexpr int blocks = 25, steps = 100, ranks_a_host = 8;
constexpr double bytes_a_second = 10e9 / 8;  // 10 Gbit/s Ethernet

/// The processor time of this thread, which other load of the machine does not change.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Config config_of(int world_size) {
  Config config = Config::from_text(R"(plugins: {path: [)" + LOUPE_BUILT_PLUGINS + R"(]}
run: {name: r, dir: )" + LOUPE_TEST_FOLDER +
                                        R"(/scale}
lenses:
  - health
  - run_statistics
  - loss_metrics
  - output_activation
  - gradient_geometry: {parameters: [weight], range: [std, min-max]}
  - parameter_difference
visualizers: []
)",
                                    "a.yaml", "/");
  Launch launch;
  launch.world_size = world_size;
  config.join(launch);
  return config;
}

/// Keeps the states that a tick would send.
class Catcher final : public StateSaver {
 public:
  void add_module(const ModuleDescription& module) override { modules.push_back(module); }
  std::unique_ptr<HeldTick> add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) override {
    caught = std::move(states);
    return own;
  }
  Complete take_complete() override { return {}; }
  Complete finish() override { return {}; }
  void tell_incident(const std::string&) override {}
  void tell_fault(const std::string&) override {}

  std::vector<ModuleDescription> modules;
  std::vector<LensStates> caught;
};

/// One trained rank. Its model has 25 blocks of a convolution, a batch norm, a ReLU and a dropout.
class TrainedRank {
 public:
  explicit TrainedRank(Config config) : monitor(std::move(config), &host) {}

  void add_modules() {
    add("net", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT | LOUPE_MODULE_TAPPED, {});
    const auto trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
    for (int i = 0; i < blocks; ++i) {
      const std::string number = std::to_string(i);
      const uint32_t leaf = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
      add("conv" + number, "Conv2d", LOUPE_FAMILY_CONVOLUTION, leaf,
          {{"weight", trained, {64, 64, 3, 3}, 36864}, {"bias", trained, {64}, 64}});
      add("norm" + number, "BatchNorm2d", LOUPE_FAMILY_NORMALIZATION, leaf,
          {{"weight", trained, {64}, 64},
           {"bias", trained, {64}, 64},
           {"running_mean", LOUPE_PARAMETER_BUFFER, {64}, 64},
           {"running_var", LOUPE_PARAMETER_BUFFER, {64}, 64}});
      add("relu" + number, "ReLU", LOUPE_FAMILY_ACTIVATION, leaf, {});
      add("drop" + number, "Dropout", LOUPE_FAMILY_DROPOUT, leaf, {});
    }
  }

  void train() {
    group_.struct_size = sizeof group_;
    group_.learning_rate = 0.1;
    group_.flags = LOUPE_GROUP_HAS_LEARNING_RATE;
    optimizer_.struct_size = sizeof optimizer_;
    optimizer_.model_name = "net";
    optimizer_.type = "SGD";
    optimizer_.groups = &first_group_;
    optimizer_.group_count = 1;
    host.attached = {&optimizer_};
    for (int step = 0; step < steps; ++step) {
      for (const auto& module : modules) dispatch(*module, LOUPE_TAP_FORWARD, "", step);
      for (const uint32_t tap : {LOUPE_TAP_PARAMETER_GRADIENT, LOUPE_TAP_STEP_GRADIENT, LOUPE_TAP_OPTIMIZER_STEP}) {
        for (const auto& module : modules) {
          for (const ParameterDescription& each : module->description().parameters) {
            if ((each.flags & LOUPE_PARAMETER_BUFFER) == 0) dispatch(*module, tap, each.name, step);
          }
        }
      }
      monitor.push("train_loss", 1.0 / (step + 1), LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
      monitor.end_step();
    }
  }

  MadeHost host;
  Monitor monitor;
  std::vector<std::shared_ptr<ModuleNode>> modules;

 private:
  const std::shared_ptr<ModelNode> model_ = std::make_shared<ModelNode>("net", "net", "Net");

  void add(const std::string& name, const std::string& type, uint32_t family, uint32_t flags,
           std::vector<ParameterDescription> parameters) {
    ModuleDescription description;
    description.name = description.path = name;
    description.type = type;
    description.family = family;
    description.flags = flags;
    description.parameters = std::move(parameters);
    description.lend = [values = std::make_shared<FloatTensor>(std::vector<float>(64, 0.5f))](
                           const std::string&, bool, const ModuleDescription::Take& take) {
      take(*values->get());
      return true;
    };
    modules.push_back(monitor.add_module(std::move(description), model_));
  }

  void dispatch(ModuleNode& module, uint32_t tap, const std::string& label, int step) {
    Stream* stream = module.stream(tap, label);
    if (stream == nullptr) return;
    std::vector<float> values;
    for (int i = 0; i < 256; ++i) values.push_back(std::sin(0.1f * static_cast<float>(step + i)));
    const FloatTensor tensor(std::move(values));
    stream->dispatch(tensor.get(), training_pass);
  }

  loupe_parameter_group group_{};
  const loupe_parameter_group* first_group_ = &group_;
  loupe_optimizer optimizer_{};
};

/// The states that one rank sends: the same states for all, with different facts. The last rank has drifted, and the
/// batch norms of each rank have different statistics.
std::vector<LensStates> states_of(int rank, int world_size, std::vector<LensStates> states) {
  for (LensStates& lens : states) {
    if (lens.lens != "ranks") continue;
    for (SourceState& source : lens.sources) {
      ranks::Facts said(SIZE_MAX), own(SIZE_MAX);
      try {
        said.merge_state(source.bytes);
      } catch (const std::exception&) {
        continue;  // the preprocessor gathers nothing
      }
      for (const auto& [bytes, of_rank_0] : said.groups()) {
        std::string changed = bytes;
        try {
          ranks::Replica replica = ranks::Replica::read(bytes);
          const bool is_of_buffers = replica.start.empty();
          for (std::size_t i = 0; i < replica.parameters.size(); ++i) {
            if (replica.parameters[i] == 0) continue;
            if (is_of_buffers) replica.parameters[i] += static_cast<uint64_t>(rank);
            if (!is_of_buffers && rank == world_size - 1) replica.parameters[i] += 1;
          }
          changed = replica.bytes();
        } catch (const std::exception&) {
          ranks::RankRecord record = ranks::RankRecord::read(bytes);
          record.loss += 1e-6 * rank;
          for (ranks::MeasuredStep& step : record.measured) {
            for (uint64_t& batch : step.batches) batch += static_cast<uint64_t>(rank);
          }
          changed = record.bytes();
        }
        own.say(rank, std::move(changed));
      }
      if (!own.groups().empty()) source.bytes = own.save_state();
    }
  }
  return states;
}

/// A value of /proc/self/status in kilobytes.
double kilobytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double value = 0;
    if (word == name + ":" && status >> value) return value;
  }
  return 0;
}

struct Result {
  std::size_t messages = 0, most_received = 0, first_received = 0, most_sent = 0, all_sent = 0;
  double most_seconds = 0, first_seconds = 0, tick_seconds = 0, first_megabytes = 0;
  uint64_t events = 0;
  std::string findings;
};

class Simulation {
 public:
  Simulation(int world_size, const Config& config, const RunDescription& run, Catcher& caught)
      : world_size_(world_size),
        tree_(world_size, ranks_a_host),
        caught_(caught),
        between_(config, run),
        first_(config, run) {
    for (const ModuleDescription& module : caught.modules) {
      between_.add_module(module);
      first_.add_module(module);
    }
  }

  Result run() {
    std::vector<std::string> received;
    double ready = 0;
    for (const int child : tree_.children(0)) received.push_back(send(child, ready));
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak of memory
    const double before = kilobytes("VmRSS");
    const double begin = processor_seconds();
    RankMessage own;
    own.ranks = {0};
    own.lenses = states_of(0, world_size_, caught_.caught);
    first_.merge(own, true);
    join(own, received, first_);
    loupe_tick tick{};
    tick.struct_size = sizeof tick;
    tick.at.epoch = 1;
    const MergedLenses::Report report = first_.report(tick);
    result_.first_seconds = processor_seconds() - begin;
    result_.first_megabytes = (kilobytes("VmHWM") - before) / 1024;
    std::size_t bytes = 0;
    for (const std::string& each : received) bytes += each.size();
    result_.first_received = bytes;
    result_.first_megabytes += static_cast<double>(bytes) / 1048576;
    result_.most_received = std::max(result_.most_received, bytes);
    result_.tick_seconds = ready + result_.first_seconds;
    each_value(*report.tick, [&](const RowValue& value) { result_.events = std::max(result_.events, value.events); });
    for (const auto& finding : report.findings) {
      result_.findings += finding->get().rule + std::string(" ") + finding->get().message + "\n";
    }
    if (own.ranks.size() != static_cast<std::size_t>(world_size_)) result_.findings += "ranks are missing\n";
    return result_;
  }

 private:
  /// The message of a rank and all ranks below it. Updates `ready` to the earliest time at which its parent has it.
  std::string send(int rank, double& ready) {
    double start = 0;
    std::vector<std::string> received;
    for (const int child : tree_.children(rank)) received.push_back(send(child, start));
    RankMessage own;
    own.ranks = {rank};
    own.lenses = states_of(rank, world_size_, caught_.caught);
    const double begin = processor_seconds();
    if (!received.empty()) {
      between_.merge(own, false);
      join(own, received, between_);
      own.lenses = between_.take_states();
    }
    std::string message = own.bytes();
    const double taken = processor_seconds() - begin;
    std::size_t bytes = 0;
    for (const std::string& each : received) bytes += each.size();
    ++result_.messages;
    result_.most_received = std::max(result_.most_received, bytes);
    result_.most_sent = std::max(result_.most_sent, message.size());
    result_.all_sent += message.size();
    result_.most_seconds = std::max(result_.most_seconds, taken);
    // The messages to a parent share its network card, so they arrive one after another.
    ready = std::max(ready, start + taken) + static_cast<double>(message.size()) / bytes_a_second;
    return message;
  }

  static void join(RankMessage& own, const std::vector<std::string>& received, MergedLenses& lenses) {
    for (const std::string& bytes : received) {
      const RankMessage other = RankMessage::read(bytes);
      lenses.merge(other, false);
      own.ranks.insert(own.ranks.end(), other.ranks.begin(), other.ranks.end());
    }
  }

  const int world_size_;
  const RankTree tree_;
  Catcher& caught_;
  MergedLenses between_, first_;
  Result result_;
};

/// The median of the time that a tick takes on the trainer's thread.
double tick_seconds(TrainedRank& rank) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    rank.train();
    const double begin = processor_seconds();
    rank.monitor.tick(std::nullopt);
    times.push_back(processor_seconds() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int measure_world(int world_size) {
  TrainedRank rank(config_of(world_size));
  auto keeper = std::make_unique<Catcher>();
  Catcher& caught = *keeper;
  rank.monitor.keep_ticks(std::move(keeper));
  rank.add_modules();
  rank.train();
  rank.monitor.tick(std::nullopt);
  Simulation simulation(world_size, rank.monitor.config(), rank.monitor.display().run(), caught);
  const Result result = simulation.run();
  std::printf("| %d | %d | %zu | %.2f MB, %.2f MB | %.0f MB | %.1f ms, %.1f ms | %.2f s | %.0f MB |\n", world_size,
              RankTree(world_size, ranks_a_host).height(), result.messages,
              static_cast<double>(result.most_received) / 1e6, static_cast<double>(result.most_sent) / 1e6,
              static_cast<double>(result.all_sent) / 1e6, 1e3 * result.most_seconds, 1e3 * result.first_seconds,
              result.tick_seconds, result.first_megabytes);
  std::fflush(stdout);
  int failed = 0;
  const auto expect = [&](bool is_so, const std::string& what) {
    if (is_so) return;
    std::fprintf(stderr, "%d ranks: %s; found was:\n%s", world_size, what.c_str(), result.findings.c_str());
    failed = 1;
  };
  expect(result.events == static_cast<uint64_t>(world_size) * steps, "a line lacks events");
  expect(result.findings.find("rank " + std::to_string(world_size - 1) + " from ranks ") != std::string::npos,
         "the rank that drifted is not named");
  return failed;
}

/// Measures how much longer a tick takes on the trainer's thread than without ranks, and the bytes that it sends.
void measure_one_rank() {
  double times[2];
  std::size_t bytes = 0;
  for (const bool joins : {false, true}) {
    TrainedRank rank(config_of(joins ? 2 : 1));
    Catcher* caught = nullptr;
    if (joins) {
      auto keeper = std::make_unique<Catcher>();
      caught = keeper.get();
      rank.monitor.keep_ticks(std::move(keeper));
    }
    rank.add_modules();
    times[joins ? 1 : 0] = tick_seconds(rank);
    if (!joins) continue;
    RankMessage message;
    message.ranks = {0};
    message.lenses = std::move(caught->caught);
    bytes = message.bytes().size();
  }
  std::printf("a rank of %d layers: %zu bytes a tick (%zu a layer); a tick takes %.2f ms, alone %.2f ms\n", 4 * blocks,
              bytes, bytes / (4 * blocks), 1e3 * times[1], 1e3 * times[0]);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<int> worlds;
  for (int i = 1; i < count; ++i) worlds.push_back(std::max(2, std::atoi(arguments[i])));
  if (worlds.empty()) worlds = {64, 1024, 16384};
  const Stage stage;  // receives the messages of the host
  std::filesystem::remove_all(LOUPE_TEST_FOLDER + "/scale");
  try {
    measure_one_rank();
    std::printf(
        "| ranks | rounds | messages | busiest rank: in, out | all messages | merging: busiest, rank 0 | tick | "
        "memory of rank 0 |\n|---|---|---|---|---|---|---|---|\n");
    int failed = 0;
    for (const int world_size : worlds) failed |= measure_world(world_size);
    return failed;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
