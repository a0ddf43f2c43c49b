// `loupe replay` tells findings, notes, settings and a run's end as the record has them.

#include <gtest/gtest.h>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Overwrites what there is, and says nothing of the files that it writes.
Finished replay(const std::string& arguments, const fs::path& folder) {
  Finished finished = run(LOUPE_COMMAND + " replay --force " + arguments, folder);
  finished.output = said_beside_files(finished.output);
  return finished;
}
void expect_same_again(const fs::path& folder) {
  const Finished finished = replay("record.jsonl --visualizer record --out again", folder);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(read(folder / "again/record.jsonl"), read(folder / "record.jsonl"));
}
bool has(const fs::path& file, const std::string& text) {
  return read(file).find(text) != std::string::npos;
}

TEST(Replay, GivesEveryEventAgainBitForBit) {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.healthy = false;
  run.end = LOUPE_END_FAILED;
  record_run(folder, run);
  for (const char* kind : {"finding", "note", "hyperparameter", "end"}) {
    EXPECT_TRUE(has(folder / "record.jsonl", std::string("{\"kind\":\"") + kind + '"')) << kind;
  }
  expect_same_again(folder);
}

TEST(Replay, TellsTheLensesAndTheNamesOfTheLossesAgain) {
  const fs::path folder = fresh_folder();
  const std::string directory = folder.string(), name = "digits";
  const char* const lenses[] = {"health", "loss_metrics"};
  loupe_run told = Driver::run_of(directory, false, name, "lenses: [health, loss_metrics]\n");
  told.lenses = lenses;
  told.lens_count = 2;
  told.train_loss = "fit";
  told.validation_loss = "check";
  {
    Driver record(RECORD_PLUGIN);
    record.begin(told);
    record.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    record.loss_tick(1, 0.5);
    record.end();
  }
  EXPECT_TRUE(
      has(folder / "record.jsonl", R"("train_loss":"fit","val_loss":"check","lenses":["health","loss_metrics"])"));
  expect_same_again(folder);
  // The console calls a run healthy where it is told of a lens whose silence means something.
  const std::string shown = replay("record.jsonl --visualizer console", folder).output;
  EXPECT_NE(shown.find("no problems found in 1 epoch"), std::string::npos) << shown;
}

TEST(Replay, KeepsWhereARunWasAndWhereItWentOn) {
  const fs::path folder = fresh_folder();
  record_run(folder, {"digits", 1, 2, false, 0, false, 0});
  record_run(folder, {"digits", 3, 5, true, 0, false});
  EXPECT_TRUE(has(folder / "record.jsonl", "\"resumed\":true"));
  EXPECT_TRUE(has(folder / "record.jsonl", "\"directory\":\"" + folder.string() + "\""));
  expect_same_again(folder);

  const fs::path later = fresh_folder() / "later";
  record_run(later, {"digits", 3, 5, true});
  EXPECT_TRUE(has(later / "record.jsonl", "\"resumed\":true"));
  expect_same_again(later);
}

TEST(Replay, PlaysOnBehindTheEndOfARunThatWentOn) {
  const fs::path folder = fresh_folder();
  record_run(folder, {"digits", 1, 2});
  record_run(folder, {"digits", 3, 5, true});
  EXPECT_EQ(replay("record.jsonl --visualizer csv --visualizer html --out again", folder).output, "");
  EXPECT_TRUE(has(folder / "again/values.csv", "\n2,Loss,") && has(folder / "again/values.csv", "\n5,Loss,"));
  EXPECT_TRUE(has(folder / "again/report.html", "\"epochs\":[1.0,2.0,3.0,4.0,5.0]"));
  EXPECT_TRUE(has(folder / "again/report.html", "\"ended\":true"));
}

TEST(Replay, SaysNothingOfAnEndWhereTheRecordHasNone) {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.healthy = false;
  run.end = 0;
  record_run(folder, run);
  expect_same_again(folder);
  EXPECT_FALSE(has(folder / "again/record.jsonl", "\"kind\":\"end\""));
  EXPECT_EQ(replay("record.jsonl --visualizer html --out page", folder).output, "");
  EXPECT_FALSE(has(folder / "page/report.html", "\"ended\":true"));
}

TEST(Replay, TakesAnEndThatDoesNotSayHow) {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.end = 0;
  const std::string record = record_run(folder, run);
  write(record, read(record) + "{\"kind\":\"end\",\"epoch\":3}\n");
  EXPECT_EQ(replay("record.jsonl --visualizer record --out again", folder).output, "");
  EXPECT_TRUE(has(folder / "again/record.jsonl", "{\"kind\":\"end\",\"epoch\":3,\"how\":null,"));
}

TEST(Replay, ToleratesAFindingThatWasCutOff) {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.healthy = false;
  run.end = 0;
  const std::string record = record_run(folder, run), whole = read(record);
  write(record, whole + whole.substr(whole.find("{\"kind\":\"finding\""), 60));
  const Finished finished = replay("record.jsonl --visualizer record --out again", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "loupe: warning: 'record.jsonl' ends with a line that was cut off, which is left out\n");
  EXPECT_EQ(read(folder / "again/record.jsonl"), whole);
}

TEST(Replay, ReadsARecordOfTheFormatBefore) {
  const fs::path folder = fresh_folder();
  write(
      folder / "record.jsonl",
      R"({"kind":"run","format":2,"name":"old","started":"2024-05-01T12:00:00Z","resumed":false,"loupe_version":"0.1.0","libtorch_version":"2.6.0","config":""}
{"kind":"tag","tag":"Loss","type":"numerical","log_y":false,"big":true,"annotate":false,"y_minimum":null,"y_maximum":null}
{"kind":"value","epoch":1,"tag":"Loss","layer":"Loss","line":"mean","value":1.5}
{"kind":"tick","epoch":1,"time":"2024-05-01T12:01:00Z"}
)");
  EXPECT_EQ(replay("record.jsonl --visualizer record --out again", folder).output, "");
  EXPECT_TRUE(has(folder / "again/record.jsonl",
                  "{\"kind\":\"tick\",\"epoch\":1,\"time\":\"2024-05-01T12:01:00Z\",\"timestamp\":1714564860.0,"));
}

TEST(Replay, NamesAnEventThatIsWrong) {
  const std::string finding =
      R"({"kind":"finding","epoch":1,"severity":"error","state":"raised","rule":"r","message":"m","count":1})"
      "\n";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = finding;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {with("\"error\"", "\"eror\""), "'severity' cannot be 'eror'; did you mean 'error'?"},
      {with("\"error\"", "null"), "'severity' cannot have that value"},
      {with("\"error\"", "\"7\""), "a finding has no known severity"},
      {with("\"raised\"", "\"over\""), "'state' cannot be 'over'"},
      {with("\"rule\":\"r\",", ""), "lacks 'rule'"},
      {with("\"r\"", "\"\""), "a finding names no rule"},
      {with("\"m\"", "5"), "'message' cannot have that value"},
      {with(":1}", ":-1}"), "'count' cannot have that value"},
      {R"({"kind":"note","epoch":1,"about":"weather","text":"t"})"
       "\n",
       "'about' cannot be 'weather'"},
      {R"({"kind":"hyperparameter","name":"lr","type":"number","setting":"fast"})"
       "\n",
       "a value of this hyperparameter line is not of the type"},
      {R"({"kind":"hyperparameter","name":"lr","type":"nmber","setting":1})"
       "\n",
       "did you mean 'number'?"},
      {R"({"kind":"end","epoch":1,"how":"somehow"})"
       "\n",
       "'how' cannot be 'somehow'"},
  };
  const fs::path folder = fresh_folder();
  const std::string record = record_run(folder), whole = read(record);
  const std::string place = "record.jsonl:" + std::to_string(lines_of(whole).size() + 1) + ": error: ";
  for (const auto& [text, message] : wrong) {
    write(record, whole + text);
    const Finished finished = replay("record.jsonl --visualizer csv --out .", folder);
    EXPECT_EQ(finished.exit_code, 2) << text;
    EXPECT_EQ(finished.output.substr(0, place.size()), place) << text << finished.output;
    EXPECT_NE(finished.output.find(message), std::string::npos) << text << finished.output;
  }
}

TEST(Replay, TakesTimeInProportionToTheFindings) {
  const fs::path folder = fresh_folder();
  // Names that begin alike take long to be told apart, and each is of a finding of its own.
  const std::string rule(400, 'r'), layer(400, 'l');
  std::string text = R"({"kind":"run","format":3,"name":"crowded"})"
                     "\n";
  for (int i = 0; i < 50'000; ++i) {
    text += R"({"kind":"finding","epoch":1,"severity":"error","state":"raised","message":"it is silent","rule":")" +
            rule + R"(","layer":")" + layer + std::to_string(i) + "\"}\n";
  }
  write(folder / "record.jsonl", text + R"({"kind":"tick","epoch":1})" + "\n" + R"({"kind":"end","epoch":1})" + "\n");
  // Some seconds of the processor's time, and minutes where each is searched for among all others.
  const auto within_limit = [&](const std::string& arguments) {
    return run("ulimit -t 50; " + LOUPE_COMMAND + ' ' + arguments + " > out.txt", folder).exit_code;
  };
  EXPECT_EQ(within_limit("diagnose record.jsonl"), 1) << "there are errors";
  for (const char* visualizer : {"html", "console", "tensorboard", "prometheus", "csv"}) {
    EXPECT_EQ(within_limit(std::string("replay record.jsonl --out . --visualizer ") + visualizer), 0) << visualizer;
  }
}

}  // namespace
}  // namespace loupe::test
