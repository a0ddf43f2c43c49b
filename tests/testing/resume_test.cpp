// How visualizers show the earlier epochs of a resumed run.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "paths.h"

namespace {

namespace fs = std::filesystem;
namespace lt = loupe::testing;
using lt::Bench;

class Resume : public testing::Test {
 protected:
  Resume() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  /// A run of epochs `first` to `last`, with a finding in epoch 3.
  void train(int first, int last, bool resumes, const std::string& visualizers) {
    Bench bench("run: {dir: " + folder_.string() + ", resume: " + (resumes ? "true" : "false") +
                    "}\nvisualizers: " + visualizers + "\nlenses: []\n",
                {LOUPE_BUILT_PLUGINS});
    for (int epoch = first; epoch <= last; ++epoch) {
      bench.show(lt::Tag{"Norm"});
      bench.show("Norm", "fc1", "mean", epoch);
      if (epoch == 2) bench.show(lt::Finding{"vanishing", "its gradients vanish", "fc1"});
      bench.tick(epoch);
    }
    bench.end();
    log_ = bench.log();
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string report() const { return text_of(folder_ / "report.html"); }
  bool told(const std::string& part) const {
    return std::any_of(log_.begin(), log_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  bool reports(const std::string& part) const { return report().find(part) != std::string::npos; }

  /// Each test has a different folder, because the tests run side by side.
  const fs::path folder_ = fs::path(LOUPE_TEST_FOLDER) /
                           (std::string("Resume.") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::vector<std::string> log_;
};

TEST_F(Resume, ShowsTheReportFromWhereTheRunBegan) {
  train(0, 3, false, "[record, html]");
  fs::remove(folder_ / "report.html");
  train(4, 5, true, "[record, html]");
  EXPECT_TRUE(reports("\"epochs\":[0.0,1.0,2.0,3.0,4.0,5.0]"));
  EXPECT_TRUE(reports("\"resumed\":true"));
  EXPECT_TRUE(reports("its gradients vanish"));
  EXPECT_TRUE(reports("\"gone\":true")) << "the resumed run would report it again";
}

TEST_F(Resume, ContinuesAReportWhosePastIsRecorded) {
  train(0, 3, false, "[record, html]");
  train(4, 5, true, "[record, html]");
  EXPECT_TRUE(reports("\"epochs\":[0.0,1.0,2.0,3.0,4.0,5.0]"));
  EXPECT_FALSE(fs::exists(folder_ / "older-1"));
  EXPECT_TRUE(log_.empty()) << testing::PrintToString(log_);
}

TEST_F(Resume, ShowsNoEarlierEpochsByOptionOrWithoutARecord) {
  train(0, 1, false, "[record, html]");
  const std::string before = report();
  train(2, 2, true, "[record, html: {past: none}]");
  EXPECT_TRUE(reports("\"epochs\":[2.0]"));
  EXPECT_EQ(text_of(folder_ / "older-1/report.html"), before);
  fs::remove(folder_ / "record.jsonl");
  fs::remove(folder_ / "report.html");
  train(3, 3, true, "[record, html]");
  EXPECT_TRUE(reports("\"epochs\":[3.0]"));
}

TEST_F(Resume, SaysHowTheConfigurationIsNotAsItWas) {
  train(0, 1, false, "[record]");
  train(2, 2, true, "[record]");
  EXPECT_FALSE(told("a different configuration"));
  train(3, 3, true, "[record: {sync: true}, html]");
  EXPECT_TRUE(
      told("with a different configuration: 'visualizers.html: true' is new, 'visualizers.record.sync: true' is new, "
           "'visualizers.record: true' was removed"));
}

TEST_F(Resume, BeginsTheConsolesSmallCurvesBefore) {
  train(0, 3, false, "[record]");
  testing::internal::CaptureStdout();
  train(4, 4, true, "[record, {console: {detail: all}}]");
  const std::string shown = testing::internal::GetCapturedStdout();
  EXPECT_NE(shown.find("▁▃▅▇█"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("epoch 3"), std::string::npos) << shown;
  EXPECT_NE(shown.find("epoch 4"), std::string::npos) << shown;
}

}  // namespace
