// Measures how much watching adds to a training step: alternating blocks of steps without and with Loupe, in one
// process.

#include <loupe/inspector.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/bench_models.h"
#include "benchmarks/together.h"
#include "paths.h"

namespace {

using namespace loupe::bench;
using Clock = std::chrono::steady_clock;

/// The smallest memory level that can hold `bytes`, by the system's cache sizes.
std::string memory_level(double bytes) {
  const auto fits = [&](int name) { return bytes <= static_cast<double>(sysconf(name)); };
  if (fits(_SC_LEVEL1_DCACHE_SIZE)) return "L1";
  if (fits(_SC_LEVEL2_CACHE_SIZE)) return "L2";
  return fits(_SC_LEVEL3_CACHE_SIZE) ? "L3" : "DRAM";
}

/// Reads `bytes` bytes repeatedly, and returns the best of a few passes in GB/s: the speed of the smallest memory level
/// that can hold them, which is DRAM if they exceed the caches.
double read_bandwidth(int threads, double bytes = 256.0 * (1 << 20)) {
  constexpr std::size_t most_words = std::size_t{1} << 25, fewest_words = std::size_t{1} << 12;
  constexpr std::size_t words_a_pass = most_words;
  static const std::vector<uint64_t> data(most_words, 1);
  static volatile uint64_t sink;
  const std::size_t words = std::clamp(static_cast<std::size_t>(bytes / sizeof(uint64_t)), fewest_words, most_words);
  const std::size_t share = words / static_cast<std::size_t>(threads) / 8 * 8;
  const std::size_t rounds = std::max<std::size_t>(1, words_a_pass / words);
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    std::vector<uint64_t> sums(static_cast<std::size_t>(threads) * 8);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> readers;
    for (int t = 0; t < threads; ++t) {
      readers.emplace_back([&, t] {
        const uint64_t* from = data.data() + share * static_cast<std::size_t>(t);
        uint64_t sum[8] = {};
        for (std::size_t round = 0; round < rounds; ++round) {
          for (std::size_t i = 0; i < share; i += 8) {
            for (int lane = 0; lane < 8; ++lane) sum[lane] += from[i + static_cast<std::size_t>(lane)];
          }
          asm volatile("" ::: "memory");  // each round reads again
        }
        for (const uint64_t each : sum) sums[static_cast<std::size_t>(t) * 8] += each;
      });
    }
    for (std::thread& reader : readers) reader.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const uint64_t sum : sums) sink = sink + sum;
    const double read = static_cast<double>(share * rounds * sizeof(uint64_t)) * threads;
    best = std::max(best, read / seconds / 1e9);
  }
  return best;
}

double microseconds_of(const std::string& command) {
  std::FILE* output = popen(command.c_str(), "r");
  double value = 0;
  const bool is_read = output != nullptr && std::fscanf(output, "%lf", &value) == 1;
  if (output == nullptr || pclose(output) != 0 || !is_read) throw std::runtime_error("'" + command + "' failed");
  return value;
}

/// Compares the cost of `loupe run` with that of an inspector: runs the program in three processes in turn.
/// @param lenses  as YAML  @param rounds  how often each process runs; the result has the medians
nlohmann::json measure_program(const std::string& model, const std::string& lenses, double seconds, int rounds) {
  const auto folder = std::filesystem::temp_directory_path() / ("loupe_bench_program-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string yaml = (folder / "monitor.yaml").string();
  std::ofstream(yaml) << "loupe: 1\nrun_program: {epoch: 1000000 steps}\n" << lenses;
  const std::string arguments = " " + model + " " + std::to_string(seconds) + " 2> /dev/null";
  const std::array<std::string, 3> commands = {
      LOUPE_BENCH_PROGRAM + arguments, "LOUPE_RUN_CONFIG='" + yaml + "' " + LOUPE_BENCH_INSPECTED + arguments,
      LOUPE_BENCH_COMMAND + " run --require --config '" + yaml + "' -- " + LOUPE_BENCH_PROGRAM + arguments};
  std::array<std::vector<double>, 3> times;
  std::vector<double> more;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < commands.size(); ++i) times[i].push_back(microseconds_of(commands[i]));
    more.push_back(100 * (times[2].back() / times[1].back() - 1));
  }
  std::filesystem::remove_all(folder);
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  return {{"model", model},
          {"step_us", median(times[0])},
          {"inspector_us", median(times[1])},
          {"run_us", median(times[2])},
          {"run_more_percent", median(more)}};
}

const std::vector<std::string> all_configs = {
    "off",         "loss",      "activation", "gradient",          "difference", "four",
    "all",         "budget",    "exact",      "inactive",          "detached",   "health",
    "four+health", "step_time", "four+ranks", "four+health+ranks", "default"};

constexpr double block_seconds = 0.2;
constexpr int budget_steps = 60;  // steps until a budget knows the cost of measuring

struct Floor {
  double bytes = 0;  // the least that the lenses must move per step
  int events = 0;
};

/// Sets the environment of one rank of two; configurations without "+ranks" ignore it.
void become_a_rank() {
  ::setenv("RANK", "1", 1);
  ::setenv("WORLD_SIZE", "2", 1);
}

std::string yaml_of(std::string config, const std::string& parameters) {
  const std::string suffix = "+ranks";
  const std::size_t end = config.find(suffix);
  const std::string ranks = end != std::string::npos ? "ranks: {timeout: 1}\n" : "ranks: off\n";
  if (end != std::string::npos) config.erase(end);
  const std::string geometry = ": {parameters: " + parameters + "}\n";
  const bool four = config == "four" || config == "inactive" || config == "all" || config == "budget" ||
                    config == "exact" || config == "four+health";
  std::string lenses;
  if (config == "health" || config == "four+health") lenses += "  - health\n";
  if (config == "step_time") lenses += "  - step_time\n";
  if (four || config == "loss") lenses += "  - loss_metrics\n";
  if (four || config == "activation") lenses += "  - output_activation\n";
  if (four || config == "gradient") lenses += "  - gradient_geometry" + geometry;
  if (four || config == "difference") lenses += "  - parameter_difference" + geometry;
  if (config == "all") {
    lenses += "  - output_norm\n  - output_gradient_geometry\n  - parameter_gradient_activation" + geometry +
              "  - parameter_norm" + geometry;
  }
  if (config == "default") {
    lenses =
        "  - health\n  - loss_metrics\n  - learning_rate\n  - output_activation: {include: [+linear]}\n"
        "  - gradient_geometry\n  - parameter_difference\n  - step_time\n";
  }
  const std::string attach = config == "budget"    ? ", budget: 1%"
                             : config == "default" ? ", budget: 3%"
                             : config == "exact"   ? ", history: 0"
                                                   : "";
  return ranks + "attach: {summary: false" + attach + "}\n" + (lenses.empty() ? "lenses: []\n" : "lenses:\n" + lenses);
}

/// Computes bytes by the formula 4a + 4P + 4S (gradient, and the previous one) + 4P + 12S (parameter and its last two,
/// one of them written), where S is the number of elements that are compared with earlier steps.
Floor floor_of(const Subject& subject, const std::string& config) {
  constexpr double most_compared = 65536;
  const bool four = config.rfind("four", 0) == 0 || config == "all" || config == "exact";
  Floor floor;
  const bool biases = subject.parameters.find("bias") != std::string::npos;
  double parameters = 0, compared = 0;
  int tensors = 0;
  for (const auto& item : subject.module->named_parameters()) {
    if (!biases && item.key().find("weight") == std::string::npos) continue;
    const auto elements = static_cast<double>(item.value().numel());
    parameters += elements;
    compared += config == "exact" ? elements : std::min(elements, most_compared);
    ++tensors;
  }
  if (four || config == "loss") floor.events += 1;
  if (four || config == "activation") {
    for (const auto& module : subject.module->modules())
      floor.events += module->as<nn::ReLUImpl>() != nullptr || module->as<nn::GELUImpl>() != nullptr;
    floor.bytes += 4 * subject.activations;
  }
  if (four || config == "gradient") {
    floor.bytes += 4 * parameters + 4 * compared;
    floor.events += tensors;
  }
  if (four || config == "difference") {
    floor.bytes += 4 * parameters + 12 * compared;
    floor.events += tensors;
  }
  return floor;
}

class Bench {
 public:
  Bench(const std::string& model, std::string config, int threads)
      : subject_(make_subject(model)),
        config_(std::move(config)),
        optimizer_(subject_.module->parameters(), torch::optim::SGDOptions(1e-4)) {
    torch::set_num_threads(threads);
    if (config_ != "off") inspector_.emplace(loupe::Inspector::from_text(yaml_of(config_, subject_.parameters)));
  }

  /// Compares the added time with a measured floor: the speed of the memory level that can hold a step's measured
  /// bytes.
  nlohmann::json run(double seconds, int threads) {
    const Floor floor = floor_of(subject_, config_);
    const double bandwidth = read_bandwidth(threads, floor.bytes > 0 ? floor.bytes : 256.0 * (1 << 20));
    const int steps = std::max(1, static_cast<int>(block_seconds / block(3)));
    std::vector<double> off = {block(steps)}, added;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    while (added.size() < 5 || Clock::now() < end) {
      const double on = watched_block(steps);
      off.push_back(block(steps));
      // Compare with the blocks on both sides, which cancels slow changes of the machine's speed.
      added.push_back(on - (off[off.size() - 2] + off.back()) / 2);
      if (off.back() > seconds && added.size() >= 3) break;
    }
    std::sort(added.begin(), added.end());
    std::sort(off.begin(), off.end());
    return {{"config", config_},
            {"step_us", 1e6 * off[off.size() / 2]},
            {"added_us", 1e6 * added[added.size() / 2]},
            {"added_min_us", 1e6 * added[added.size() / 4]},
            {"added_max_us", 1e6 * added[added.size() * 3 / 4]},
            {"events", floor.events},
            {"floor_us", floor.bytes / bandwidth / 1e3},
            {"memory", memory_level(floor.bytes > 0 ? floor.bytes : 256.0 * (1 << 20))},
            {"gb_per_s", bandwidth}};
  }

 private:
  bool has_budget() const { return config_ == "budget" || config_ == "default"; }
  void step(bool push) {
    const torch::Tensor loss = train_step(subject_, optimizer_);
    if (push) inspector_->push_loss(loss, true);
  }
  /// The seconds per step, without anything attached.
  double block(int steps) { return timed(steps, false); }
  /// Leaves out the first steps, which run with caches changed by attaching or detaching.
  double timed(int steps, bool push) {
    const int least = has_budget() && push ? budget_steps : 2;
    for (int i = 0; i < std::max(least, steps / 4); ++i) step(push);
    const auto start = Clock::now();
    for (int i = 0; i < steps; ++i) step(push);
    return std::chrono::duration<double>(Clock::now() - start).count() / steps;
  }
  double watched_block(int steps) {
    if (config_ == "off") return block(steps);
    inspector_->attach(*subject_.module, optimizer_);
    if (config_ == "detached") inspector_->detach();
    if (config_ == "inactive") inspector_->set_active([](int64_t) { return false; });
    if (has_budget() && !std::exchange(is_half_second_over_, true)) {
      constexpr std::chrono::seconds enough(8);
      for (const auto end = Clock::now() + enough; Clock::now() < end;) step(true);
    }
    const bool push = config_ != "detached";
    const double seconds = timed(steps, push);
    inspector_->detach();
    inspector_->tick_epoch();
    return seconds;
  }

  Subject subject_;
  std::string config_;
  torch::optim::SGD optimizer_;
  std::optional<loupe::Inspector> inspector_;
  bool is_half_second_over_ = false;  // a budget measures every step for the first half second
};

void print_row(const nlohmann::json& row) {
  const double added = row["added_us"], floor = row["floor_us"], step = row["step_us"];
  std::printf("%-6s %7d  %-10s %12.1f %10.1f %6.1f %%  %10.1f..%-10.1f %6d %10.1f %7s  %-4s %5.1f GB/s\n",
              row["model"].get<std::string>().c_str(), row["threads"].get<int>(),
              row["config"].get<std::string>().c_str(), step, added, 100 * added / step,
              row["added_min_us"].get<double>(), row["added_max_us"].get<double>(), row["events"].get<int>(), floor,
              floor > 0 ? (std::to_string(added / floor).substr(0, 5)).c_str() : "-",
              row["memory"].get<std::string>().c_str(), row["gb_per_s"].get<double>());
  std::fflush(stdout);
}

/// Measures how attaching and a tick grow with the model's layers and with the number of earlier ticks.
nlohmann::json measure_growth(int layers, const std::string& visualizers, int tick_count) {
  constexpr int timed_ticks = 10;  // the result is their median
  torch::manual_seed(1);
  nn::Sequential model = small_layers(layers);
  torch::optim::SGD optimizer(model->parameters(), 1e-4);
  const auto folder = std::filesystem::temp_directory_path() / "loupe_bench";
  std::filesystem::remove_all(folder);
  auto inspector =
      loupe::Inspector::from_text("run: {dir: " + folder.string() + "}\n" + yaml_of("all", "[weight, bias]") +
                                  "visualizers: [" + visualizers + "]\n");
  const auto milliseconds = [](auto&& call) {
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  const torch::Tensor input = torch::randn({8, 64});
  const double attach = milliseconds([&] { inspector.attach(*model, optimizer); });
  std::vector<double> ticks;
  for (int i = 0; i < tick_count + timed_ticks; ++i) {
    optimizer.zero_grad();
    model->forward(input).sum().backward();
    optimizer.step();
    ticks.push_back(milliseconds([&] { inspector.tick_epoch(); }));
  }
  nlohmann::json after = nlohmann::json::object();
  for (int before = 10; before <= tick_count; before *= 10) {
    std::vector<double> some(ticks.begin() + before, ticks.begin() + before + timed_ticks);
    std::sort(some.begin(), some.end());
    after[std::to_string(before)] = some[timed_ticks / 2];
  }
  return {{"layers", layers}, {"visualizers", visualizers}, {"attach_ms", attach}, {"tick_ms_after", after}};
}

nlohmann::json measure_all_growth(const std::vector<int>& layers, const std::vector<std::string>& visualizers,
                                  int tick_count, bool prints) {
  nlohmann::json rows = nlohmann::json::array();
  if (prints) std::printf("layers  visualizers               attach ms   tick ms\n");
  for (const int count : layers) {
    for (const std::string& each : visualizers) {
      nlohmann::json row = measure_growth(count, each, tick_count);
      if (prints) {
        std::printf("%6d  %-24s %10.1f  ", count, each.empty() ? "none" : each.c_str(), row["attach_ms"].get<double>());
        for (const auto& [before, time] : row["tick_ms_after"].items())
          std::printf(" %.2f after %s ticks", time.get<double>(), before.c_str());
        std::printf("\n");
      }
      std::fflush(stdout);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// The time that each copy takes more than the first copy and than the previous one, also as a share of what the second
/// adds to the first: with `off four four+health`, the last figure of the last row is the cost of health.
nlohmann::json measure_together(const std::string& model, const std::vector<std::string>& configs,
                                const std::string& parameters, double seconds, int layouts, bool prints) {
  std::vector<std::string> yamls;
  for (const std::string& each : configs) yamls.push_back(yaml_of(each, parameters));
  const std::vector<StepTime> times = loupe::bench::measure_together(model, configs, yamls, seconds, layouts);
  const double base = times[times.size() > 1 ? 1 : 0].than_first.mean;
  nlohmann::json rows = nlohmann::json::array();
  if (prints) std::printf("model  config           step us    added us        share   more than the one before\n");
  for (const StepTime& each : times) {
    const auto share = [&](double more) { return base > 0 ? 100 * more / base : 0; };
    rows.push_back({{"model", model},
                    {"config", each.config},
                    {"step_us", each.median},
                    {"added_us", each.than_first.mean},
                    {"added_error_us", each.than_first.error},
                    {"more_us", each.than_before.mean},
                    {"more_error_us", each.than_before.error},
                    {"more_percent", share(each.than_before.mean)}});
    if (prints)
      std::printf("%-6s %-15s %9.1f %8.1f +- %-4.1f %6.1f %% %8.1f +- %-4.1f %6.1f %%\n", model.c_str(),
                  each.config.c_str(), each.median, each.than_first.mean, each.than_first.error,
                  share(each.than_first.mean), each.than_before.mean, each.than_before.error,
                  share(each.than_before.mean));
  }
  std::fflush(stdout);
  return rows;
}

nlohmann::json measure_programs(const std::vector<std::string>& models, const std::string& config, double seconds,
                                int rounds, bool prints) {
  nlohmann::json rows = nlohmann::json::array();
  if (prints) std::printf("model    step us   with an inspector   under loupe run   more than the inspector\n");
  for (const std::string& model : models) {
    const std::string parameters = make_subject(model == "asks" ? "D" : model).parameters;
    const nlohmann::json row = measure_program(model, yaml_of(config, parameters), seconds, rounds);
    if (prints)
      std::printf("%-6s %9.1f %19.1f %17.1f %23.1f %%\n", model.c_str(), row["step_us"].get<double>(),
                  row["inspector_us"].get<double>(), row["run_us"].get<double>(),
                  row["run_more_percent"].get<double>());
    std::fflush(stdout);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures what watching adds to a training step, against the time its bytes take at the memory's speed.");
  std::vector<std::string> models = {"A", "B", "C", "D"}, configs = all_configs;
  std::vector<int> threads = {1, 2};
  double seconds = 3;
  bool as_json = false;
  std::vector<int> layers;
  std::vector<std::string> visualizers = {"", "record", "csv", "html", "tensorboard", "record, html, tensorboard"};
  int tick_count = 100, layouts = 8;
  app.add_option("--model", models, "A to G");
  app.add_option("--config", configs, "what is attached")->check(CLI::IsMember(all_configs));
  app.add_option("--threads", threads, "LibTorch's threads");
  app.add_option("--seconds", seconds, "how long to measure each row");
  app.add_flag("--json", as_json, "an array of objects instead of a table");
  std::vector<std::string> together;
  app.add_option("--together", together,
                 "instead: copies of a model, each watched by one of these, trained in turn; such as "
                 "'off four four+health health'; '+ranks': as one of several processes of a run")
      ->check(CLI::IsMember(all_configs));
  app.add_option("--layouts", layouts, "for --together: in how many layouts of the memory, which are luck")
      ->check(CLI::Range(1, 1000));
  app.add_option("--growth", layers, "instead: the time of attaching and of a tick of models of so many layers");
  app.add_option("--visualizers", visualizers, "for --growth: each as YAML lists them, such as 'record, html'");
  app.add_option("--ticks", tick_count, "for --growth: how many ticks before the last that is timed")
      ->check(CLI::Range(10, 100000));
  std::vector<std::string> programs;
  int rounds = 5;
  app.add_option("--programs", programs,
                 "instead: a program of each of these models on its own, with an inspector and under `loupe run`, in "
                 "turn; 'asks' is D with a loop that asks it for its parameters. Of --config the last is taken");
  app.add_option("--rounds", rounds, "for --programs: how often each runs")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  become_a_rank();

  if (!programs.empty()) {
    const nlohmann::json measured = measure_programs(programs, configs.back(), seconds, rounds, !as_json);
    if (as_json) std::cout << measured.dump(1) << "\n";
    return 0;
  }

  if (!layers.empty()) {
    const nlohmann::json grown = measure_all_growth(layers, visualizers, tick_count, !as_json);
    if (as_json) std::cout << grown.dump(1) << "\n";
    return 0;
  }
  if (!together.empty()) {
    nlohmann::json rows = nlohmann::json::array();
    for (const int count : threads) {
      torch::set_num_threads(count);
      for (const std::string& model : models)
        rows.push_back(measure_together(model, together, make_subject(model).parameters, seconds, layouts, !as_json));
    }
    if (as_json) std::cout << rows.dump(1) << "\n";
    return 0;
  }
  nlohmann::json rows = nlohmann::json::array();
  if (!as_json)
    std::printf(
        "model  threads  config          step us   added us    share   quartiles             events   floor us   ratio "
        " "
        "memory\n");
  for (const int count : threads) {
    for (const std::string& model : models) {
      for (const std::string& config : configs) {
        nlohmann::json row = Bench(model, config, count).run(seconds, count);
        row["model"] = model;
        row["threads"] = count;
        if (!as_json) print_row(row);
        rows.push_back(std::move(row));
      }
    }
  }
  if (as_json) std::cout << rows.dump(1) << "\n";
}
