// `loupe replay` plays what `record` wrote, whole epochs only, and reports errors in a record.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Replays with --force, and removes the lines about written files from the output.
Finished replay(const std::string& arguments, const fs::path& folder) {
  Finished finished = run(LOUPE_COMMAND + " replay --force " + arguments, folder);
  finished.output = said_beside_files(finished.output);
  return finished;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_same_again(const fs::path& folder) {
  const Finished finished = replay("record.jsonl --visualizer record --out again", folder);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(read(folder / "again/record.jsonl"), read(folder / "record.jsonl"));
}

std::string line(const std::string& value) {
  return R"({"kind":"value","epoch":4,"tag":"Loss","layer":"Loss","line":"mean","value":)" + value + "}\n";
}

std::string model(const std::string& elements, const std::string& shapes) {
  return R"({"kind":"model","name":"net","type":"Net","parameters":)" + elements +
         R"(,"modules":[{"name":"fc","type":"Linear","parameters":)" + elements + R"(,"shapes":)" + shapes + "}]}\n";
}

class Replay : public testing::Test {
 protected:
  const fs::path folder = fresh_folder();
};

TEST_F(Replay, IntoARecordGivesTheSameLines) {
  const std::string record = record_run(folder);
  const Finished finished = replay("record.jsonl --visualizer record --out again", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "");
  // run, model, setting, tags, values, ticks, end
  EXPECT_EQ(lines_of(read(record)).size(), 1 + 1 + 1 + 4 + 3 * 6 + 2 + 1u);
  EXPECT_EQ(read(folder / "again/record.jsonl"), read(record));
  EXPECT_TRUE(contains(read(record), R"("line":"train_loss mean","value":0.1,"events":96})")) << read(record);
}

TEST_F(Replay, ReadsAModelWithoutShapesAsOneTensorPerModule) {
  const std::string record = record_run(folder), whole = read(record);
  const std::string shapes = ",\"shapes\":[[2,4],[2]]";
  ASSERT_TRUE(contains(whole, shapes)) << whole;
  std::string without = whole;
  write(record, without.erase(without.find(shapes), shapes.size()));
  EXPECT_EQ(replay("record.jsonl --visualizer record --out again", folder).output, "");
  EXPECT_TRUE(contains(read(folder / "again/record.jsonl"), R"("parameters":10,"shapes":[[10]])"));
}

TEST_F(Replay, LeavesOutAnUnterminatedConfiguration) {
  const std::string record = record_run(folder), whole = read(record);
  std::string aliases = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    aliases += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  for (const std::string& endless : {aliases, std::string(", a")}) {
    auto run = nlohmann::json::parse(lines_of(whole).front());
    run["config"] = endless;
    write(record, run.dump() + whole.substr(whole.find('\n')));
    fs::remove_all(folder / "tensorboard");
    EXPECT_EQ(replay("record.jsonl --visualizer html --visualizer tensorboard --out .", folder).output, "");
    EXPECT_TRUE(contains(read(folder / "report.html"), "# left out of the record, because Loupe would refuse it: "));
  }
}

TEST_F(Replay, SaysWhatItWroteAndOverwritesNothingUnlessToldTo) {
  RunToRecord sick;
  sick.healthy = false;
  record_run(folder, sick);
  const std::string command =
      LOUPE_COMMAND + " replay record.jsonl --visualizer csv --visualizer tensorboard --out out";
  EXPECT_EQ(run(command, folder).output,
            "wrote out/values.csv\nwrote out/values.findings.csv\nwrote out/tensorboard/\n");
  const std::string before = read(folder / "out/values.csv");
  const Finished again = run(command, folder);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(again.output,
            "loupe: error: 'out/values.csv' is there already, maybe of an earlier 'loupe replay'; overwrite it with "
            "--force, or write elsewhere with --out\n");
  fs::remove(folder / "out/values.csv");
  EXPECT_TRUE(contains(run(command, folder).output, "'out/values.findings.csv' is there already"));
  // A folder in which new files would mix with old ones is not overwritten.
  EXPECT_ENDS(run(command + " --force", folder), 2, "the folder 'out/tensorboard' has files already");
  fs::remove_all(folder / "out/tensorboard");
  EXPECT_EQ(run(command + " --force", folder).exit_code, 0);
  EXPECT_EQ(read(folder / "out/values.csv"), before);
  // The record may exist under its compressed name.
  fs::create_directory(folder / "long");
  write(folder / "long/record.jsonl.gz", "long ago");
  const std::string again_in_full = LOUPE_COMMAND + " replay record.jsonl --visualizer record --out long";
  EXPECT_TRUE(contains(run(again_in_full, folder).output, "'long/record.jsonl.gz' is there already"));
  // Files with other names do not matter.
  write(folder / "values.md", "notes");
  EXPECT_EQ(run(LOUPE_COMMAND + " replay record.jsonl --visualizer csv", folder).output,
            "wrote values.csv\nwrote values.findings.csv\n");
  EXPECT_EQ(read(folder / "values.md"), "notes");
}

TEST_F(Replay, AcceptsItsArgumentsInAnyOrder) {
  record_run(folder);
  EXPECT_EQ(replay("--option path=new.csv --visualizer csv record.jsonl", folder).output, "");
  EXPECT_TRUE(fs::exists(folder / "new.csv"));
}

TEST_F(Replay, IntoSeveralVisualizersWritesEachOnesFiles) {
  record_run(folder);
  EXPECT_ENDS(replay("record.jsonl --visualizer html --visualizer tensorboard --visualizer console "
                     "--option html.path=seen.html --option console.detail=all --out new/folder",
                     folder),
              0, "conv1");
  const std::string page = read(folder / "new/folder/seen.html");
  EXPECT_TRUE(contains(page, "digits"));
  EXPECT_TRUE(contains(page, "train_loss mean"));
  EXPECT_FALSE(fs::is_empty(folder / "new/folder/tensorboard"));
}

TEST_F(Replay, PlaysAResumedRunAsOne) {
  record_run(folder);
  record_run(folder, {"digits", 3, 5, true});
  EXPECT_EQ(replay("record.jsonl --visualizer csv --visualizer html --out .", folder).output, "");
  std::vector<std::string> losses;
  for (const std::string& row : lines_of(read(folder / "values.csv"))) {
    if (contains(row, "train_loss mean")) losses.push_back(row.substr(0, 1));
  }
  EXPECT_EQ(losses, (std::vector<std::string>{"1", "2", "3", "4", "5"}));
  const std::string page = read(folder / "report.html");
  EXPECT_FALSE(contains(page, "\"run-1\""));
  EXPECT_TRUE(contains(page, "\"epochs\":[1.0,2.0,3.0,4.0,5.0]"));
  EXPECT_TRUE(contains(page, "\"ended\":true"));
}

TEST_F(Replay, ToleratesAndReportsAnIncompleteLastLine) {
  const std::string record = record_run(folder);
  write(record, read(record) + R"({"kind":"value","epo)");
  const Finished finished = replay("record.jsonl --visualizer record --out again", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "loupe: warning: 'record.jsonl' ends with a line that was cut off, which is left out\n");
  EXPECT_EQ(lines_of(read(folder / "again/record.jsonl")).size() + 1, lines_of(read(record)).size());
}

TEST_F(Replay, ToleratesAndReportsAnIncompleteLastEpoch) {
  const std::string record = record_run(folder);
  write(record, read(record) + line("1"));
  const Finished finished = replay("record.jsonl --visualizer csv --visualizer html --out .", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output,
            "loupe: warning: 'record.jsonl' ends before epoch 4 was finished; that epoch is left out\n");
  EXPECT_FALSE(contains(read(folder / "values.csv"), "\n4,"));

  write(record, read(record) + R"({"kind":"value","epo)");
  const Finished both = replay("record.jsonl --visualizer csv --out .", folder);
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_EQ(lines_of(both.output).size(), 1u);
  EXPECT_TRUE(contains(both.output, "cut off")) << both.output;
  EXPECT_TRUE(contains(both.output, "unfinished epoch 4")) << both.output;
}

TEST_F(Replay, NamesTheVisualizerThatCannotWrite) {
  record_run(folder);
  const Finished finished =
      run("ulimit -f 100; " + LOUPE_COMMAND + " replay record.jsonl --visualizer html --out .", folder);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.output, "the visualizer 'html' failed: cannot write '")) << finished.output;
  EXPECT_TRUE(contains(finished.output, "report.html': File too large; ")) << finished.output;
  EXPECT_EQ(lines_of(finished.output).size(), 1u) << finished.output;
  EXPECT_FALSE(fs::exists(folder / "report.html"));
}

TEST_F(Replay, NamesTheInvalidLineOrEvent) {
  const std::string tick = R"({"kind":"tick","epoch":4,"time":""})"
                           "\n";
  const std::string finding =
      R"({"kind":"finding","epoch":1,"severity":"error","state":"raised","rule":"r","message":"m","count":1})"
      "\n";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = finding;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{\"kind\":\"value\",\n", "not JSON"},
      {"[1]\n", "not a JSON object"},
      {"3\n", "not a JSON object"},
      {"\n", "not JSON"},
      {"{\"epoch\":4}\n", "no 'kind'"},
      {"{\"kind\":\"valu\"}\n", "did you mean 'value'?"},
      {"{\"kind\":\"tick\"}\n", "lacks 'epoch'"},
      {line("\"many\""), "'value' cannot have that value"},
      {line("[1]"), "'value' cannot have that value"},
      {line("null"), "'value' cannot have that value"},
      {line("1") + R"({"kind":"tick","epoch":5,"time":""})"
                   "\n",
       "before the end of epoch 4"},
      {R"({"kind":"value","epoch":4,"tag":"Los","layer":"","line":"","value":1})"
       "\n",
       "the tag 'Los' is used before"},
      {R"({"kind":"histogram","epoch":4,"tag":"Loss","layer":"","line":"","edges":[1,2],"counts":[1,2]})"
       "\n",
       "one more edge"},
      {R"({"kind":"histogram","epoch":4,"tag":"Loss","layer":"","line":"","edges":[2,1],"counts":[1]})"
       "\n",
       "must ascend"},
      {R"({"kind":"run","format":1,"name":"x","resumed":false})"
       "\n",
       "another run begins here"},
      {model("6", "[[2,4]]"), "the shapes of the module 'fc' do not make up its 6 elements"},
      {model("0", "[[4611686018427387904,4]]"), "do not make up its 0 elements"},
      {model("2", "[[-1,-2]]"), "do not make up its 2 elements"},
      {model("2", "[[9223372036854775807],[9223372036854775807],[4]]"), "do not make up its 2 elements"},
      {model("2", "[2]"), "a value of this model line is not of the type"},
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
  const std::string record = record_run(folder), whole = read(record);
  const std::string place = "record.jsonl:" + std::to_string(lines_of(whole).size() + 1) + ": error: ";
  for (const auto& [text, message] : wrong) {
    write(record, whole + text + tick);
    const Finished finished = replay("record.jsonl --visualizer csv --out .", folder);
    EXPECT_EQ(finished.exit_code, 2) << text;
    EXPECT_EQ(lines_of(finished.output).size(), 1u) << finished.output;
    // The text for this message has two lines, and the error is in the second.
    const bool first = !contains(message, "before the end");
    EXPECT_EQ(finished.output.substr(0, place.size()) == place, first) << text << finished.output;
    EXPECT_TRUE(contains(finished.output, message)) << text << finished.output;
  }
}

TEST_F(Replay, NamesTheLineWithANumberThatNoRunHas) {
  const std::string record = record_run(folder), whole = read(record);
  const std::string at = "record.jsonl:" + std::to_string(lines_of(whole).size() + 1) + ": error: '";
  const auto of = [](const std::string& kind, const std::string& members) {
    const std::string finding =
        kind == "finding" ? R"("severity":"error","state":"raised","rule":"r","message":"",)" : "";
    const std::string note = kind == "note" ? R"("about":"trainer","text":"",)" : "";
    return R"({"kind":")" + kind + "\"," + finding + note + members + "}\n";
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {of("tick", R"("epoch":1e300)"), "epoch' cannot be 1e+300: "},
      {of("tick", R"("epoch":-1e300)"), "epoch' cannot be -1e+300: "},
      {of("tick", R"("epoch":"Infinity")"), "epoch' cannot be Infinity: "},
      {of("end", R"("epoch":"NaN")"), "epoch' cannot be NaN: "},
      {of("note", R"("epoch":"-Infinity")"), "epoch' cannot be -Infinity: "},
      {of("finding", R"("epoch":9007199254740994)"), "epoch' cannot be 9007199254740994: "},
      {of("tick", R"("epoch":4,"timestamp":1e300)"), "timestamp' cannot be 1e+300: "},
      {of("note", R"("epoch":4,"timestamp":"Infinity")"), "timestamp' cannot be Infinity: "},
      {of("end", R"("epoch":4,"timestamp":null)"), "timestamp' cannot be NaN: "},
      {of("end", R"("epoch":4,"timestamp":-1)"), "timestamp' cannot be -1: "},
      {of("tick", R"("epoch":4,"time":"0001-01-01T00:00:00Z")"), "timestamp' cannot be -62135596800: "},
      {of("tick", R"("epoch":4,"elapsed":1e300)"), "elapsed' cannot be 1e+300: "},
      {of("end", R"("epoch":4,"elapsed":-0.5)"), "elapsed' cannot be -0.5: "},
      {of("tick", R"("epoch":4,"step":18446744073709551615)"), "step' cannot be 18446744073709551616: "},
      {of("finding", R"("epoch":4,"first_step":18446744073709551615)"), "first_step' cannot be "},
      {of("finding", R"("epoch":4,"last_step":18446744073709551615)"), "last_step' cannot be "},
      {of("finding", R"("epoch":4,"count":18446744073709551615)"), "count' cannot be "},
      {of("finding", R"("epoch":4,"first_epoch":"Infinity")"), "first_epoch' cannot be Infinity: "},
      {of("finding", R"("epoch":4,"last_epoch":1e300)"), "last_epoch' cannot be 1e+300: "},
      {of("run", R"("format":3,"resumed":true,"start_time":1e300)"), "start_time' cannot be 1e+300: "},
      {of("run", R"("format":3,"resumed":true,"start_time":-1)"), "start_time' cannot be -1: "},
      {of("run", R"("format":3,"resumed":true,"rank":1e300)"), "rank' cannot be 1e+300: "},
      {of("run", R"("format":3,"resumed":true,"world_size":4294967296)"), "world_size' cannot be 4294967296: "},
      {of("run", R"("format":3.5)"), "format' cannot be 3.5: "},
      {model("1e300", "[]"), "parameters' cannot be 1e+300: "},
      {model("1", "[[0.5]]"), "shapes' cannot be 0.5: "},
      {of("hyperparameter", R"("name":"n","type":"integer","setting":1e300)"), "setting' cannot be 1e+300: "},
  };
  for (const auto& [text, reason] : wrong) {
    write(record, whole + text);
    const Finished finished = replay("record.jsonl --visualizer csv --out .", folder);
    EXPECT_EQ(finished.exit_code, 2) << text;
    EXPECT_EQ(finished.output.substr(0, (at + reason).size()), at + reason);
    EXPECT_EQ(lines_of(finished.output).size(), 1u) << "the error is printed once: " << finished.output;
  }
  // These lines are valid in a run.
  for (const std::string& text : {of("tick", R"("epoch":-1,"timestamp":0)"), of("tick", R"("epoch":9007199254740992)"),
                                  of("finding", R"("epoch":4,"first_epoch":null,"last_epoch":"NaN")")}) {
    write(record, whole + text);
    EXPECT_EQ(replay("record.jsonl --visualizer csv --out .", folder).output, "") << text;
  }
}

TEST_F(Replay, RefusesAFileThatIsNotARecord) {
  write(folder / "empty", "");
  write(folder / "tick", "{\"kind\":\"tick\",\"epoch\":1}\n");
  write(folder / "newer", "{\"kind\":\"run\",\"format\":4}\n");
  write(folder / "named", "{\"kind\":\"run\",\"format\":1,\"name\":5}\n");
  const std::string opened(200000, '['), closed(200000, ']');
  write(folder / "deep", "{\"kind\":\"run\",\"format\":1,\"models\":" + opened + closed + "}\n");
  const std::map<std::string, std::string> messages = {
      {"empty", "empty:1: error: the record is empty"},
      {"tick", "tick:1: error: a record begins with a line of the kind 'run'"},
      {"newer", "newer:1: error: this record has format 4"},
      {"named", "named:1: error: a value of this run line is not of the type that a record gives it"},
      {"deep", "deep:1: error: this is JSON with more levels than 100"},
      {"missing", "missing: error: the record cannot be read"},
      {".", "loupe: error: the folder '.' has no record.jsonl, nor has a folder in it"},
  };
  for (const auto& [file, message] : messages) {
    const Finished finished = replay(file + " --visualizer csv --out out", folder);
    EXPECT_EQ(finished.exit_code, 2) << file;
    EXPECT_EQ(finished.output.substr(0, message.size()), message);
    EXPECT_FALSE(fs::exists(folder / "out")) << file;
  }
}

TEST_F(Replay, TellsAWrongArgumentInOneSentence) {
  const std::string record = record_run(folder), before = read(record);
  const std::map<std::string, std::string> messages = {
      {"", "name one: --visualizer html"},
      {"--visualizer htlm", "there is no visualizer 'htlm'; did you mean 'html'?"},
      {"--visualizer csv --visualizer csv", "the visualizer 'csv' is named twice"},
      {"--visualizer csv --option pth=x", "has an option 'pth'; did you mean 'path'?"},
      {"--visualizer csv --option html.path=x", "has an option 'path'"},
      {"--visualizer csv --option path", "name=value"},
      {"--visualizer csv --option sync=perhaps", "visualizer 'csv'.sync must be true or false, not 'perhaps'"},
      {"--visualizer record", "would write over the record"},
      {"--visualizer record --out ../Replay.TellsAWrongArgumentInOneSentence", "would write over the record"},
  };
  for (const auto& [arguments, message] : messages) {
    const Finished finished = replay("record.jsonl " + arguments, folder);
    EXPECT_EQ(finished.exit_code, 2) << arguments;
    EXPECT_EQ(lines_of(finished.output).size(), 1u) << finished.output;
    EXPECT_TRUE(contains(finished.output, message)) << finished.output;
  }
  EXPECT_EQ(read(record), before);
}

TEST_F(Replay, ReportsAnUnwritableFolderInOneSentence) {
  record_run(folder);
  const Finished finished = replay("record.jsonl --visualizer csv --out record.jsonl/inside", folder);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(lines_of(finished.output).size(), 1u) << finished.output;
  EXPECT_TRUE(contains(finished.output, "cannot write into the folder 'record.jsonl/inside'")) << finished.output;
  fs::create_directories(folder / "out/values.csv");
  EXPECT_ENDS(replay("record.jsonl --visualizer csv --out out", folder), 1,
              "the visualizer 'csv' failed: cannot write");
}

// A replay reports findings, notes, settings and a run's end as the record has them.

TEST_F(Replay, ReproducesEveryEventBitByBit) {
  RunToRecord run;
  run.healthy = false;
  run.end = LOUPE_END_FAILED;
  record_run(folder, run);
  for (const char* kind : {"finding", "note", "hyperparameter", "end"}) {
    EXPECT_TRUE(contains(read(folder / "record.jsonl"), std::string("{\"kind\":\"") + kind + '"')) << kind;
  }
  expect_same_again(folder);
}

TEST_F(Replay, ReproducesTheLensesAndTheNamesOfTheLosses) {
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
  EXPECT_TRUE(contains(read(folder / "record.jsonl"),
                       R"("train_loss":"fit","val_loss":"check","lenses":["health","loss_metrics"])"));
  expect_same_again(folder);
  // The console calls a run healthy only if a lens checks it.
  const std::string shown = replay("record.jsonl --visualizer console", folder).output;
  EXPECT_NE(shown.find("No problems found in 1 epoch."), std::string::npos) << shown;
}

TEST_F(Replay, KeepsTheFolderOfARunAndItsResumption) {
  record_run(folder, {"digits", 1, 2, false, 0, false, 0});
  record_run(folder, {"digits", 3, 5, true, 0, false});
  EXPECT_TRUE(contains(read(folder / "record.jsonl"), "\"resumed\":true"));
  EXPECT_TRUE(contains(read(folder / "record.jsonl"), "\"directory\":\"" + folder.string() + "\""));
  expect_same_again(folder);

  const fs::path later = fresh_folder() / "later";
  record_run(later, {"digits", 3, 5, true});
  EXPECT_TRUE(contains(read(later / "record.jsonl"), "\"resumed\":true"));
  expect_same_again(later);
}

TEST_F(Replay, ReportsNoEndIfTheRecordHasNone) {
  RunToRecord run;
  run.healthy = false;
  run.end = 0;
  record_run(folder, run);
  expect_same_again(folder);
  EXPECT_FALSE(contains(read(folder / "again/record.jsonl"), "\"kind\":\"end\""));
  EXPECT_EQ(replay("record.jsonl --visualizer html --out page", folder).output, "");
  EXPECT_FALSE(contains(read(folder / "page/report.html"), "\"ended\":true"));
}

TEST_F(Replay, AcceptsAnEndWithoutAReason) {
  RunToRecord run;
  run.end = 0;
  const std::string record = record_run(folder, run);
  write(record, read(record) + "{\"kind\":\"end\",\"epoch\":3}\n");
  EXPECT_EQ(replay("record.jsonl --visualizer record --out again", folder).output, "");
  EXPECT_TRUE(contains(read(folder / "again/record.jsonl"), "{\"kind\":\"end\",\"epoch\":3,\"how\":null,"));
}

TEST_F(Replay, ReadsARecordOfThePreviousFormat) {
  write(
      folder / "record.jsonl",
      R"({"kind":"run","format":2,"name":"old","started":"2024-05-01T12:00:00Z","resumed":false,"loupe_version":"0.1.0","libtorch_version":"2.6.0","config":""}
{"kind":"tag","tag":"Loss","type":"numerical","log_y":false,"big":true,"annotate":false,"y_minimum":null,"y_maximum":null}
{"kind":"value","epoch":1,"tag":"Loss","layer":"Loss","line":"mean","value":1.5}
{"kind":"tick","epoch":1,"time":"2024-05-01T12:01:00Z"}
)");
  EXPECT_EQ(replay("record.jsonl --visualizer record --out again", folder).output, "");
  EXPECT_TRUE(contains(read(folder / "again/record.jsonl"),
                       "{\"kind\":\"tick\",\"epoch\":1,\"time\":\"2024-05-01T12:01:00Z\",\"timestamp\":1714564860.0,"));
}

TEST_F(Replay, TakesTimeInProportionToTheFindings) {
  // Names with a long common prefix are slow to compare, and each name belongs to a different finding.
  const std::string rule(400, 'r'), layer(400, 'l');
  std::string text = R"({"kind":"run","format":3,"name":"crowded"})"
                     "\n";
  for (int i = 0; i < 50'000; ++i) {
    text += R"({"kind":"finding","epoch":1,"severity":"error","state":"raised","message":"it is silent","rule":")" +
            rule + R"(","layer":")" + layer + std::to_string(i) + "\"}\n";
  }
  write(folder / "record.jsonl", text + R"({"kind":"tick","epoch":1})" + "\n" + R"({"kind":"end","epoch":1})" + "\n");
  // This takes some seconds of CPU time; searching all findings for each would take minutes.
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
