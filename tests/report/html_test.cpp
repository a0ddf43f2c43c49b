#include "holds.h"
#include "paths.h"
#include "report/html_page.h"
#include "report/made_runs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loupe::test {
namespace {

constexpr double MISSING = HtmlPage::MISSING;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(HtmlReport, IsCompleteAfterEveryTickWithoutAnEnd) {
  Begun html(HTML_PLUGIN);
  html.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
  for (int epoch = 1; epoch <= 5; ++epoch) {
    ASSERT_EQ(html.stored_loss_tick(epoch, 1.0 / epoch), "");
    const HtmlPage page(html / "report.html");
    EXPECT_EQ(page.epochs().size(), static_cast<std::size_t>(epoch));
    EXPECT_NEAR(page.line("Loss", "Loss", "train_loss mean").back(), 1.0 / epoch, 1e-5);
    EXPECT_EQ(files_in(html.text()), std::vector<std::string>{"report.html"});
    EXPECT_FALSE(page.run(0).at("ended"));
  }
  html.end();
  EXPECT_TRUE(HtmlPage(html / "report.html").run(0).at("ended"));
}

TEST(HtmlReport, KeepsFiveDigitsAndNonFiniteNumbers) {
  Begun html(HTML_PLUGIN);
  const std::vector<double> told = {1.23456789e-7, -98765.4321,      0,    NAN, INFINITY, -INFINITY, 1e300,
                                    -1e300,        1.0 - 1.0 / 4096, 1e-30};
  for (std::size_t i = 0; i < told.size(); ++i) {
    html.begin_tick(static_cast<double>(i));
    html.value("Norm", "fc", "mean", told[i]);
    html.end_tick();
  }
  html.flush();
  const std::vector<double> shown = HtmlPage(html / "report.html").line("Norm", "fc", "mean");
  ASSERT_EQ(shown.size(), told.size());
  for (std::size_t i : {0, 1, 2, 8, 9}) EXPECT_NEAR(shown[i], told[i], std::fabs(told[i]) * 1.6e-5) << i;
  EXPECT_TRUE(std::isnan(shown[3]));
  EXPECT_EQ(shown[4], INFINITY);
  EXPECT_EQ(shown[5], -INFINITY);
  EXPECT_GT(shown[6], 3.4e38);
  EXPECT_TRUE(std::isfinite(shown[6]));
  EXPECT_LT(shown[7], -3.4e38);
}

TEST(HtmlReport, DistinguishesAnEpochWithoutAValueFromOneWithNaN) {
  Begun html(HTML_PLUGIN);
  for (int epoch = 0; epoch < 5; ++epoch) {
    html.begin_tick(epoch);
    if (epoch == 2) html.value("Norm", "late", "mean", NAN);
    if (epoch == 3) html.value("Norm", "late", "mean", 4);
    html.range("Norm", "always", "min", "max", epoch, epoch + 1);
    html.end_tick();
  }
  html.flush();
  const HtmlPage page(html / "report.html");
  const std::vector<double> late = page.line("Norm", "late", "mean");
  ASSERT_EQ(late.size(), 4U);
  EXPECT_EQ(late[0], MISSING);
  EXPECT_EQ(late[1], MISSING);
  EXPECT_TRUE(std::isnan(late[2]));
  EXPECT_EQ(late[3], 4);
  const auto band = page.layer("Norm", "always").at("bands").at(0);
  EXPECT_EQ(band.at(0), "min");
  EXPECT_EQ(band.at(1), "max");
  EXPECT_EQ(HtmlPage::unpacked(band.at(2)), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(HtmlPage::unpacked(band.at(3)), (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(page.run(0).at("tags").at(0).at("broken"), nlohmann::json::parse("[null, 2.0]"));
}

TEST(HtmlReport, TellsOfTheRunAndItsTags) {
  Folder folder;
  Driver html(HTML_PLUGIN);
  const std::string directory = folder / "runs/one";
  html.begin(directory, false, "digits");
  html.model("net", 10);
  loupe_tag rate{};
  rate.struct_size = sizeof rate;
  rate.type = LOUPE_SCALE_PROBABILITY;
  rate.id = "Rate";
  rate.flags = LOUPE_TAG_LOG_Y | LOUPE_TAG_BIG | LOUPE_TAG_ANNOTATE | LOUPE_TAG_HAS_MINIMUM;
  rate.y_minimum = -1;
  html.tag(rate);
  html.stored_loss_tick(0, 1);
  const auto run = HtmlPage(folder / "runs/one/report.html").run(0);
  EXPECT_EQ(run.at("name"), "digits");
  EXPECT_EQ(run.at("directory"), directory);
  EXPECT_EQ(run.at("config"), "loupe: 1\n");
  EXPECT_EQ(run.at("started"), "2024-05-01T12:00:00Z");
  EXPECT_EQ(run.at("loupe"), "1.0.0");
  EXPECT_EQ(run.at("libtorch"), "1.13.1");
  EXPECT_EQ(run.at("models").at(0).at("parameters"), 10);
  const auto tag = run.at("tags").at(0);
  EXPECT_EQ(tag.at("type"), LOUPE_SCALE_PROBABILITY);
  EXPECT_EQ(tag.at("log"), true);
  EXPECT_EQ(tag.at("big"), true);
  EXPECT_EQ(tag.at("annotate"), true);
  EXPECT_EQ(tag.at("low"), -1);
  EXPECT_EQ(tag.at("high"), nullptr);
}

TEST(HtmlReport, LetsNoNameBecomeMarkup) {
  Folder folder;
  Driver plain(HTML_PLUGIN, {{"path", "plain.html"}}), hostile(HTML_PLUGIN, {{"path", "hostile.html"}});
  MadeRun run;
  run.directory = folder.text();
  run.epochs = 2;
  plain.begin(folder.text());
  for (int i = 0; i < 2; ++i) plain.stored_loss_tick(i, i);
  tell_hostile_run(hostile, run);
  const HtmlPage harmless(folder / "plain.html"), page(folder / "hostile.html");
  // The page has one more tag than the plain report, and so one more script element.
  EXPECT_EQ(occurrences(page.text(), "<script"), occurrences(harmless.text(), "<script") + 1);
  EXPECT_EQ(occurrences(page.text(), "</script"), occurrences(harmless.text(), "</script") + 1);
  EXPECT_EQ(occurrences(page.text(), "<!--"), occurrences(harmless.text(), "<!--"));
  EXPECT_EQ(
      page.line("<script>alert(1)</script>", "<script>alert(1)</script>", "</script><!-- <b onmouseover=alert(2)>"),
      (std::vector<double>{0, 1}));
  EXPECT_EQ(page.run(0).at("models").at(0).at("type"), "<img src=x onerror=alert(4)>");
}

TEST(HtmlReport, NeedsNoOtherFiles) {
  Begun html(HTML_PLUGIN);
  html.stored_loss_tick(0, 1);
  const std::string text = HtmlPage(html / "report.html").text();
  for (const char* from_outside : {"<link", " src=", "@import", "url(", "sourceMappingURL"}) {
    EXPECT_FALSE(holds(text, from_outside)) << from_outside;
  }
  EXPECT_TRUE(holds(text, "Dan Vanderkam")) << "the licence of dygraphs";
  EXPECT_TRUE(holds(text, "Permission is hereby granted"));
}

TEST(HtmlReport, ComparesTheGivenRuns) {
  Folder folder;
  Driver html(HTML_PLUGIN, {{"path", folder / "compared.html"}});
  for (const char* name : {"a", "b"}) {
    html.begin(folder / name, false, name);
    html.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    html.stored_loss_tick(0, name[0]);
    html.end();
  }
  const HtmlPage page(folder / "compared.html");
  ASSERT_EQ(page.run_count(), 2U);
  EXPECT_EQ(page.run(0).at("name"), "a");
  EXPECT_EQ(page.run(1).at("name"), "b");
  EXPECT_EQ(page.line("Loss", "Loss", "train_loss mean", 0), std::vector<double>{'a'});
  EXPECT_EQ(page.line("Loss", "Loss", "train_loss mean", 1), std::vector<double>{'b'});
}

TEST(HtmlReport, ForgetsEpochsThatAreTrainedAgain) {
  Begun html(HTML_PLUGIN);
  for (int epoch = 0; epoch < 4; ++epoch) {
    html.begin_tick(epoch);
    html.value("Loss", "Loss", "mean", epoch == 3 ? NAN : epoch);
    html.histogram("Weights", "fc", "weight", {0, 1, 2}, {1, 1});
    html.end_tick();
  }
  html.begin_tick(2);
  html.value("Loss", "Loss", "mean", 20);
  html.end_tick();
  html.flush();
  const HtmlPage page(html / "report.html");
  EXPECT_EQ(page.epochs(), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(page.line("Loss", "Loss", "mean"), (std::vector<double>{0, 1, 20}));
  EXPECT_EQ(page.layer("Weights", "fc").at("histograms").at(0).at("columns").size(), 2U);
  EXPECT_EQ(page.run(0).at("tags").at(0).at("broken"), nullptr);
}

TEST(HtmlReport, ThinsOutEpochsToStayWithinItsSize) {
  Begun html(HTML_PLUGIN, {{"megabytes", 1}});
  for (int epoch = 0; epoch < 301; ++epoch) {
    html.begin_tick(epoch);
    for (int layer = 0; layer < 1000; ++layer) html.value("Norm", std::to_string(layer), "mean", epoch + layer);
    html.end_tick();
  }
  html.end();
  const HtmlPage page(html / "report.html");
  EXPECT_LT(page.text().size(), 1'060'000U);
  const std::vector<double> epochs = page.epochs();
  const double stride = page.run(0).at("stride");
  ASSERT_GE(stride, 2);
  EXPECT_GT(epochs.size(), 100U);
  for (std::size_t i = 0; i + 1 < epochs.size(); ++i) EXPECT_EQ(epochs[i], static_cast<double>(i) * stride);
  EXPECT_EQ(epochs.back(), 300);
  const std::vector<double> shown = page.line("Norm", "999", "mean");
  ASSERT_EQ(shown.size(), epochs.size());
  for (std::size_t i = 0; i < epochs.size(); ++i) EXPECT_EQ(shown[i], epochs[i] + 999);
}

TEST(HtmlReport, KeepsHistogramsAsSharesOfTheWhole) {
  Begun html(HTML_PLUGIN);
  html.begin_tick(3);
  html.histogram("Weights", "fc", "weight", {-INFINITY, -1, 0, 1, INFINITY}, {0, 1, 0, 999'999});
  html.end_tick();
  html.flush();
  const auto histogram = HtmlPage(html / "report.html").layer("Weights", "fc").at("histograms").at(0);
  EXPECT_EQ(histogram.at("line"), "weight");
  EXPECT_EQ(histogram.at("edges"), nlohmann::json::parse("[[null, -1.0, 0.0, 1.0, null]]"));
  // The columns start at the second bin: the smallest share, nothing, the whole.
  EXPECT_EQ(histogram.at("columns"), nlohmann::json::parse(R"([[3.0, 0, 1, "BA/", 1000000.0]])"));
}

TEST(HtmlReport, KeepsTheEarlierFileUntilTheResumedRunHasATick) {
  Folder folder;
  write(folder / "report.html", "what an earlier process left");
  Driver html(HTML_PLUGIN);
  html.begin(folder.text(), true);
  html.tag("Loss");
  EXPECT_EQ(html.flush(), "") << "the epoch from which the run continues is not known yet";
  EXPECT_EQ(read(folder / "report.html"), "what an earlier process left");
}

TEST(HtmlReport, KeepsAFileThatItCannotGoOnWith) {
  Folder folder;
  write(folder / "report.html", "what an earlier process left");
  Driver html(HTML_PLUGIN);
  html.begin(folder.text(), true);
  html.stored_loss_tick(7, 1);
  const HtmlPage page(folder / "report.html");
  EXPECT_EQ(page.epochs(), std::vector<double>{7});
  EXPECT_TRUE(page.run(0).at("resumed"));
  EXPECT_EQ(read(folder / "older-1/report.html"), "what an earlier process left");
  ASSERT_EQ(html.messages.size(), 1U);
  EXPECT_TRUE(holds(html.messages[0], folder / "older-1/report.html"));
}

TEST(HtmlReport, HoldsAllEpochsOfARunThatMovesToAnotherFolder) {
  Folder folder;
  Driver html(HTML_PLUGIN);
  html.begin(folder / "a");
  html.model("net", 3);
  html.stored_loss_tick(1, 1);
  html.begin(folder / "a-2");
  html.model("net", 3);
  html.stored_loss_tick(2, 1);
  const HtmlPage page(folder / "a-2/report.html");
  EXPECT_EQ(page.run_count(), 1U);
  EXPECT_EQ(page.epochs(), (std::vector<double>{1, 2}));
  EXPECT_EQ(page.run(0).at("models").size(), 1U);
  EXPECT_EQ(HtmlPage(folder / "a/report.html").epochs(), std::vector<double>{1});
}

TEST(HtmlReport, SpreadsHistogramsOfALongRunEvenly) {
  Begun html(HTML_PLUGIN);
  for (int epoch = 0; epoch < 1002; ++epoch) {
    html.begin_tick(epoch);
    html.histogram("Weights", "fc", "weight", {0, 1}, {1});
    html.end_tick();
  }
  html.flush();
  const auto columns = HtmlPage(html / "report.html").layer("Weights", "fc").at("histograms").at(0).at("columns");
  ASSERT_LE(columns.size(), 257U);
  ASSERT_GT(columns.size(), 128U);
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) EXPECT_EQ(columns[i][0], static_cast<double>(i) * 4);
  EXPECT_EQ(columns.back()[0], 1001);
}

TEST(HtmlReport, SaysInOneSentenceThatItCannotWriteAndTriesAgain) {
  Folder folder;
  write(folder / "obstacle", "");
  Driver html(HTML_PLUGIN, {{"path", folder / "obstacle/report.html"}});
  const std::string at_begin = html.begin(folder.text());
  const std::string at_tick = html.stored_loss_tick(0, 1);
  for (const std::string& sentence : {at_begin, at_tick}) {
    EXPECT_TRUE(holds(sentence, folder / "obstacle/report.html"));
    EXPECT_TRUE(holds(sentence, "Not a directory"));
  }
  std::filesystem::remove(folder / "obstacle");
  EXPECT_EQ(html.stored_loss_tick(1, 2), "");
  EXPECT_EQ(HtmlPage(folder / "obstacle/report.html").epochs(), (std::vector<double>{0, 1}));
}

TEST(HtmlReport, IsWrittenAgainWhenItsFolderWasRemoved) {
  Folder folder;
  Driver html(HTML_PLUGIN);
  html.begin(folder / "run");
  html.stored_loss_tick(0, 1);
  std::filesystem::remove_all(folder / "run");
  EXPECT_EQ(html.stored_loss_tick(1, 2), "");
  EXPECT_EQ(HtmlPage(folder / "run/report.html").epochs().size(), 2U);
}

TEST(HtmlReport, SaysAtTheEndHowToMakeTheReportThatCannotBeWritten) {
  Begun html(HTML_PLUGIN);
  const FullDisk full(100'000);
  const std::string at_tick = html.stored_loss_tick(0, 1), at_end = html.end();
  EXPECT_TRUE(holds(at_tick, "File too large; no new report is written until this is solved")) << at_tick;
  EXPECT_TRUE(holds(at_end,
                    "File too large; the report is not written; solve this, then make it from the record: "
                    "loupe replay RUN --visualizer html --out FOLDER"))
      << at_end;
}

TEST(HtmlReport, KeepsTheOldReportWhenTheDiskIsFull) {
  Begun html(HTML_PLUGIN);
  html.stored_loss_tick(0, 1);
  {
    const FullDisk full(100'000);
    const std::string sentence = html.stored_loss_tick(1, 2);
    EXPECT_TRUE(holds(sentence, "File too large"));
    EXPECT_EQ(HtmlPage(html / "report.html").epochs().size(), 1U);
    EXPECT_EQ(files_in(html.text()).size(), 1U);
  }
  EXPECT_EQ(html.stored_loss_tick(2, 3), "");
  EXPECT_EQ(HtmlPage(html / "report.html").epochs().size(), 3U);
}

}  // namespace
}  // namespace loupe::test
