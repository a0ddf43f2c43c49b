// `loupe learn` computes the range of good runs, and `loupe diagnose --baseline` says whether a run stays within it.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished loupe_command(const std::string& arguments, const fs::path& folder) {
  return run(LOUPE_COMMAND + " " + arguments, folder);
}

using Curve = std::function<double(int epoch)>;

/// Writes a record with a loss and one layer's norm.
void record_curves(const std::string& folder, int epochs, const Curve& loss, const Curve& norm,
                   const std::string& layer = "conv1") {
  Driver record(RECORD_PLUGIN);
  record.begin(folder);
  record.tag("Loss", LOUPE_SCALE_NUMERICAL, true, true);
  record.tag("Weight Norm", LOUPE_SCALE_NUMERICAL);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    record.begin_tick(epoch);
    record.value("Loss", "Loss", "train_loss mean", loss(epoch));
    record.value("Weight Norm", layer, "mean", norm(epoch));
    record.end_tick();
  }
  tell_end(record, LOUPE_END_COMPLETED, epochs);
}

/// Three good runs of 20 epochs and their baseline.
fs::path good_runs() {
  fs::path folder = fresh_folder();
  for (int i = 0; i < 3; ++i) {
    record_curves(
        folder / std::to_string(i), 20, [=](int epoch) { return (2 + 0.1 * i) / epoch; },
        [=](int epoch) { return 3 + 0.1 * epoch + 0.05 * i; });
  }
  const Finished learned =
      loupe_command("learn 0/record.jsonl 1/record.jsonl 2/record.jsonl --out baseline.json", folder);
  EXPECT_EQ(learned.exit_code, 0);
  EXPECT_EQ(learned.output, "wrote baseline.json: 2 series of 3 runs in 10 phases\n");
  return folder;
}

class Learn : public testing::Test {
 protected:
  const fs::path folder = good_runs();
};

TEST_F(Learn, OverwritesNoBaselineUnlessToldTo) {
  const std::string before = read(folder / "baseline.json"), again = "learn 0/record.jsonl --out baseline.json";
  EXPECT_ENDS(loupe_command(again, folder), 2, "'baseline.json' is there already, maybe of an earlier 'loupe learn'");
  EXPECT_EQ(read(folder / "baseline.json"), before);
  EXPECT_EQ(loupe_command(again + " --force", folder).exit_code, 0);
  EXPECT_NE(read(folder / "baseline.json"), before);
}

TEST_F(Learn, LetsAnotherGoodRunPass) {
  record_curves(
      folder / "new", 25, [](int epoch) { return 2.05 / epoch; }, [](int epoch) { return 3.07 + 0.1 * epoch; });
  const Finished finished = loupe_command("diagnose new/record.jsonl --baseline baseline.json", folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(finished.output.find("departs_from_baseline"), std::string::npos) << finished.output;
}

TEST_F(Learn, TellsTheFirstLayerAndEpochThatLeaveItForLongerThanThePatience) {
  record_curves(
      folder / "new", 20, [](int epoch) { return 2.05 / epoch; },
      [](int epoch) { return epoch < 8 ? 3.1 + 0.1 * epoch : 30; });
  const Finished finished = loupe_command("diagnose new/record.jsonl --baseline baseline.json --json", folder);
  EXPECT_EQ(finished.exit_code, 1) << finished.output;
  const auto rows = nlohmann::json::parse(finished.output);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["rule"], "departs_from_baseline");
  EXPECT_EQ(rows[0]["severity"], "warning");
  EXPECT_EQ(rows[0]["layer"], "conv1");
  EXPECT_EQ(rows[0]["tag"], "Weight Norm");
  EXPECT_EQ(rows[0]["value"], 30.0);
  EXPECT_EQ(rows[0]["first_epoch"], 8.0);
  EXPECT_EQ(rows[0]["last_epoch"], 10.0);  // patience 2: the third epoch outside
}

TEST_F(Learn, TreatsNaNAsADeparture) {
  record_curves(
      folder / "new", 20, [](int epoch) { return 2.05 / epoch; }, [](int) { return NAN; });
  EXPECT_EQ(loupe_command("diagnose new/record.jsonl --baseline baseline.json", folder).exit_code, 1);
}

TEST_F(Learn, RefusesABaselineOfAnotherModelAndNamesMissingLayers) {
  record_curves(
      folder / "other", 3, [](int) { return 1; }, [](int) { return 1; }, "encoder");
  EXPECT_ENDS(loupe_command("diagnose other/record.jsonl --baseline baseline.json", folder), 2,
              "is from another model: it has none of this run's 1 layers, such as 'encoder'; use the "
              "baseline of this model");
  const std::string grown = read(folder / "0/record.jsonl");
  const std::string added =
      R"({"kind":"value","epoch":1.0,"tag":"Weight Norm","layer":"head","line":"mean","value":1})";
  const auto place = grown.find("{\"kind\":\"tick\"");
  write(folder / "grown", grown.substr(0, place) + added + "\n" + grown.substr(place));
  EXPECT_ENDS(loupe_command("diagnose grown --baseline baseline.json", folder), 0,
              "the baseline 'baseline.json' has no series of 'head', which is not compared");
}

TEST_F(Learn, HasWiderLimitsForFewerRunsAndSaysSo) {
  const Finished one = loupe_command("learn 0/record.jsonl --out one.json", folder);
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_NE(one.output.find("1 run is too few to learn much from"), std::string::npos) << one.output;
  const auto width = [&](const char* file) {
    const auto series = nlohmann::json::parse(read(folder / file))["series"][1];
    return series["high"][5].get<double>() - series["low"][5].get<double>();
  };
  EXPECT_GT(width("one.json"), width("baseline.json"));
}

TEST_F(Learn, ReportsRecordsThatDifferInLengthOrAreNotGood) {
  record_curves(
      folder / "short", 5, [](int epoch) { return 2.0 / epoch; }, [](int) { return 3; });
  RunToRecord bad;
  bad.healthy = false;
  record_run(folder / "bad", bad);
  const Finished finished =
      loupe_command("learn 0/record.jsonl short/record.jsonl bad/record.jsonl --out b.json", folder);
  EXPECT_EQ(finished.exit_code, 0);
  for (const char* said : {"the records end between epoch 3 and 20", "'bad/record.jsonl' has findings that are errors",
                           "series are not in every record"}) {
    EXPECT_NE(finished.output.find(said), std::string::npos) << finished.output;
  }
}

TEST_F(Learn, RefusesRecordsWithNothingToLearnFrom) {
  write(folder / "empty", R"({"kind":"run","format":3,"name":"empty"})"
                          "\n");
  const std::string before = read(folder / "baseline.json");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"--out baseline.json", "records"},
      {"0/record.jsonl", "--out"},
      {"missing --out baseline.json", "the record cannot be read"},
      {"empty --out baseline.json", "'empty' has no values to learn from"},
      {"0/record.jsonl 0/../0/record.jsonl --out baseline.json", "is named twice"},
      {"0/record.jsonl --out 0/record.jsonl", "would overwrite a record"},
      {"0/record.jsonl --out 1/record.jsonl", "'1/record.jsonl' would overwrite a record; give --out another"},
  };
  for (const auto& [arguments, said] : wrong) {
    EXPECT_ENDS(loupe_command("learn --force " + arguments, folder), 2, said);
  }
  EXPECT_EQ(read(folder / "baseline.json"), before);
}

TEST_F(Learn, SaysWhichFileCannotBeWrittenAndWhatToDo) {
  const Finished finished = loupe_command("learn 0/record.jsonl --out 1/record.jsonl/inside", folder);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.output.find("loupe: error: '1/record.jsonl/inside' cannot be written: Not a directory; name a "
                                 "file with --out"),
            std::string::npos)
      << finished.output;
}

TEST_F(Learn, RefusesAWrongBaselineWithTheRemedy) {
  const std::string whole = read(folder / "baseline.json");
  write(folder / "truncated", whole.substr(0, whole.size() / 2));
  write(folder / "text", "lorem ipsum");
  write(folder / "list", "[]");
  write(folder / "empty", "");
  write(folder / "newer", R"({"kind":"baseline","format":7})");
  write(folder / "bare", R"({"kind":"baseline","format":1})");
  write(
      folder / "uneven",
      R"({"kind":"baseline","format":1,"runs":1,"epochs":[1,2],"series":[{"tag":"a","layer":"b","line":"c","low":[1],"high":[1]}]})");
  write(folder / "untyped", R"({"kind":"baseline","format":1,"runs":"two","epochs":[1,2],"series":[]})");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"missing", "the baseline cannot be read"},
      {"truncated", "it is not complete JSON"},
      {"text", "it is not complete JSON"},
      {"list", "this JSON is not a baseline"},
      {"empty", "the baseline is empty"},
      {"newer", "has format 7, and this Loupe reads format 1"},
      {"bare", "a part of this baseline is missing"},
      {"uneven", "a series must have one number for each phase"},
      {"untyped", "has the wrong type"},
  };
  for (const auto& [file, said] : wrong) {
    const Finished finished = loupe_command("diagnose 0/record.jsonl --baseline " + file, folder);
    EXPECT_EQ(finished.exit_code, 2) << file;
    EXPECT_EQ(finished.output.rfind(file + ": error: ", 0), 0u) << finished.output;
    EXPECT_NE(finished.output.find(said), std::string::npos) << finished.output;
    EXPECT_NE(finished.output.find("loupe learn RECORD... --out"), std::string::npos) << finished.output;
  }
}

TEST_F(Learn, RefusesToOverwriteARecordGivenAsABaseline) {
  const Finished finished = loupe_command("diagnose 0/record.jsonl --baseline 0/record.jsonl", folder);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.output.rfind("0/record.jsonl: error: this is the record of a run, not a baseline", 0), 0u)
      << finished.output;
  EXPECT_NE(finished.output.find("--out baseline.json"), std::string::npos) << finished.output;
}

TEST_F(Learn, NamesTheLineOfAConfigurationWithAnUnusableBaseline) {
  const std::map<std::string, std::string> wrong = {
      {"0/record.jsonl", "this is the record of a run, not a baseline"},
      {"missing.json", "cannot be read"},
  };
  for (const auto& [file, said] : wrong) {
    std::ofstream(folder / "monitor.yaml") << "lenses:\n  - loss_metrics\n  - health: {baseline: " << file << "}\n";
    const Finished finished = loupe_command("validate monitor.yaml", folder);
    EXPECT_EQ(finished.exit_code, 2) << file;
    EXPECT_EQ(finished.output.rfind("monitor.yaml:3:5: error: the lens 'health' cannot be created: ", 0), 0u)
        << finished.output;
    EXPECT_NE(finished.output.find(said), std::string::npos) << finished.output;
    EXPECT_EQ(finished.output.find("--out " + (folder / "0").string()), std::string::npos)
        << "the baseline would be overwritten: " << finished.output;
  }
}

}  // namespace
}  // namespace loupe::test
