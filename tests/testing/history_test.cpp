// A visualizer that stores runs plays the past of a resumed run to the other visualizers.

#include <gtest/gtest.h>
#include <loupe/draft/abi/history.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using Texts = std::vector<std::string>;

/// The run that Store has stored.
struct Stored {
  std::vector<double> epochs;
  std::string fault;  // an error after the epochs
  bool is_in_order = true;
};
Stored stored;
std::string directory_asked;
uint32_t flags_asked = 0;

class Store : public loupe::Visualizer {
 public:
  static constexpr auto name = "store", help = "keeps a run's ticks in memory";
  explicit Store(const loupe::Options&) {}
  void begin_tick(const loupe::Tick&) override {}
  void row(const loupe::Row&) override {}
  const void* get_extension(const char* id) override {
    static const loupe_draft_history history = {.struct_size = sizeof(loupe_draft_history), .play = &play};
    return std::strcmp(id, LOUPE_DRAFT_HISTORY_ID) == 0 ? &history : nullptr;
  }

 private:
  static loupe_status play(void*, const char* directory, double before, uint32_t flags, const loupe_visualizer* to,
                           void* to_self, loupe_error* error) {
    return loupe::detail::guarded(error, [&] {
      directory_asked = directory;
      flags_asked = flags;
      loupe::detail::ErrorBuffer answer;
      const loupe_tag tag{.struct_size = sizeof tag, .type = LOUPE_SCALE_NUMERICAL, .id = "Norm"};
      answer.check(to->tag(to_self, &tag, answer.get()));
      for (const double epoch : stored.epochs) {
        if (epoch >= before) continue;
        const char* line = "mean";
        const loupe_tick tick{.struct_size = sizeof tick, .at = {.epoch = epoch, .time = 1}};
        const loupe_row row{.struct_size = sizeof row,
                            .tag = "Norm",
                            .layer = "fc",
                            .value_count = 1,
                            .value_names = &line,
                            .values = &epoch};
        if (stored.is_in_order) answer.check(to->begin_tick(to_self, &tick, answer.get()));
        answer.check(to->row(to_self, &row, answer.get()));
        answer.check(to->end_tick(to_self, answer.get()));
      }
      if (!stored.fault.empty()) throw loupe::Error(stored.fault, LOUPE_INVALID);
    });
  }
};

Texts shown;

/// Requests the past, and fails at an epoch.
class Late : public loupe::Visualizer {
 public:
  static constexpr auto name = "late", help = "begins with the past";
  static std::vector<loupe::Option> options() {
    return {{"past", "all", "what to show from before", {"all", "values", "none"}}, {"fails_at", -1.0, "an epoch"}};
  }
  explicit Late(const loupe::Options& options) : fails_at_(options.get<double>("fails_at")) {}
  void begin_tick(const loupe::Tick& tick) override {
    if (tick.at.epoch == fails_at_) throw loupe::Error("it takes no more");
    shown.push_back("tick " + std::to_string(static_cast<int>(tick.at.epoch)));
  }
  void row(const loupe::Row& row) override {
    shown.push_back("row " + std::to_string(static_cast<int>(row.values[0])));
  }

 private:
  double fails_at_;
};

LOUPE_STATIC_PLUGIN(history_plugin, "history_test", "1", Store, Late);

class History : public testing::Test {
 protected:
  History() {
    stored = {{1, 2, 3, 4}, "", true};
    shown.clear();
    directory_asked.clear();
    flags_asked = 0;
  }
  /// Resumes a run, and trains these epochs.
  void train(const std::string& visualizers, const std::vector<double>& epochs, bool resumes = true) {
    lt::Bench bench("run: {dir: " + folder_ + ", resume: " + (resumes ? "true" : "false") +
                        "}\nvisualizers: " + visualizers + "\nlenses: []\n",
                    {LOUPE_BUILT_PLUGINS}, {&history_plugin});
    for (const double epoch : epochs) {
      bench.show(lt::Tag{"Norm"});
      bench.show("Norm", "fc", "mean", epoch);
      bench.tick(epoch);
    }
    bench.end();
    log_ = bench.log();
  }
  bool told(const std::string& part) const {
    return std::any_of(log_.begin(), log_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  const std::string folder_ =
      std::string(LOUPE_TEST_FOLDER) + "/History." + testing::UnitTest::GetInstance()->current_test_info()->name();
  Texts log_;
};

TEST_F(History, OfAnyVisualizerIsPlayedToOneThatWantsIt) {
  train("[late, store]", {3, 4});
  EXPECT_EQ(shown, (Texts{"tick 1", "row 1", "tick 2", "row 2", "tick 3", "row 3", "tick 4", "row 4"}));
  EXPECT_EQ(directory_asked, folder_);
  EXPECT_EQ(flags_asked, LOUPE_DRAFT_HISTORY_EVENTS);
  EXPECT_EQ(log_, Texts());
}

TEST_F(History, IsPlayedWithoutEventsIfOnlyValuesAreWanted) {
  train("[late: {past: values}, store]", {5});
  EXPECT_EQ(flags_asked, 0U);
  EXPECT_EQ(shown.front(), "tick 1");
}

TEST_F(History, IsNotPlayedToVisualizersThatDoNotWantItNorInANewRun) {
  train("[late: {past: none}, store]", {3});
  EXPECT_EQ(shown, (Texts{"tick 3", "row 3"}));
  shown.clear();
  train("[late, store]", {3}, false);
  EXPECT_EQ(shown, (Texts{"tick 3", "row 3"}));
}

TEST_F(History, ThatIsBrokenIsToldAsFarAsItGoesAndTheRunGoesOn) {
  stored = {{1}, "its second page is torn", true};
  train("[late, store]", {3});
  EXPECT_EQ(shown, (Texts{"tick 1", "row 1", "tick 3", "row 3"}));
  EXPECT_TRUE(told("'late'") && told("its second page is torn")) << testing::PrintToString(log_);
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(History, EndsWhereTheVisualizerFailsAndTheRunIsStillShown) {
  train("[late: {fails_at: 2}, store]", {3});
  EXPECT_EQ(shown, (Texts{"tick 1", "row 1", "tick 3", "row 3"}));
  EXPECT_TRUE(told("it takes no more")) << testing::PrintToString(log_);
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(History, IsHeldToTheContractInStrictMode) {
  stored.is_in_order = false;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("LOUPE_CHECK", "strict", 1);
  EXPECT_DEATH(train("[late, store]", {3}), "a fault inside the visualizer 'store'");
}

}  // namespace
