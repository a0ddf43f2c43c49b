#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/threaded_visualizer.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "fake.h"

namespace loupe {
namespace {

using Texts = std::vector<std::string>;

/// What the visualizer behind the thread was told, and where.
struct Told {
  Texts lines;
  std::thread::id thread;
  std::string fail_at;
};
Told told;

class Noting : public Visualizer {
 public:
  static constexpr const char* name = "noting";
  static constexpr const char* help = "notes what it is told";
  static std::vector<Option> options() { return {{"size", 3, "nothing"}}; }
  explicit Noting(const Options&) {}
  void begin(const Run& run) override { note(std::string("begin ") + run.name); }
  void model(const Model& model) override { note(std::string("model ") + model.name); }
  void tag(const Tag& tag) override { note(std::string("tag ") + tag.id); }
  void begin_tick(const Tick& tick) override { note("begin_tick " + std::to_string(static_cast<int>(tick.at.epoch))); }
  void value(const Value& value) override { note(std::string("value ") + layer_of(value) + "/" + value.line); }
  void histogram(const Histogram& histogram) override {
    note("histogram " + std::to_string(static_cast<int>(histogram.edges[1] + histogram.counts[0])));
  }
  void end_tick() override { note("end_tick"); }
  void flush() override { note("flush"); }
  void finding(const loupe_finding& finding) override { note(std::string("finding ") + finding.layer); }
  void end(const Ending&) override { note("end"); }

 private:
  static void note(const std::string& line) {
    told.thread = std::this_thread::get_id();
    told.lines.push_back(line);
    if (line == told.fail_at) throw Error("the test wants it to fail");
  }
};

class ThreadedVisualizerTest : public testing::Test {
 protected:
  ThreadedVisualizerTest() { told = Told(); }

  static loupe_run run() {
    loupe_run run{};
    run.struct_size = sizeof run;
    run.name = run.directory = run.config = run.loupe_version = run.libtorch_version = run.started = "r";
    run.train_loss = run.validation_loss = "r";
    return run;
  }
  static loupe_tick tick(double epoch) {
    loupe_tick tick{};
    tick.struct_size = sizeof tick;
    tick.at.epoch = epoch;
    return tick;
  }
  void tell_a_tick(double epoch) {
    visualizer_.begin_tick(tick(epoch));
    // What is told is borrowed for the call: it must be gone afterwards.
    std::string tag = "T", layer = "conv", line = "mean";
    visualizer_.value({.struct_size = sizeof(loupe_value),
                       .tag = tag.c_str(),
                       .layer = layer.c_str(),
                       .line = line.c_str(),
                       .value = 1});
    std::vector<double> edges{0, 5}, counts{7};
    visualizer_.histogram({.struct_size = sizeof(loupe_histogram),
                           .tag = tag.c_str(),
                           .layer = layer.c_str(),
                           .line = line.c_str(),
                           .edges = edges.data(),
                           .counts = counts.data(),
                           .bin_count = 1});
    tag = layer = line = "gone";
    edges = {100, 200};
    counts = {300};
    visualizer_.end_tick();
  }

  /// Whether it threw: when a tick ends, the thread may or may not have come to where it fails.
  template <class Call>
  static bool throws(Call&& call) {
    try {
      call();
    } catch (const Error&) {
      return true;
    }
    return false;
  }

  loupe_options none_{sizeof(loupe_options), 0, nullptr, 0};
  test::FakeHost host_;
  ThreadedVisualizer<Noting> visualizer_{Options(&none_), host_.host()};
};

TEST_F(ThreadedVisualizerTest, TellsTheSameInTheSameOrderOnAThreadOfItsOwn) {
  visualizer_.begin(run());
  tell_a_tick(1);
  tell_a_tick(2);
  visualizer_.end({sizeof(loupe_ending), LOUPE_END_COMPLETED, {}, nullptr});
  EXPECT_EQ(told.lines, (Texts{"begin r", "begin_tick 1", "value conv/mean", "histogram 12", "end_tick", "begin_tick 2",
                               "value conv/mean", "histogram 12", "end_tick", "end"}));
  EXPECT_NE(told.thread, std::this_thread::get_id());
}

TEST_F(ThreadedVisualizerTest, TellsTicksOfAnySizeAfterOneAnother) {
  visualizer_.begin(run());
  Texts expected{"begin r"};
  // Long names after short ones and many after few, so that memory which is used again is too small or too large.
  for (const std::size_t size : {10, 200000, 30, 70000, 5, 300000}) {
    visualizer_.begin_tick(tick(1));
    expected.push_back("begin_tick 1");
    for (std::size_t i = 0; i < 200; ++i) {
      const std::string layer(i % 50 == 0 ? size : 40, static_cast<char>('a' + i % 26));
      visualizer_.value(
          {.struct_size = sizeof(loupe_value), .tag = "T", .layer = layer.c_str(), .line = "mean", .value = 1});
      expected.push_back("value " + layer + "/mean");
    }
    visualizer_.end_tick();
    expected.push_back("end_tick");
    visualizer_.flush();
    expected.push_back("flush");
  }
  EXPECT_EQ(told.lines, expected);
}

TEST_F(ThreadedVisualizerTest, IsDescribedAsWhatWorksOnTheThread) {
  EXPECT_STREQ(ThreadedVisualizer<Noting>::name, "noting");
  EXPECT_STREQ(ThreadedVisualizer<Noting>::help, "notes what it is told");
  EXPECT_EQ(ThreadedVisualizer<Noting>::options().at(0).name, "size");
}

TEST_F(ThreadedVisualizerTest, FlushReturnsWhenEverythingIsDone) {
  visualizer_.begin(run());
  tell_a_tick(1);
  visualizer_.flush();
  EXPECT_EQ(told.lines.back(), "flush");
  EXPECT_EQ(told.lines.size(), 6u);
}

TEST_F(ThreadedVisualizerTest, AFailureReachesTheNextFlush) {
  told.fail_at = "value conv/mean";
  visualizer_.begin(run());
  const bool at_tick = throws([&] { tell_a_tick(1); });
  EXPECT_NE(throws([&] { visualizer_.flush(); }), at_tick) << "once";
  told.fail_at = "";
  throws([&] { tell_a_tick(2); });
  EXPECT_NO_THROW(visualizer_.flush());
}

TEST_F(ThreadedVisualizerTest, AFailureToBeginIsToldAtOnce) {
  told.fail_at = "begin r";
  EXPECT_THROW(visualizer_.begin(run()), Error);
  told.fail_at = "";
  EXPECT_NO_THROW(visualizer_.begin(run()));
}

TEST_F(ThreadedVisualizerTest, AFailureToEndIsToldAtOnce) {
  visualizer_.begin(run());
  told.fail_at = "end";
  EXPECT_THROW(visualizer_.end({sizeof(loupe_ending), LOUPE_END_COMPLETED, {}, nullptr}), Error);
}

TEST_F(ThreadedVisualizerTest, AFailureEndsItsTickAndTheNextIsToldWhole) {
  told.fail_at = "begin_tick 1";
  visualizer_.begin(run());
  throws([&] { tell_a_tick(1); });
  throws([&] { tell_a_tick(2); });
  throws([&] { visualizer_.flush(); });
  EXPECT_EQ(told.lines,
            (Texts{"begin r", "begin_tick 1", "begin_tick 2", "value conv/mean", "histogram 12", "end_tick", "flush"}));
}

// The host says "works again" where a tick's end is told without a failure: not before one has succeeded.
TEST_F(ThreadedVisualizerTest, AFailureIsToldAtTheEndOfTicksUntilOneHasSucceeded) {
  class Gate : public Noting {
   public:
    using Noting::Noting;
    void begin_tick(const Tick& tick) override {
      while (!is_open) std::this_thread::yield();
      Noting::begin_tick(tick);
    }
    std::atomic<bool> is_open{true};
  };
  static Gate* gate = nullptr;
  struct Seen : Gate {
    explicit Seen(const Options& options) : Gate(options) { gate = this; }
  };
  ThreadedVisualizer<Seen> visualizer{Options(&none_), host_.host()};
  const auto tell = [&](double epoch) {
    visualizer.begin_tick(tick(epoch));
    visualizer.end_tick();
  };
  visualizer.begin(run());
  told.fail_at = "begin_tick 1";
  throws([&] { tell(1); });
  throws([&] { visualizer.flush(); });  // one of the two has told it
  gate->is_open = false;
  EXPECT_THROW(tell(2), Error) << "nothing has succeeded yet";
  gate->is_open = true;
  EXPECT_NO_THROW(visualizer.flush()) << "it was told";
  EXPECT_NO_THROW(tell(3));
}

TEST_F(ThreadedVisualizerTest, WhatHoldsOnIsToldAgainWhereItFailed) {
  loupe_tag tag{};
  tag.struct_size = sizeof tag;
  tag.id = "T";
  told.fail_at = "tag T";
  visualizer_.begin(run());
  visualizer_.tag(tag);
  EXPECT_THROW(visualizer_.flush(), Error);
  told.fail_at = "";
  told.lines.clear();
  throws([&] { tell_a_tick(1); });
  visualizer_.flush();
  EXPECT_EQ(told.lines, (Texts{"tag T", "begin_tick 1", "value conv/mean", "histogram 12", "end_tick", "flush"}));
}

TEST_F(ThreadedVisualizerTest, TheTrainerWaitsWhenSeveralTicksDo) {
  static std::atomic<int> begun;
  static int most_behind;
  begun = most_behind = 0;
  struct Slow : Noting {
    using Noting::Noting;
    void begin_tick(const Tick& tick) override {
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      most_behind = std::max(most_behind, begun.load() - static_cast<int>(tick.at.epoch));
    }
  };
  ThreadedVisualizer<Slow> visualizer{Options(&none_), host_.host()};
  visualizer.begin(run());
  for (int epoch = 1; epoch <= 200; ++epoch) {
    visualizer.begin_tick(tick(epoch));
    begun = epoch;
    visualizer.end_tick();
  }
  visualizer.flush();
  EXPECT_LE(most_behind, 4);
}

TEST_F(ThreadedVisualizerTest, TakesNoMoreProgressThanItKeepsUpWith) {
  static std::atomic<int> started;
  static std::atomic<bool> is_open;
  started = 0;
  is_open = false;
  struct Slow : Noting {
    using Noting::Noting;
    void progress(const Progress&) override {
      ++started;
      while (!is_open) std::this_thread::yield();
    }
  };
  ThreadedVisualizer<Slow> visualizer{Options(&none_), host_.host()};
  visualizer.begin(run());
  const Progress progress{
      .struct_size = sizeof(Progress), .at = {6, 1, 0, 0}, .epochs = 2, .steps = 3, .steps_before = 4, .seconds = 5};
  visualizer.progress(progress);
  while (started == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) visualizer.progress(progress);
  is_open = true;
  visualizer.flush();
  visualizer.progress(progress);
  visualizer.flush();
  EXPECT_LE(started, 3);
  EXPECT_GE(started, 2);
}

struct Talkative : Noting {
  using Noting::Noting;
  static constexpr const char* example = "noting: {size: 4}";
  static std::vector<const char*> aliases() { return {"noter"}; }
  static std::vector<const char*> gives() { return {"lines: what it was told"}; }
  void progress(const Progress&) override {}
};

TEST_F(ThreadedVisualizerTest, DeclaresWhatWorksOnTheThreadDeclares) {
  const loupe_component& declared = *detail::Component<ThreadedVisualizer<Talkative>>::descriptor();
  ASSERT_EQ(declared.alias_count, 1u);
  EXPECT_STREQ(declared.aliases[0], "noter");
  ASSERT_EQ(declared.give_count, 1u);
  EXPECT_STREQ(declared.gives[0], "lines: what it was told");
  EXPECT_STREQ(declared.example, "noting: {size: 4}");
  EXPECT_NE(static_cast<const loupe_visualizer*>(declared.table)->progress, nullptr);

  const loupe_component& terse = *detail::Component<ThreadedVisualizer<Noting>>::descriptor();
  EXPECT_EQ(terse.alias_count, 0u);
  EXPECT_EQ(terse.give_count, 0u);
  EXPECT_EQ(terse.example, nullptr);
  EXPECT_EQ(static_cast<const loupe_visualizer*>(terse.table)->progress, nullptr);
}

/// Takes its time, and says on stderr what it has done.
struct Late : Noting {
  using Noting::Noting;
  void end_tick() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::cerr << "stored" << std::endl;
  }
};

using ThreadedVisualizerDeathTest = ThreadedVisualizerTest;

TEST_F(ThreadedVisualizerDeathTest, LosesNothingWhenTheProcessEndsByExit) {
  EXPECT_EXIT(
      {
        auto* const left_alive = new ThreadedVisualizer<Late>(Options(&none_), host_.host());
        left_alive->begin(run());
        left_alive->begin_tick(tick(1));
        left_alive->end_tick();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "stored");
}

TEST_F(ThreadedVisualizerDeathTest, MayBeUsedStillWhileTheProcessEnds) {
  EXPECT_EXIT(
      {
        static auto* const left_alive = new ThreadedVisualizer<Late>(Options(&none_), host_.host());
        // Registered before its thread begins, and so called after that has ended.
        std::atexit([] {
          left_alive->begin_tick(tick(2));
          left_alive->end_tick();
          delete left_alive;
        });
        left_alive->begin(run());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "stored");
}

TEST_F(ThreadedVisualizerTest, DoesNotKeepAForkedChild) {
  visualizer_.begin(run());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that waits for a thread which it has not got would wait for ever
    tell_a_tick(1);
    visualizer_.flush();
    visualizer_.~ThreadedVisualizer();
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  tell_a_tick(1);
  visualizer_.flush();
  EXPECT_EQ(told.lines.back(), "flush");
}

TEST_F(ThreadedVisualizerTest, NamesTheModuleOfAFindingThatIsGoneByThen) {
  visualizer_.begin(run());
  {
    loupe_module module{};
    module.struct_size = sizeof module;
    const std::string name = "fc1";
    module.name = module.path = module.model = module.type = module.full_type = name.c_str();
    Finding finding{"rule", LOUPE_SEVERITY_ERROR, "what is wrong"};
    finding.module = &module;
    visualizer_.finding(finding.c_form());
  }
  visualizer_.flush();
  EXPECT_EQ(told.lines[1], "finding fc1");
}

TEST_F(ThreadedVisualizerTest, MayBeDestroyedWithoutAnEnd) {
  {
    ThreadedVisualizer<Noting> short_lived{Options(&none_), host_.host()};
    short_lived.begin(run());
    short_lived.begin_tick(tick(1));
    short_lived.end_tick();
  }
  EXPECT_EQ(told.lines, (Texts{"begin r", "begin_tick 1", "end_tick"}));
}

}  // namespace
}  // namespace loupe
