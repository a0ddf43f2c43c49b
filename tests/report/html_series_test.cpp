#include "paths.h"
#include "report/html_page.h"
#include "visualizers/driver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe::test {
namespace {

TEST(HtmlReport, KeepsOfModelsTrainedInTurnOnlyTheEpochsOfEach) {
  Folder folder;
  const auto tell = [](Driver& html, int epoch) {
    html.begin_tick(epoch);
    html.value("Norm", "model" + std::to_string(epoch), "mean", epoch);
    html.range("Norm", "model" + std::to_string(epoch), "min", "max", -epoch, epoch);
    html.end_tick();
  };
  Driver html(HTML_PLUGIN);
  html.begin(folder.text());
  for (int epoch = 0; epoch <= 200; ++epoch) tell(html, epoch);
  html.end();
  const HtmlPage page(folder / "report.html");
  for (const int epoch : {0, 1, 150, 200}) {
    const std::string model = "model" + std::to_string(epoch);
    const std::string packed = page.layer("Norm", model).at("lines").at(0).at(1);
    EXPECT_LE(packed.size(), 8U) << packed;
    const std::vector<double> values = page.line("Norm", model, "mean");
    ASSERT_EQ(values.size(), epoch + 1U);
    EXPECT_EQ(values.back(), epoch);
  }
}

TEST(HtmlReport, PutsSingleStepsBetweenEpochsWithoutChangingEpochs) {
  Begun html(HTML_PLUGIN);
  html.set_pace(10, 1);
  for (const int epoch : {1, 2}) {
    html.begin_tick(epoch);
    html.value("Norm", "l", "step", 7, 0, static_cast<std::uint64_t>(10 * epoch - 5));
    html.value("Norm", "l", "mean", epoch);
    html.value("Norm", "l", "step", 8, 0, static_cast<std::uint64_t>(10 * epoch));
    html.end_tick();
  }
  html.end();
  const HtmlPage page(html / "report.html");
  EXPECT_EQ(page.epochs(), (std::vector<double>{1, 2}));
  EXPECT_EQ(page.line("Norm", "l", "mean"), (std::vector<double>{1, 2}));
  const HtmlPage::Steps steps = page.steps("Norm", "l", "step");
  EXPECT_EQ(steps.epochs, (std::vector<double>{0.5, 1, 1.5, 2}));
  EXPECT_EQ(steps.values, (std::vector<double>{7, 8, 7, 8}));
}

TEST(HtmlReport, ForgetsTheStepsOfEpochsThatAreTrainedAgain) {
  Begun html(HTML_PLUGIN);
  html.set_pace(10, 1);
  for (const int epoch : {1, 2, 2}) {
    html.begin_tick(epoch);
    html.value("Norm", "l", "step", epoch, 0, static_cast<std::uint64_t>(10 * epoch - 5));
    html.value("Norm", "l", "mean", epoch);
    html.end_tick();
  }
  html.end();
  EXPECT_EQ(HtmlPage(html / "report.html").steps("Norm", "l", "step").epochs.size(), 2U);
}

TEST(HtmlReport, ShowsAtMostAThousandStepsPerLineAndSaysWhichAreLeftOut) {
  Begun html(HTML_PLUGIN);
  html.set_pace(900, 1);
  for (const int epoch : {1, 2, 3}) {
    html.begin_tick(epoch);
    for (std::uint64_t step = 1; step <= 900; ++step)
      html.value("Norm", "l", "step", epoch, 0, 900U * static_cast<std::uint64_t>(epoch - 1) + step);
    html.end_tick();
  }
  html.end();
  const HtmlPage::Steps steps = HtmlPage(html / "report.html").steps("Norm", "l", "step");
  EXPECT_EQ(steps.stride, 4U);
  ASSERT_EQ(steps.epochs.size(), 675U);
  for (std::size_t i = 0; i < steps.epochs.size(); ++i) {
    EXPECT_NEAR(steps.epochs[i], (4.0 * static_cast<double>(i) + 1) / 900, 1e-4);
    EXPECT_EQ(steps.values[i], std::ceil(steps.epochs[i]));
  }
}

TEST(HtmlReport, ThinsOutWhatBeganLater) {
  Begun html(HTML_PLUGIN, {{"megabytes", 1}});
  for (int epoch = 0; epoch < 301; ++epoch) {
    html.begin_tick(epoch);
    for (int layer = 0; layer < 1000; ++layer) {
      if (epoch >= layer / 10) html.value("Norm", std::to_string(layer), "mean", epoch + layer);
    }
    html.end_tick();
  }
  html.end();
  const HtmlPage page(html / "report.html");
  const std::vector<double> epochs = page.epochs();
  EXPECT_LT(epochs.size(), 301U);
  for (const int layer : {0, 9, 515, 999}) {
    const std::vector<double> shown = page.line("Norm", std::to_string(layer), "mean");
    ASSERT_EQ(shown.size(), epochs.size());
    for (std::size_t i = 0; i < epochs.size(); ++i)
      EXPECT_EQ(shown[i], epochs[i] < layer / 10 ? HtmlPage::MISSING : epochs[i] + layer) << epochs[i];
  }
}

}  // namespace
}  // namespace loupe::test
