// The list of runs that the page shows, and how it follows the folders.

#include "view/run_list.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "examples/process.h"
#include "followed_list.h"
#include "made_records.h"
#include "view/api.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json told(const view::RunList& list) {
  FollowedList followed;
  followed.take(list.told()->news_since(0));
  return followed.all();
}
/// Looks until all records are read, and returns the list that the page would get.
Json looked(view::RunList& list) {
  while (list.look()) {
  }
  return told(list);
}
std::vector<std::string> names(const Json& told) {
  std::vector<std::string> names;
  for (const Json& run : told.at("runs")) names.push_back(run.at("name"));
  return names;
}
using Names = std::vector<std::string>;

TEST(RunList, TellsEverythingThatThePageNeeds) {
  const fs::path root = fresh_folder();
  put(root / "a/record.jsonl", two_epochs("older", 1000) + end_line("completed"));
  put(root / "b/record.jsonl",
      two_epochs("newer", 2000) + setting_line("optimizer", "string", "\"Adam\"") +
          setting_line("rate", "number", "1e-4") + setting_line("batch", "integer", "64") +
          setting_line("nesterov", "boolean", "true") + setting_line("layers", "strings", "[\"a\",\"b\"]") +
          setting_line("rate", "number", "0.5") + finding_line("warning", "raised", "dead_units", "half") +
          finding_line("error", "raised", "nan_loss", "it is NaN") + finding_line("error", "gone", "nan_loss", "") +
          end_line("failed", "why"));
  view::RunList list({root.string()});
  const Json told = looked(list);
  EXPECT_EQ(names(told), (Names{"newer", "older"}));
  const Json& run = told.at("runs")[0];
  EXPECT_EQ(run.at("state"), "failed");
  EXPECT_EQ(run.at("why"), "why");
  EXPECT_EQ(run.at("resumed"), false);
  EXPECT_EQ(run.at("epoch"), 2);
  EXPECT_EQ(run.at("step"), 20);
  EXPECT_EQ(run.at("started"), 2000);
  EXPECT_EQ(run.at("folder"), (root / "b").string());
  EXPECT_EQ(run.at("losses"), Json::parse(R"([{"name": "train_loss", "metric": false, "last": 0.25, "best": 0.25,
                                               "best_epoch": 2}])"));
  EXPECT_EQ(run.at("curve"), Json::parse(R"({"name": "train_loss", "values": [0.5, 0.25]})"));
  EXPECT_EQ(run.at("settings"), Json::parse(R"([["optimizer", "Adam"], ["rate", 0.5], ["batch", 64],
                                                 ["nesterov", true], ["layers", "a, b"]])"));
  EXPECT_EQ(run.at("findings"), Json::parse(R"({"counts": {"error": 0, "warning": 1, "info": 0, "gone": 1},
                            "rule_counts": {"error": 0, "warning": 1, "info": 0, "gone": 1},
                            "worst": {"rule": "dead_units", "severity": "warning", "gone": false, "text": "conv1: half"},
                            "rules": ["dead_units", "nan_loss"]})"));
  EXPECT_EQ(told.at("runs")[1].at("findings").at("worst"), nullptr);
}

TEST(RunList, CountsARuleOnceHoweverManyLayersItIsAbout) {
  const fs::path root = fresh_folder();
  std::string other = finding_line("error", "raised", "dead_units", "all");
  other.replace(other.find("conv1"), 5, "conv2");
  put(root / "a/record.jsonl", two_epochs("a") + finding_line("error", "raised", "dead_units", "all") + other);
  view::RunList list({root.string()});
  const Json findings = looked(list).at("runs")[0].at("findings");
  EXPECT_EQ(findings.at("counts").at("error"), 2);
  EXPECT_EQ(findings.at("rule_counts").at("error"), 1);
}

TEST(RunList, TellsWhichRunsALensHasJudged) {
  const fs::path root = fresh_folder();
  put(root / "judged/record.jsonl", judged_run_line("judged") + loss_tag + epoch_of(1, "0.5"));
  put(root / "found/record.jsonl", two_epochs("found") + finding_line("info", "raised", "held_frozen", "it is frozen"));
  put(root / "plain/record.jsonl", two_epochs("plain"));
  view::RunList list({root.string()});
  const Json told = looked(list);
  for (const Json& run : told.at("runs")) EXPECT_EQ(run.at("judged"), run.at("name") != "plain") << run;
}

TEST(RunList, TellsTheSettingsOfModelsThatWereMadeInTurnAsOne) {
  const fs::path root = fresh_folder();
  std::string lines = two_epochs("turns") + setting_line("optimizer", "string", "\"Adam\"") +
                      setting_line("optimizer rate", "number", "0.1") + setting_line("rate", "number", "7");
  // The settings are too many for a list, as each model has its own.
  for (int model = 2; model <= 100; ++model) {
    const std::string name = "Net#" + std::to_string(model) + " optimizer";
    lines +=
        setting_line(name, "string", "\"Adam\"") + setting_line(name + " rate", "number", model == 100 ? "0.3" : "0.2");
  }
  put(root / "a/record.jsonl", lines);
  view::RunList list({root.string()});
  EXPECT_EQ(looked(list).at("runs")[0].at("settings"), Json::parse(R"json([["Net optimizer (each model)", "Adam"],
                            ["Net optimizer rate (each model)", "0.1 … 0.3"], ["rate", 7.0]])json"));
}

TEST(RunList, TellsWhatPeopleSayOfARunAndOfNoUnreadableFile) {
  const fs::path root = fresh_folder();
  put(root / "a/record.jsonl", two_epochs("a"));
  view::RunList list({root.string()});
  EXPECT_EQ(looked(list).at("runs")[0].at("tags"), Json::array());
  put(root / "a/notes.json", R"({"tags": ["first"], "note": "by hand", "archived": true})");
  const Json run = looked(list).at("runs")[0];
  EXPECT_EQ(run.at("tags"), Json({"first"}));
  EXPECT_EQ(run.at("note"), "by hand");
  EXPECT_EQ(run.at("archived"), true);
  put(root / "a/notes.json", "no JSON at all");
  EXPECT_EQ(looked(list).at("runs")[0].at("note"), "");
}

TEST(RunList, ListsADamagedRecordWithTheDamage) {
  const fs::path root = fresh_folder();
  put(root / "bad/record.jsonl", "no record at all\n");
  put(root / "good/record.jsonl", two_epochs("good"));
  view::RunList list({root.string()});
  const Json told = looked(list);
  ASSERT_EQ(told.at("runs").size(), 2u);
  for (const Json& run : told.at("runs")) {
    if (run.at("name") == "good") continue;
    EXPECT_EQ(run.at("name"), "bad");
    EXPECT_EQ(run.at("state"), "damaged");
    EXPECT_EQ(run.at("why").get<std::string>().substr(0, 7), "line 1:");
  }
}

TEST(RunList, ShowsOthersAsTheyAreBesideRecordsWithNumbersThatNoRunHas) {
  const fs::path root = fresh_folder();
  const std::vector<std::string> bad = {R"({"kind":"tick","epoch":3,"timestamp":1e300})",
                                        R"({"kind":"tick","epoch":3,"timestamp":"Infinity"})",
                                        R"({"kind":"tick","epoch":"Infinity"})",
                                        R"({"kind":"tick","epoch":"NaN"})",
                                        R"({"kind":"tick","epoch":1e300})",
                                        R"({"kind":"tick","epoch":3,"step":18446744073709551615})",
                                        R"({"kind":"tick","epoch":3,"elapsed":"Infinity"})"};
  put(root / "good/record.jsonl", two_epochs("good") + end_line("completed"));
  for (std::size_t i = 0; i < bad.size(); ++i) {
    put(root / std::to_string(i) / "record.jsonl", two_epochs("bad") + bad[i] + '\n');
  }
  view::RunList list({root.string()});
  const Json told = looked(list);
  EXPECT_EQ(told.at("runs").size(), bad.size() + 1);
  for (const Json& run : told.at("runs")) {
    // The page formats these values as dates and texts.
    EXPECT_EQ(run.at("epoch"), 2) << run;
    EXPECT_EQ(run.at("step"), 20) << run;
    EXPECT_EQ(run.at("state"), run.at("name") == "good" ? "completed" : "damaged") << run;
    EXPECT_EQ(run.at("why").get<std::string>().substr(0, 8), run.at("name") == "good" ? "" : "line 7: ") << run;
  }
}

TEST(RunList, KeepsNamesWithInvalidTextOrMarkup) {
  const fs::path root = fresh_folder();
  put(root / "a/record.jsonl", two_epochs("<img src=x onerror=alert(1)>"));
  put(root / "bytes-\xff/record.jsonl", "");
  view::RunList list({root.string()});
  const Json told = looked(list);
  ASSERT_EQ(told.at("runs").size(), 2u);
  EXPECT_TRUE(names(told) == (Names{"bytes-\xef\xbf\xbd", "<img src=x onerror=alert(1)>"}) ||
              names(told) == (Names{"<img src=x onerror=alert(1)>", "bytes-\xef\xbf\xbd"}));
}

TEST(RunList, IsAnotherVersionOnlyWhereSomethingChanged) {
  const fs::path root = fresh_folder();
  const fs::path record = put(root / "a/record.jsonl", two_epochs("a") + end_line("completed"));
  put(root / "b/record.jsonl", two_epochs("b") + end_line("completed"));
  view::RunList list({root.string()});
  const Json before = looked(list);
  EXPECT_EQ(looked(list), before);
  append(record, run_line("a", 1000, true) + epoch_of(3, "0.125"));
  const Json after = looked(list);
  EXPECT_EQ(after.at("runs")[0].at("resumed"), true);
  const Json news = Json::parse(list.told()->news_since(before.at("version")));
  ASSERT_EQ(news.at("runs").size(), 1u) << "unchanged runs are not sent again";
  EXPECT_EQ(news.at("runs")[0].at("name"), "a");
  EXPECT_EQ(news.at("ids").size(), 2u);
  EXPECT_GT(after.at("version"), before.at("version"));
  const auto version = [](const Json& told, const std::string& name) {
    for (const Json& run : told.at("runs")) {
      if (run.at("name") == name) return run.at("version").get<int>();
    }
    return -1;
  };
  EXPECT_GT(version(after, "a"), version(before, "a"));
  EXPECT_EQ(version(after, "b"), version(before, "b"));
  // The list also changes when a report is rewritten, so that readers of the report can reload it.
  put(root / "b/report.html", "<p>");
  EXPECT_GT(version(looked(list), "b"), version(after, "b"));
}

TEST(RunList, FollowsNewRunsAndForgetsRemovedOnes) {
  const fs::path root = fresh_folder();
  view::RunList list({root.string()});
  EXPECT_EQ(names(looked(list)), Names{});
  EXPECT_EQ(list.told()->version, 1u);
  put(root / "a/record.jsonl", two_epochs("a"));
  // The list waits between two searches of the folders.
  const auto until = [&](const Names& wanted) {
    for (int tries = 0; tries < 600 && names(looked(list)) != wanted; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return names(told(list));
  };
  EXPECT_EQ(until({"a"}), (Names{"a"}));
  const unsigned number = list.told()->runs.begin()->first;
  fs::rename(root / "a", root / "b");
  const auto moved = [&] { return list.told()->runs.begin()->second.place.folder.filename() == "b"; };
  for (int tries = 0; tries < 600 && !moved(); ++tries) {
    looked(list);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(moved());
  EXPECT_GT(list.told()->runs.begin()->first, number) << "a number must not be reused for another run";
}

TEST(RunList, DrawsTheValidationLossAndNoMetrics) {
  const fs::path root = fresh_folder();
  const auto value = [](const char* tag, const char* line, const char* number) {
    return R"({"kind":"value","epoch":1,"tag":")" + std::string(tag) + R"(","layer":"x","line":")" + line +
           R"(","value":)" + number + "}\n";
  };
  put(root / "a/record.jsonl", run_line("a") + value("Metrics", "accuracy mean", "0.75") +
                                   value("Loss", "train_loss mean", "2") + value("Loss", "val_loss mean", "\"NaN\""));
  put(root / "b/record.jsonl", run_line("b") + value("Metrics", "accuracy mean", "0.5"));
  view::RunList list({root.string()});
  const Json told = looked(list);
  for (const Json& run : told.at("runs")) {
    EXPECT_EQ(
        run.at("losses")[0],
        Json::parse(run.at("name") == "a" ? R"({"name": "accuracy", "metric": true, "last": 0.75, "best": null})"
                                          : R"({"name": "accuracy", "metric": true, "last": 0.5, "best": null})"));
    if (run.at("name") == "b") {
      EXPECT_EQ(run.at("curve"), nullptr);
    } else {
      EXPECT_EQ(run.at("curve"), Json::parse(R"({"name": "val_loss", "values": ["NaN"]})"));
      EXPECT_EQ(run.at("losses")[2].at("best"), nullptr) << "the loss was never finite";
    }
  }
}

TEST(RunList, CallsNoneOfSeveralTrainedLossesBest) {
  const fs::path root = fresh_folder();
  const auto epoch = [](int number) {
    const std::string value = std::to_string(1.0 / number);
    return loss_line(number, "Actor loss mean", value) + loss_line(number, "Critic loss mean", value) +
           loss_line(number, "val_loss mean", value) + tick_line(number);
  };
  put(root / "a/record.jsonl", run_line("a") + loss_tag + epoch(1) + epoch(2));
  view::RunList list({root.string()});
  const Json losses = looked(list).at("runs")[0].at("losses");
  EXPECT_EQ(losses[0].at("best"), nullptr);
  EXPECT_EQ(losses[1].at("best"), nullptr);
  EXPECT_EQ(losses[1].at("last"), 0.5);
  EXPECT_EQ(losses[2].at("best"), 0.5) << "the validation loss has a best value";
}

TEST(RunList, TellsProgramsWhatIsLeftOut) {
  const fs::path root = fresh_folder();
  for (const char* name : {"a", "b", "c"}) put(root / name / "record.jsonl", two_epochs(name));
  view::RunList few({root.string()}, view::SearchLimits{16, 100, 2}), all({root.string()});
  few.look();
  all.look();
  const Json told = Json::parse(view::api_list(*few.told()));
  EXPECT_EQ(told.at("runs").size(), 2u);
  EXPECT_NE(told.at("left_out").get<std::string>().find("only the first 2 runs are listed"), std::string::npos) << told;
  EXPECT_EQ(Json::parse(view::api_list(*all.told())).at("left_out"), "");
}

TEST(RunList, WakesWaitersForNewsAndAtItsEnd) {
  const fs::path root = fresh_folder();
  put(root / "a/record.jsonl", two_epochs("a"));
  view::RunList list({root.string()});
  std::thread looking([&] { list.look(); });
  EXPECT_GE(list.wait(0, std::chrono::minutes(5))->version, 1u);
  looking.join();
  std::thread closing([&] { list.close(); });
  const std::uint64_t last = list.told()->version;
  EXPECT_EQ(list.wait(last, std::chrono::minutes(5))->version, last);
  closing.join();
}

}  // namespace
}  // namespace loupe::test
