// A process with an inspector forks. The child runs without Loupe, and the record belongs to the parent only.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace {

namespace fs = std::filesystem;
namespace nn = torch::nn;

class Fork : public testing::Test {
 protected:
  Fork() {
    torch::set_num_threads(1);
    fs::remove_all(folder);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), 0.05);
  }
  ~Fork() override { fs::remove_all(folder); }
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a forked child may hang on a lock of the sanitizer's allocator, held during the fork";
#endif
  }

  loupe::Inspector watching(const std::string& yaml) {
    auto made = loupe::Inspector::from_text("run: {dir: " + folder.string() + "}\nattach: {summary: false}\n" + yaml);
    made.attach(*model, *optimizer);
    return made;
  }
  void step() {
    optimizer->zero_grad();
    torch::relu(model->forward(torch::ones({4, 6}))).sum().backward();
    optimizer->step();
  }
  /// LibTorch may refuse a backward pass in the child if the parent ran one.
  void step_without_backward() {
    const torch::NoGradGuard guard;
    torch::relu(model->forward(torch::ones({4, 6})));
    optimizer->step();
  }
  /// The child's exit code, or minus the signal that ended it. An alarm ends a child that hangs.
  static int in_child(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      try {
        work();
      } catch (const std::exception& e) {
        std::fprintf(stderr, "in the child: %s\n", e.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::string record() const {
    std::ifstream file(folder / "record.jsonl");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Waits until the record has this many ticks, which one of Loupe's threads writes, and returns its text.
  std::string record_of(int ticks) const {
    std::string text = record();
    for (int i = 0; i < 10000 && ticks_of(text) < ticks; ++i, text = record()) ::usleep(1000);
    return text;
  }
  static int ticks_of(const std::string& text) {
    int count = 0;
    for (std::size_t at = text.find("\"kind\":\"tick\""); at != std::string::npos;
         at = text.find("\"kind\":\"tick\"", at + 1))
      ++count;
    return count;
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("loupe_fork_" + std::to_string(::getpid()));
  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
};

TEST_F(Fork, AChildWritesNothingIntoItsParentsRecord) {
  auto inspector = watching("lenses: [health, output_norm, loss_metrics]\nvisualizers: [record, csv, html]\n");
  step();
  inspector.tick_epoch();
  const std::string before = record_of(1);
  ASSERT_NE(before, "");
  EXPECT_EQ(in_child([&] {
              step_without_backward();
              inspector.push_loss(1.0, true);
              inspector.push_metric("accuracy", 0.5);
              inspector.tick_epoch();
              inspector.note("in the child");
              inspector.dump("in the child");
              inspector.set_directory(folder / "elsewhere");
              inspector.detach();
              for ([[maybe_unused]] int epoch : inspector.epochs(2)) step_without_backward();
            }),
            0);
  EXPECT_EQ(record(), before);
  step();
  inspector.tick_epoch();
  EXPECT_NE(record_of(2), before) << "the parent's run continues";
}

TEST_F(Fork, AChildMayDestroyItsParentsInspector) {
  auto inspector =
      std::make_unique<loupe::Inspector>(watching("lenses: [health, output_norm]\nvisualizers: [record, html]\n"));
  step();
  inspector->tick_epoch();
  const std::string before = record_of(1);
  EXPECT_EQ(in_child([&] {
              inspector.reset();
              optimizer.reset();
              ::_exit(3);
            }),
            3);
  EXPECT_EQ(in_child([&] { *inspector = loupe::Inspector::from_text("lenses: [output_norm]\n"); }), 0);
  EXPECT_EQ(record(), before);
}

TEST_F(Fork, AChildRunsTheModelWhileThreadsOfItsParentRunIt) {
  // A child may inherit held locks of LibTorch and its BLAS: locks of parameters, and of the memory for products of
  // matrices. This model needs none of these locks.
  model = nn::Sequential(nn::LayerNorm(nn::LayerNormOptions({6}).elementwise_affine(false)), nn::ReLU(), nn::Tanh());
  auto inspector =
      loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health, output_norm, output_activation]\n");
  inspector.attach(*model);
  {
    const torch::NoGradGuard guard;
    torch::sigmoid(torch::tanh(model->forward(torch::ones({16, 6}))));  // the first call of an operator takes a lock
  }
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const torch::NoGradGuard guard;
      while (!over) torch::tanh(model->forward(torch::ones({16, 6})));
    });
  }
  for (int i = 0; i < 15; ++i) {
    const int status = in_child([&] {
      for (int pass = 0; pass < 3; ++pass) torch::sigmoid(model->forward(torch::ones({2, 6})));
    });
    EXPECT_EQ(status, 0);
    if (status != 0) break;
    inspector.tick_epoch();
  }
  over = true;
  for (std::thread& each : threads) each.join();
}

TEST_F(Fork, AChildMayHaveItsOwnInspector) {
  auto inspector = watching("lenses: [output_norm]\nvisualizers: [record]\n");
  step();
  inspector.tick_epoch();
  EXPECT_EQ(in_child([&] {
              auto own = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_norm]\n");
              own.attach(*model, *optimizer);
              step_without_backward();
              own.tick_epoch();
              ::_exit(own.value("Output Norm", "1", "mean") ? 0 : 7);
            }),
            0);
}

}  // namespace
