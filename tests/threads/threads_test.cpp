// Attaches, ticks and detaches while other threads train. The counts of each test do not depend on the threads' speed;
// ThreadSanitizer (tests/run.sh --sanitize thread) reports data races.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <loupe/plugin.h>
#include <loupe/register_plugin.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace nn = torch::nn;

namespace {

constexpr int trainers = 8;
const char* const lenses =
    "attach: {active: 2, summary: false}\n"
    "lenses: [output_norm, gradient_geometry, parameter_difference, loss_metrics]\n";

nn::Sequential make_model() {
  return nn::Sequential(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 3));
}

/// Starts threads that call `step` until `others` returns, and at least three times each.
template <class Step, class Others>
void beside(int count, Step&& step, Others&& others) {
  std::atomic<bool> over{false};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 3 || !over; ++i) {
        step(number);
        if (i == 0) ++started;
      }
    });
  }
  while (started < count) std::this_thread::yield();
  others();
  over = true;
  for (std::thread& each : threads) each.join();
}

/// The lens `keeper` calls this at each tick.
std::function<void()> at_tick;

/// Keeps a value for each event of every leaf, and reads the flags of its parameters.
class Keeper : public loupe::Lens {
 public:
  static constexpr const char* name = "keeper";
  static constexpr const char* help = "values, names and flags that change on other threads";
  Keeper(const loupe::Options&, const loupe::Host& host) : host_(host) {}

  void visit(const loupe::Module& module) override {
    if (!module.is_leaf()) return;
    kept_.push_back(std::make_unique<Kept>(host_));
    sources_[module.name()] = watch(module, {"forward"}, *kept_.back());
  }
  void forget(const loupe::Module& module) override { sources_.erase(module.name()); }
  void report(loupe::Report& report) override {
    if (at_tick) at_tick();
    double read = 0, wrong = 0;
    for (const auto& [layer, source] : sources_) {
      for (const double value : source.values("ones")) {
        ++read;
        wrong += value != 1 ? 1 : 0;
      }
    }
    double optimized = 0;
    for (const auto& each : kept_) optimized += (each->flags & LOUPE_PARAMETER_OPTIMIZED) != 0 ? 1 : 0;
    report.tag("Kept", {});
    report.value("Kept", "read", read);
    report.value("Kept", "wrong", wrong);
    report.value("Kept", "optimized", optimized);
  }

 private:
  struct Kept : loupe::Preprocessor {
    explicit Kept(const loupe::Host& host_) : host(host_), ones(add_series("ones", loupe::Series::Keep::values)) {}
    loupe::Request request() const override { return {}; }
    void process(const loupe::Event& event) override {
      ones.push(1);
      const loupe_module* module = event.raw()->module;
      for (std::size_t i = 0; i < module->parameter_count; ++i) flags |= host.parameter_flags(module, i);
    }
    loupe::Host host;
    loupe::Series& ones;
    std::atomic<uint32_t> flags{0};  // also read at a tick
  };
  loupe::Host host_;
  std::vector<std::unique_ptr<Kept>> kept_;
  std::map<std::string, loupe::Source> sources_;
};
LOUPE_STATIC_PLUGIN(keepers, "keepers", "1.0", Keeper);

/// Runs 4 layers, each followed by `length` times three functions. Tests change the length while it runs.
struct DeepImpl : nn::Module {
  DeepImpl() {
    for (int i = 0; i < 4; ++i) layers.push_back(register_module("l" + std::to_string(i), nn::Linear(6, 6)));
  }
  at::Tensor forward(at::Tensor x) {
    for (auto& layer : layers) {
      x = layer(x);
      for (int i = 0; i < length; ++i) x = torch::sigmoid(torch::tanh(torch::relu(x)));
    }
    return x;
  }
  std::vector<nn::Linear> layers;
  std::atomic<int> length{1};
};
TORCH_MODULE(Deep);

}  // namespace

class Threads : public testing::Test {
 protected:
  Threads() {
    torch::set_num_threads(1);
    loupe::register_plugin(keepers);
    ::alarm(600);  // ends the test program if threads wait for each other
  }
  ~Threads() override {
    at_tick = nullptr;
    ::alarm(0);
  }
};

TEST_F(Threads, TrainSeparateModelsWhileTheseAreAttachedTickedAndDetached) {
  std::vector<nn::Sequential> models;
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
  for (int i = 0; i < trainers; ++i) {
    models.push_back(make_model());
    optimizers.push_back(std::make_unique<torch::optim::SGD>(models.back()->parameters(), 0.01));
  }
  const auto step = [&](int number) {
    const auto i = static_cast<std::size_t>(number);
    optimizers[i]->zero_grad();
    torch::tanh(models[i]->forward(torch::ones({4, 6}))).sum().backward();
    optimizers[i]->step();
  };
  beside(trainers, step, [&] {
    for (int round = 0; round < 3; ++round) {
      auto inspector = loupe::Inspector::from_text(lenses);
      for (int i = 0; i < trainers; ++i) {
        const auto number = static_cast<std::size_t>(i);
        inspector.attach(*models[number], *optimizers[number], "model" + std::to_string(i));
      }
      for (int tick = 0; tick < 6; ++tick) inspector.tick_epoch();
      inspector.detach("model0");
      inspector.tick_epoch();
    }
  });
  EXPECT_EQ(loupe::Inspector::redirected_calls(), 0U);
}

TEST_F(Threads, SumUpTheGradientsOfOneModelWhileItIsAttachedTickedAndDetached) {
  auto model = make_model();
  const auto prompt = torch::ones({4, 6}, torch::requires_grad());
  model->forward(prompt).sum().backward();
  std::vector<at::Tensor> of_one_pass;
  for (const at::Tensor& parameter : model->parameters()) of_one_pass.push_back(parameter.grad().clone());
  std::atomic<int> passes{1};
  const auto step = [&](int) {
    model->forward(prompt).sum().backward();
    ++passes;
  };
  beside(trainers, step, [&] {
    for (int round = 0; round < 5; ++round) {
      auto inspector = loupe::Inspector::from_text(lenses);
      inspector.attach(*model);
      for (int tick = 0; tick < 6; ++tick) inspector.tick_epoch();
    }
  });
  for (std::size_t i = 0; i < of_one_pass.size(); ++i)
    EXPECT_TRUE(torch::allclose(model->parameters()[i].grad(), of_one_pass[i] * passes.load(), 1e-3)) << i;
  EXPECT_EQ(loupe::Inspector::redirected_calls(), 0U);
}

TEST_F(Threads, CountEveryPassOfOneModel) {
  auto model = nn::Sequential(nn::Linear(6, 3));
  auto inspector =
      loupe::Inspector::from_text("attach: {summary: false}\nlenses: [gradient_geometry: {line: [max]}]\n");
  inspector.attach(*model);
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([&] {
      for (int pass = 0; pass < 10; ++pass) model->forward(torch::ones({4, 6})).sum().backward();
    });
  }
  for (std::thread& each : threads) each.join();
  inspector.tick_epoch();
  // Each pass adds 4 to every element. The lens sees the last sum, and no torn value between two sums.
  const double largest = 4.0 * 10 * trainers * std::sqrt(18.0);
  EXPECT_NEAR(inspector.value("Weight Gradient Norm", "0", "max").value_or(0), largest, 1e-2);
}

TEST_F(Threads, AttachTheirModelsToOneInspectorAtOnce) {
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_norm]\n");
  std::vector<nn::Sequential> models;
  for (int i = 0; i < trainers; ++i) models.push_back(make_model());
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([&, i] {
      inspector.attach(*models[static_cast<std::size_t>(i)], "model" + std::to_string(i));
      models[static_cast<std::size_t>(i)]->forward(torch::ones({4, 6}));
      inspector.push_metric("seen", i);
    });
  }
  for (std::thread& each : threads) each.join();
  inspector.tick_epoch();
  for (int i = 0; i < trainers; ++i)
    EXPECT_TRUE(inspector.value("Output Norm", "model" + std::to_string(i) + ".1", "mean")) << i;
}

TEST_F(Threads, HaveTheirStepsTimedForOneMonitorAtATime) {
  constexpr std::size_t inspected = 4;
  std::vector<loupe::Inspector> inspectors;
  for (std::size_t i = 0; i < inspected; ++i)
    inspectors.push_back(loupe::Inspector::from_text("attach: {summary: false}\nlenses: [step_time]\n"));
  std::vector<std::thread> threads;
  for (loupe::Inspector& inspector : inspectors) {
    threads.emplace_back([&inspector] {
      auto model = make_model();
      torch::optim::SGD optimizer(model->parameters(), 0.01);
      inspector.attach(*model, optimizer);
      for (int step = 0; step < 100; ++step) {
        optimizer.zero_grad();
        model->forward(torch::ones({4, 6})).sum().backward();
        optimizer.step();
      }
      inspector.tick_epoch();
    });
  }
  for (std::thread& each : threads) each.join();
  std::size_t timed = 0;
  for (loupe::Inspector& inspector : inspectors)
    timed += inspector.value("Step Time", "Step Time", "forward").value_or(0) > 0 ? 1 : 0;
  EXPECT_GE(timed, 1U) << "at least the first monitor that asked for it";
}

TEST_F(Threads, MaySetTheLogWhileOthersAreLogging) {
  constexpr int rounds = 5;
  std::atomic<int> summaries{0};
  const auto count = [&](loupe::LogLevel, const std::string& message) {
    summaries += message.find(" modules tapped") != std::string::npos ? 1 : 0;
  };
  loupe::set_log(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < trainers; ++i) {
    threads.emplace_back([i, count] {
      nn::Linear model(2, 2);
      for (int round = 0; round < rounds; ++round) {
        if (i % 2 == 0) loupe::set_log(count);
        auto inspector = loupe::Inspector::from_text("lenses: [output_norm]\n");
        inspector.attach(*model);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  loupe::set_log({});
  EXPECT_EQ(summaries, trainers * rounds) << "the current log gets each message, and only once";
}

TEST_F(Threads, AddValuesThatALensReadsAtATick) {
  Deep model;
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [keeper]\n");
  inspector.attach(*model);
  double read = 0, wrong = 0;
  std::atomic<int> passes{0};
  const auto step = [&](int) {
    const torch::NoGradGuard guard;
    model->forward(torch::ones({2, 6}));
    ++passes;
  };
  const auto add = [&] {
    inspector.tick_epoch();
    read += inspector.value("Kept", "", "read").value_or(0);
    wrong += inspector.value("Kept", "", "wrong").value_or(0);
  };
  beside(3, step, [&] {
    for (int tick = 0; tick < 50; ++tick) add();
  });
  add();
  EXPECT_GT(read, 0);
  EXPECT_LE(read, 16.0 * passes) << "four layers, each followed by three functions";
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, RunAModelWhileOptimizersAreAttached) {
  Deep model;
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [keeper, health]\n");
  inspector.attach(*model);
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
  const auto step = [&](int) {
    const torch::NoGradGuard guard;
    model->forward(torch::ones({2, 6}));
  };
  beside(3, step, [&] {
    for (auto& layer : model->layers) {
      optimizers.push_back(std::make_unique<torch::optim::SGD>(layer->parameters(), 0.01));
      inspector.attach_optimizer(*optimizers.back());
      inspector.tick_epoch();
    }
  });
  step(0);
  inspector.tick_epoch();
  EXPECT_EQ(inspector.value("Kept", "", "optimized"), 4.0);
}

TEST_F(Threads, CallNewFunctionsWhileALensAndACallbackRunTheModel) {
  const auto run = [](Deep& model) {
    const torch::NoGradGuard guard;
    model->forward(torch::ones({2, 6}));
  };
  for (int round = 0; round < 20; ++round) {
    Deep model;
    at_tick = [&] { run(model); };
    auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [keeper]\n");
    inspector.attach(*model);
    beside(
        3, [&](int) { run(model); },
        [&] {
          for (int i = 0; i < 6; ++i) {
            model->length = 2 + i;
            inspector.tick_epoch();
          }
        });
    EXPECT_TRUE(inspector.value("Kept", "", "read")) << "in round " << round;
    at_tick = nullptr;
  }
}

class ThreadsUnder : public Threads, public testing::WithParamInterface<const char*> {};

TEST_P(ThreadsUnder, AllLensesAndFindings) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("loupe_threads_" + std::to_string(::getpid()));
  struct RemoveAtEnd {  // destroyed after the inspector, which still writes there
    const std::filesystem::path& folder;
    ~RemoveAtEnd() { std::filesystem::remove_all(folder); }
  } remove{folder};
  auto inspector = loupe::Inspector::from_text(
      "run: {dir: " + folder.string() + "}\nattach: {summary: false" + std::string(GetParam()) +
      "}\n"
      "lenses: [health, run_statistics, loss_metrics, output_activation, output_norm, output_gradient_geometry, "
      "update_ratio,\n"
      "         gradient_geometry, parameter_difference, parameter_norm, parameter_gradient_activation, histograms]\n"
      "visualizers: [record, csv, html]\n");
  std::atomic<int> told{0};
  inspector.on_finding([&](const loupe::Finding&) { ++told; });
  constexpr int models = 3;
  std::vector<nn::Sequential> trained;
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
  Deep shared;
  inspector.attach(*shared, "shared");
  for (int i = 0; i < models; ++i) {
    trained.push_back(make_model());
    optimizers.push_back(std::make_unique<torch::optim::SGD>(trained.back()->parameters(), 0.01));
    inspector.attach(*trained.back(), *optimizers.back(), "model" + std::to_string(i));
  }
  const auto step = [&](int number) {
    if (number >= models) {  // one thread evaluates, and one more adds to the same gradients
      shared->forward(torch::ones({4, 6})).sum().backward();
      return;
    }
    // The loop does not clear its gradients, so there are findings.
    const auto i = static_cast<std::size_t>(number);
    const auto loss = torch::tanh(trained[i]->forward(torch::rand({4, 6}))).pow(2).mean();
    loss.backward();
    optimizers[i]->step();
    inspector.push_loss(loss, true);
  };
  beside(models + 2, step, [&] {
    for (int tick = 0; tick < 8; ++tick) {
      inspector.tick_epoch();
      EXPECT_NO_THROW(inspector.findings());
      inspector.note("tick");
    }
    inspector.dump("beside");
  });
  for (int epoch = 0; epoch < 2; ++epoch) {  // with `active: 2`, one of the two is measured
    for (int i = 0; i < 80; ++i) step(0);
    inspector.tick_epoch();
  }
  EXPECT_FALSE(inspector.findings().empty());
  EXPECT_GT(told, 0);
}

INSTANTIATE_TEST_SUITE_P(Looking, ThreadsUnder,
                         testing::Values("", ", every: 3", ", budget: 1%", ", active: 2, history: 4096"));
