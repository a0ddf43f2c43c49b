#include "report/html_page.h"
#include "visualizers/driver.h"

#include <gtest/gtest.h>

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
  {
    Driver html(HTML_PLUGIN);
    html.begin(folder.text());
    for (int epoch = 0; epoch < 200; ++epoch) tell(html, epoch);
    html.end();
  }
  Driver html(HTML_PLUGIN);
  html.begin(folder.text(), true);
  tell(html, 200);
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
