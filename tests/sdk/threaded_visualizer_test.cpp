#include <gtest/gtest.h>
#include <loupe/plugin.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

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
  void begin_tick(const Tick& tick) override { note("begin_tick " + std::to_string(static_cast<int>(tick.epoch))); }
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
    return run;
  }
  static loupe_tick tick(double epoch) {
    loupe_tick tick{};
    tick.struct_size = sizeof tick;
    tick.epoch = epoch;
    return tick;
  }
  void tell_a_tick(double epoch) {
    visualizer_.begin_tick(tick(epoch));
    // What is told is borrowed for the call: it must be gone afterwards.
    std::string tag = "T", layer = "conv", line = "mean";
    visualizer_.value({sizeof(loupe_value), 0, tag.c_str(), layer.c_str(), line.c_str(), 1, nullptr, 0});
    std::vector<double> edges{0, 5}, counts{7};
    visualizer_.histogram({sizeof(loupe_histogram), 0, tag.c_str(), layer.c_str(), line.c_str(), edges.data(),
                           counts.data(), 1, nullptr, 0});
    tag = layer = line = "gone";
    edges = {100, 200};
    counts = {300};
    visualizer_.end_tick();
  }

  loupe_options none_{sizeof(loupe_options), 0, nullptr, 0};
  ThreadedVisualizer<Noting> visualizer_{Options(&none_), Host(nullptr)};
};

TEST_F(ThreadedVisualizerTest, TellsTheSameInTheSameOrderOnAThreadOfItsOwn) {
  visualizer_.begin(run());
  tell_a_tick(1);
  tell_a_tick(2);
  visualizer_.end({sizeof(loupe_ending), LOUPE_END_COMPLETED, 0, 0, 0, 0, nullptr});
  EXPECT_EQ(told.lines, (Texts{"begin r", "begin_tick 1", "value conv/mean", "histogram 12", "end_tick", "begin_tick 2",
                               "value conv/mean", "histogram 12", "end_tick", "end"}));
  EXPECT_NE(told.thread, std::this_thread::get_id());
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

TEST_F(ThreadedVisualizerTest, AFailureReachesTheNextTickOrFlush) {
  told.fail_at = "value conv/mean";
  visualizer_.begin(run());
  tell_a_tick(1);
  EXPECT_THROW(visualizer_.flush(), Error);
  told.fail_at = "";
  tell_a_tick(2);
  EXPECT_NO_THROW(visualizer_.flush());
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
    ThreadedVisualizer<Noting> short_lived{Options(&none_), Host(nullptr)};
    short_lived.begin(run());
    short_lived.begin_tick(tick(1));
    short_lived.end_tick();
  }
  EXPECT_EQ(told.lines, (Texts{"begin r", "begin_tick 1", "end_tick"}));
}

}  // namespace
}  // namespace loupe
