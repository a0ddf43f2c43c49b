// `loupe run` watches programs that were compiled without Loupe, and does not change them.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const std::string loupe_command = LOUPE_COMMAND, trainers = LOUPE_TRAINERS;
const std::string weight_norms = "Weight Gradient Norm";

/// Results of a program without and with `loupe run`, in a fresh folder and with the same environment variables.
struct Both {
  Finished alone, watched;
  std::string messages;  // standard error of the watched program
  fs::path folder;

  Recorded recorded(const std::string& run = "trainers") const {
    return read_record(folder / "loupe-runs" / run / "record.jsonl");
  }
  /// The record of a run with an unknown name, which contains a process number.
  fs::path only_record() const {
    for (const auto& each : fs::directory_iterator(folder / "loupe-runs")) return each.path() / "record.jsonl";
    return {};
  }
  /// Whether the messages contain the text, even with line breaks.
  bool says(const std::string& text) const {
    static const std::regex wrapped("\n +");
    return std::regex_replace(messages, wrapped, " ").find(text) != std::string::npos;
  }
};

Both run_both(const std::string& program, const std::string& options = "", const std::string& variables = "") {
  Both both;
  both.folder = fresh_folder();
  both.alone = run(variables + " " + program + " 2> alone.txt", both.folder);
  both.watched =
      run(variables + " " + loupe_command + " run " + options + " " + program + " 2> watched.txt", both.folder);
  both.messages = text_of(both.folder / "watched.txt");
  return both;
}

void expect_unchanged(const Both& both) {
  EXPECT_EQ(both.alone.output, both.watched.output) << both.messages;
  EXPECT_EQ(both.alone.exit_code, both.watched.exit_code) << both.messages;
}

/// An option for tests that count epochs or layers. With a budget, a slow machine may show several epochs at a time,
/// and measure the steps of some models only.
constexpr const char* every_step = "--every-step";

/// Runs a trainer of this shape, and expects that `loupe run` changes none of its results.
Both run_trainer(const std::string& shape, const std::string& options = "", const std::string& variables = "") {
  Both both = run_both(trainers + " " + shape, options, variables);
  expect_unchanged(both);
  return both;
}

void expect_says(const Both& both, const std::string& text) {
  EXPECT_TRUE(both.says(text)) << text << "\n" << both.messages;
}
void expect_silent(const Both& both, const std::string& text) {
  EXPECT_EQ(both.messages.find(text), std::string::npos) << both.messages;
}

struct Shape {
  const char* name;
  Names layers;
};

class RunsShape : public testing::TestWithParam<Shape> {};

TEST_P(RunsShape, FindsItsModelsAndLeavesItsResultsAlone) {
  const Both both = run_trainer(GetParam().name);
  EXPECT_NE(both.watched.output.find("weights "), std::string::npos);
  Recorded recorded = both.recorded();
  EXPECT_EQ(recorded.layers(weight_norms), GetParam().layers) << both.messages;
  EXPECT_EQ(recorded.layers("Weight Update Norm"), GetParam().layers) << both.messages;
  const bool has_several = std::string(GetParam().name) == "gan";
  EXPECT_TRUE(recorded.values["Loss"]["Loss"].count(has_several ? "Critic loss mean" : "train_loss mean"))
      << both.messages;
  EXPECT_FALSE(recorded.layers("Learning Rate").empty()) << both.messages;
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RunsShape,
    testing::Values(Shape{"mlp", {"Net.first", "Net.second"}}, Shape{"epochs", {"Net.first", "Net.second"}},
                    Shape{"conv", {"ConvNet.conv", "ConvNet.norm", "ConvNet.out"}},
                    Shape{"gan", {"Generator.first", "Generator.second", "Critic.first", "Critic.second"}},
                    Shape{"sequential", {"Sequential.0", "Sequential.2"}}, Shape{"by_hand", {"Linear", "Linear#2"}},
                    Shape{"groups", {"Linear", "Linear#2"}}, Shape{"plain_class", {"Linear", "Linear#2"}},
                    Shape{"any_module", {"Net.first", "Net.second"}},
                    Shape{"on_the_stack", {"Net.first", "Net.second", "Net#2.first", "Net#2.second"}},
                    Shape{"one_child_stack", {"OneChild.seq.0", "OneChild.seq.2"}},
                    Shape{"one_child_heap", {"OneChild.seq.0", "OneChild.seq.2"}},
                    Shape{"one_child_member", {"OneChild.seq.0", "OneChild.seq.2"}},
                    Shape{"lbfgs", {"Net.first", "Net.second"}}, Shape{"forks", {"Net.first", "Net.second"}},
                    Shape{"script", {"ScriptNet.first", "ScriptNet.second"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Run, EndsEpochsWhenADataLoaderStartsAgain) {
  const Both both = run_trainer("loader", every_step);
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), 4U) << both.messages;
}

TEST(Run, CountsStepsIfALoaderStartsAgainInEach) {
  const Both both = run_trainer("one_batch", every_step);
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), 5U) << both.messages;
}

TEST(Run, NumbersModelsOfOneClassInTheOrderOfTheirOptimizers) {
  const Both both = run_trainer("twins");
  const std::string record = text_of(both.folder / "loupe-runs" / "trainers" / "record.jsonl");
  std::vector<int64_t> widths;
  for (std::size_t at = 0; (at = record.find("\"kind\":\"model\"", at)) != std::string::npos; ++at) {
    const std::size_t begin = record.rfind('\n', at) + 1;
    const auto model = nlohmann::json::parse(record.substr(begin, record.find('\n', at) - begin));
    EXPECT_EQ(model.at("name"), widths.empty() ? "Net" : "Net#2");
    widths.push_back(model.at("parameters").is_array() ? 0 : model.at("parameters").get<int64_t>());
  }
  EXPECT_EQ(widths, (std::vector<int64_t>{16 * 5 + 2 * 17, 8 * 5 + 2 * 9})) << record.substr(0, 3000);
}

TEST(Run, ReportsConsecutiveModelsInTwoLines) {
  const Both both = run_trainer("in_turn");
  expect_says(both, "watching 'Net#2' after 'Net', which no longer exists; later models of this kind are numbered");
  expect_says(both, "watched 5 models 'Net' in turn");
  for (const char* later : {"'Net#3'", "'Net#4'", "'Net#5'"}) expect_silent(both, later);
}

TEST(Run, MeasuresEveryStepWhereAskedToAndForATrace) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "some.yaml")
      << "attach: {every: 9, budget: 0.001%}\nlenses: [health]\nvisualizers: [console]\n";
  const auto told = [&](const std::string& options) {
    return run(loupe_command + options + trainers + " falling_rate 2>&1", folder).output;
  };
  EXPECT_NE(told(" run --config some.yaml ").find("of 180 steps were measured"), std::string::npos);
  for (const char* every : {" run --every-step --config some.yaml ", " trace "})
    EXPECT_EQ(told(every).find("steps were measured"), std::string::npos) << every;
  EXPECT_NE(told(" run ").find("learning_rate_change"), std::string::npos);
}

TEST(Run, TracesTheStepsOfAShortProgramOrExplainsWhyNot) {
  const fs::path folder = fresh_folder();
  const auto told = [&](const std::string& program) {
    return run(loupe_command + " trace " + trainers + " " + program + " 2>&1", folder).output;
  };
  EXPECT_NE(told("conv").find("3 steps are traced in"), std::string::npos) << "the program has five steps";
  EXPECT_TRUE(fs::exists(folder / "loupe-runs/trainers/trace.json"));
  EXPECT_NE(told("once").find("no step is traced, because the run ended before 3 steps"), std::string::npos);
}

TEST(Run, EndsEpochsWhereTheProgramShufflesAgain) {
  const Both both = run_trainer("shuffled", every_step);
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), 8U) << both.messages;
  expect_silent(both, "not judged");
}

TEST(Run, EndsEpochsWhereTheSamplesComeAgain) {
  for (const auto& [shape, epochs] : {std::pair("own_order", 8U), {"same_order", 8U}, {"drawn", 3U}}) {
    const Both both = run_trainer(shape, every_step);
    EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), epochs) << shape << both.messages;
    EXPECT_EQ(both.messages.find("not judged"), std::string::npos) << shape << both.messages;
  }
}

TEST(Run, ShowsALossWithoutTheScaleThatGradientsAreDividedBy) {
  const Both both = run_trainer("scaled", every_step);
  Recorded recorded = both.recorded();
  const auto losses = recorded.values["Loss"]["Loss"]["train_loss mean"];
  EXPECT_EQ(losses.size(), 3U) << both.messages;
  for (const auto& each : losses) EXPECT_LT(each.second, 2) << both.messages;
  EXPECT_EQ(recorded.values["Metrics"]["Metrics"]["loss scale mean"].size(), 3U) << both.messages;
  expect_silent(both, "no optimizer stepped");
}

TEST(Run, NamesTheFactorThatAValidationLossTakesOverFromTheTrainedLoss) {
  const Both both = run_trainer("accumulates", every_step);
  expect_says(both, "mean of the batch, times 0.5 like the trained loss");
  Recorded recorded = both.recorded();
  const auto losses = recorded.values["Loss"]["Loss"]["val_loss mean"];
  EXPECT_EQ(losses.size(), 3U) << both.messages;
  for (const auto& each : losses) EXPECT_LT(each.second, 0.6) << both.messages;
  expect_silent(run_trainer("epochs", every_step), ", times");
}

TEST(Run, CallsATermOfTheLossByItsFunction) {
  const Both both = run_trainer("composed", every_step);
  Recorded recorded = both.recorded();
  EXPECT_EQ(recorded.values["Loss"]["Loss"].count("val_loss mean"), 0U) << both.messages;
  EXPECT_EQ(recorded.values["Metrics"]["Metrics"]["mse_loss (validation) mean"].size(), 4U) << both.messages;
}

TEST(Run, TakesBackwardInBothArmsOfAnIfForOneLoss) {
  const Both both = run_trainer("two_arms");
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"].count("train_loss#2 mean"), 0U) << both.messages;
}

TEST(Run, SaysThatAnotherInstanceRunsThanTheOneThatTheOptimizerHolds) {
  const Both both = run_trainer("twin");
  expect_says(both, "one instance of 'Net', but the loss is computed by another");
  for (const char* wrong : {"has registered", "detach()"}) expect_silent(both, wrong);
}

TEST(Run, SaysThatALensLooksAtNothingOnlyOfOneThatTheUserWrote) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml")
      << "loupe: 1\nlenses: [{output_activation: {include: [+linear]}}]\nvisualizers: [record]\n";
  const auto told = [&](const std::string& shape, const std::string& options) {
    return run(loupe_command + " run " + options + " -- " + trainers + " " + shape + " 2>&1", folder).output;
  };
  for (const char* shape : {"own_parameters", "twin", "bare"})
    EXPECT_EQ(told(shape, "").find("lens 'output_activation'"), std::string::npos) << told(shape, "");
  const std::string of_written = told("own_parameters", "--config monitor.yaml");
  EXPECT_NE(of_written.find("lens 'output_activation': it watches nothing"), std::string::npos) << of_written;
  const std::string of_twin = told("twin", "--config monitor.yaml");
  EXPECT_EQ(of_twin.find("watches nothing"), std::string::npos) << "its layers belonged to a model that was destroyed\n"
                                                                << of_twin;
}

TEST(Run, TakesTwoModulesThatOneOptimizerTrainsForOneTraining) {
  const Both both = run_trainer("two_modules");
  expect_silent(both, "not judged");
  Recorded recorded = both.recorded();
  EXPECT_EQ(recorded.layers("Learning Rate").size(), 1U) << both.messages;
  EXPECT_TRUE(recorded.values["Loss"]["Loss"].count("train_loss mean")) << both.messages;
}

TEST(Run, SaysThatAnAssignmentLeavesARegisteredParameterBehind) {
  const Both both = run_trainer("tied");
  expect_says(both,
              "is registered, but the forward uses another tensor, which was assigned to the member "
              "('weight' of 'Tied.words')");
  expect_silent(both, "no gradient came");
}

TEST(Run, SeesForwardsOfPackedSequences) {
  const Both both = run_trainer("packed");
  expect_silent(both, "not tapped");
  expect_silent(both, "not called");
}

TEST(Run, SeesStepsOfAnOptimizerOfTheProgramsOwnThatCountNoChanges) {
  const Both both = run_trainer("own_optimizer", every_step);
  expect_silent(both, "no step");
  EXPECT_EQ(both.recorded().layers("Weight Update Norm"), (Names{"Net.first", "Net.second"})) << both.messages;
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), 3U) << both.messages;
}

TEST(Run, SaysThatStepsWaitForDataAndWithWhichShare) {
  const Both both = run_trainer("slow_loader");
  expect_says(both, "(input_bound)");
  expect_says(both, " % of each step is spent waiting for data before its forward");
  expect_says(both, "more workers");
  expect_says(both, "Step Time");
  EXPECT_EQ(both.recorded().layers("Layer Time"), Names({"Net.first", "Net.second"})) << both.messages;
}

TEST(Run, SaysThatGraphsOfEarlierStepsAreKeptAndHowToLetThemGo) {
  const Both both = run_trainer("keeps_graphs");
  expect_says(both, "(memory_creep)");
  expect_says(both, "loss.item<double>()");
}

TEST(Run, WatchesParametersOutsideOfModules) {
  const Both both = run_trainer("bare");
  EXPECT_EQ(both.recorded().layers(weight_norms), Names{"Parameters"}) << both.messages;
  expect_silent(both, "Tapped");
}

TEST(Run, ReportsAnOptimizerOfADestroyedModel) {
  const Both both = run_trainer("gone");
  expect_says(both, "none of the 4 parameters that it holds has a gradient");
}

TEST(Run, WatchesAFrozenPartThatMayStillChange) {
  const Both both = run_trainer("frozen_part");
  expect_says(both, "'Tuned#2.part.norm' is frozen, but in training mode");
}

TEST(Run, EndsAnEpochIfTrainFollowsEvalAndShowsValidationLosses) {
  Recorded recorded = run_both(trainers + " epochs", every_step).recorded();
  auto& losses = recorded.values["Loss"]["Loss"];
  EXPECT_EQ(losses["train_loss mean"].size(), 3u);
  EXPECT_EQ(losses["val_loss mean"].size(), 3u);
}

TEST(Run, ShowsWhatTheModulesAndFunctionsOfAScriptGive) {
  const Both both = run_both(trainers + " script");
  expect_says(both, "watching 'ScriptNet'");
  Recorded recorded = both.recorded();
  EXPECT_EQ(recorded.layers("Output Activations"),
            Names({"ScriptNet.first", "ScriptNet.first:relu", "ScriptNet.second"}))
      << both.messages;
}

TEST(Run, NamesTheLossesOfSeveralModelsAfterTheOneWhoseOptimizerStepsNext) {
  const Both both = run_both(trainers + " gan");
  const Recorded recorded = both.recorded();
  const std::string record = text_of(both.folder / "loupe-runs" / "trainers" / "record.jsonl");
  for (const char* name : {"Critic loss", "Critic loss#2", "Generator loss"}) {
    EXPECT_TRUE(recorded.values.at("Loss").at("Loss").count(std::string(name) + " mean")) << name << both.messages;
    EXPECT_NE(
        record.find("'" + std::string(name) + "' is the loss on which backward() is called before an optimizer of"),
        std::string::npos)
        << both.messages;
  }
}

TEST(Run, BeginsWithTwoShortSentencesAndRecordsItsGuesses) {
  const Both both = run_both(trainers + " epochs");
  std::istringstream lines(both.messages);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  const std::regex watched("loupe: watching 'Net' \\([0-9]+ of [0-9]+ modules tapped\\) and the loss 'train_loss'");
  EXPECT_TRUE(std::regex_match(first, watched)) << both.messages;
  EXPECT_EQ(second, "loupe: epochs: one pass over the data, or 100 steps if passes cannot be detected");
  expect_silent(both, "holds all");
  const std::string record = text_of(both.folder / "loupe-runs" / "trainers" / "record.jsonl");
  for (const char* guess : {"watching 'Net': all 4 parameters of the optimizer (change with run_program.models)",
                            "'train_loss' is the loss on which backward() is called (change with run_program.loss)"})
    EXPECT_NE(record.find(guess), std::string::npos) << record;
}

TEST(Run, RecordsTheSettingsOfEachModelsFirstOptimizer) {
  const Both both = run_both(trainers + " gan");
  const std::string record = text_of(both.folder / "loupe-runs" / "trainers" / "record.jsonl");
  for (const char* name : {"optimizer", "optimizer rate", "Generator optimizer", "Generator optimizer rate"})
    EXPECT_NE(record.find("\"name\":\"" + std::string(name) + "\""), std::string::npos) << name;
  EXPECT_NE(record.find("\"type\":\"number\",\"setting\":0.01}"), std::string::npos);
}

TEST(Run, SaysAtTheEndWhatItDidNotObserve) {
  const auto unobserved = [](const std::string& shape) {
    const std::string messages = run_both(trainers + " " + shape).messages;
    const auto begin = messages.rfind("loupe: not judged: ");
    return begin == std::string::npos ? "" : messages.substr(begin, messages.find('\n', begin) - begin);
  };
  EXPECT_EQ(unobserved("gan"), "loupe: not judged: the trend of the losses (several optimizers train)");
  EXPECT_EQ(unobserved("mlp"),
            "loupe: not judged: the trend of the loss (it needs 3 epochs; this run had 1, counted by steps)");
  EXPECT_EQ(unobserved("epochs"), "");
}

TEST(Run, SeesEveryThreadTrain) {
  const Both both = run_trainer("threads", every_step);
  EXPECT_EQ(both.recorded().layers(weight_norms).size(), 16u) << both.messages;
}

TEST(Run, WatchesForkedChildrenInFoldersOfTheirOwn) {
  const Both both = run_trainer("forks");
  for (const auto& entry : fs::directory_iterator(both.folder / "loupe-runs" / "trainers"))
    EXPECT_NE(entry.path().filename().string().rfind("incident", 0), 0u) << "a child's end is not its parent's";
  if (both.alone.output.find("the child failed") != std::string::npos)
    GTEST_SKIP() << "in this LibTorch, forked children cannot train";
  int children = 0;
  for (const auto& entry : fs::directory_iterator(both.folder / "loupe-runs")) {
    const std::string name = entry.path().filename();
    if (name == "trainers") continue;
    ++children;
    EXPECT_EQ(both.recorded(name).layers(weight_norms), (Names{"Net.first", "Net.second"})) << name;
  }
  EXPECT_EQ(children, 2) << both.messages;
}

TEST(Run, LooksUpNoAddressAndTakesNoFurtherLockHoweverOftenParametersAreAskedFor) {
  const Both both = run_both(LOUPE_ASKING, "--every-step");
  expect_unchanged(both);
  EXPECT_NE(both.watched.output.find("look-ups 0\nlook-ups 0\nlocks of 48 more layers 0\n"), std::string::npos)
      << both.watched.output;
  EXPECT_EQ(both.recorded("asking").layers("Weight Update Norm").size(), 52u) << both.messages;
}

TEST(Run, FollowsStartedProgramsUnlessForbidden) {
  const auto runs_of = [](const Both& both) {
    const fs::path folder = both.folder / "loupe-runs";
    return fs::exists(folder) ? std::distance(fs::directory_iterator(folder), fs::directory_iterator()) : 0;
  };
  const Both followed = run_trainer("starts");
  EXPECT_EQ(runs_of(followed), 1) << followed.messages;
  const Both left = run_trainer("starts", "--follow no");
  EXPECT_EQ(runs_of(left), 0) << left.messages;
  const Both forked = run_trainer("forks", "--follow no");
  EXPECT_EQ(runs_of(forked), 1) << forked.messages;
}

TEST(Run, PassesArgumentsStandardInputAndExitCode) {
  const fs::path folder = fresh_folder();
  const Finished finished =
      run("echo hello | " + loupe_command + " run " + trainers + " arguments --config 'a b' -- 2> /dev/null", folder);
  EXPECT_EQ(finished.output, "[--config][a b][--]<hello\n>");
  expect_unchanged(run_both(trainers + " code 42"));
}

TEST(Run, LeavesARecordOfWhatEndsWithoutAnExit) {
  for (const auto& [shape, code] : {std::pair("leaves", 4), {"aborts", 128 + SIGABRT}, {"killed", 128 + SIGKILL}}) {
    const Both both = run_trainer(shape, every_step);
    EXPECT_EQ(both.watched.exit_code, code);
    Recorded recorded = both.recorded();
    EXPECT_EQ(recorded.values["Loss"]["Loss"]["train_loss mean"].size(), 2u) << shape << both.messages;
  }
}

TEST(Run, LeavesARecordThatSaysHowItsProgramEnded) {
  struct Case {
    const char* shape;
    int signal;
    const char *how, *why;
  };
  for (const Case& each :
       {Case{"throws", SIGABRT, "failed", "the program's own"}, Case{"faults", SIGSEGV, "failed", "SIGSEGV"},
        Case{"aborts", SIGABRT, "failed", "SIGABRT"}, Case{"interrupted", SIGINT, "interrupted", "SIGINT"}}) {
    const Both both = run_both(std::string(trainers) + " " + each.shape);
    EXPECT_EQ(both.alone.exit_code, 128 + each.signal);
    EXPECT_EQ(both.watched.exit_code, 128 + each.signal) << both.messages;
    const std::string record = (both.folder / "loupe-runs/trainers/record.jsonl").string();
    const Finished told = run(loupe_command + " diagnose " + record, both.folder);
    EXPECT_NE(told.output.find(std::string(each.how) + " after"), std::string::npos) << each.shape << told.output;
    EXPECT_NE(told.output.find(each.why), std::string::npos) << each.shape << told.output;
    EXPECT_EQ(run(loupe_command + " replay " + record + " --visualizer csv --out again", both.folder).exit_code, 0);
  }
}

TEST(Run, LetsAHandlerOfTheProgramDecideWhatAFaultDoes) {
  const auto ending = [](const Both& both) {
    return run(loupe_command + " diagnose " + (both.folder / "loupe-runs/trainers/record.jsonl").string(), both.folder)
        .output;
  };
  const Both handled = run_trainer("handles");
  EXPECT_EQ(handled.watched.exit_code, 9);
  EXPECT_NE(ending(handled).find("failed after"), std::string::npos) << ending(handled);
  EXPECT_NE(ending(handled).find("SIGSEGV"), std::string::npos) << ending(handled);

  const Both recovered = run_trainer("recovers");
  EXPECT_EQ(recovered.watched.exit_code, 0);
  EXPECT_EQ(ending(recovered).find("SIGSEGV"), std::string::npos) << ending(recovered);
}

TEST(Run, LetsAProgramEndAsEverWhereNobodyReadsStandardError) {
  const fs::path folder = fresh_folder();
  const auto ends_with = [&](const std::string& command) {
    run("( sleep 0.2; " + command + " 2>&1 > output; echo code $? >> output ) | true", folder);
    return run("cat output", folder).output;
  };
  const std::string alone = ends_with(trainers + " mlp");
  EXPECT_NE(alone.find("code 0"), std::string::npos) << alone;
  EXPECT_EQ(ends_with(loupe_command + " run " + trainers + " mlp"), alone);
}

TEST(Run, LetsAProgramEndAsEverWhereFilesMayGrowNoMore) {
  const fs::path folder = fresh_folder();
  const Finished alone = run("ulimit -f 1; " + trainers + " mlp 2> told", folder);
  const Finished watched = run("ulimit -f 1; " + loupe_command + " run " + trainers + " mlp 2> told", folder);
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_EQ(watched.output, alone.output);
}

TEST(Run, WatchesProgramsWithUnusualBuildOptions) {
  for (const std::string name : {"small_hidden", "small_fixed"}) {
    const Both both = run_both(LOUPE_SMALL + "/" + name);
    expect_unchanged(both);
    EXPECT_EQ(both.recorded(name).layers("Weight Update Norm"), Names{"Linear"}) << both.messages;
  }
}

TEST(Run, SaysWhereInTheProgramsSourceAFindingIs) {
  for (const std::string name : {"faulty_o0", "faulty_o2"}) {
    const Both both = run_both(LOUPE_SMALL + "/" + name);
    expect_unchanged(both);
    int layer = 0, unregistered = 0, loss = 0, step = 0;
    ASSERT_EQ(std::sscanf(both.watched.output.c_str(), "layer %d unregistered %d loss %d step %d", &layer,
                          &unregistered, &loss, &step),
              4);
    const std::string record = text_of(both.folder / "loupe-runs" / name / "record.jsonl");
    const auto says = [&](int line) {
      const std::string place = R"("file":"faulty.cpp","file_line":)" + std::to_string(line) + ",";
      EXPECT_NE(record.find(place), std::string::npos) << name << ": " << place << '\n' << both.messages;
    };
    for (const int line : {layer, unregistered, loss, step}) says(line);
  }
}

/// Whether the program hangs even without Loupe, as a library that LibTorch loads may keep a thread.
bool never_ends_alone(const std::string& shape) {
  return run("OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 timeout 30 " + trainers + ' ' + shape, fresh_folder())
             .exit_code == 124;
}

TEST(Run, LetsAProgramEndWithItsLastThreadAfterMainHasEnded) {
  for (const std::string shape : {"main_goes", "main_goes_first"}) {
    if (never_ends_alone(shape)) GTEST_SKIP() << "a library of LibTorch keeps a thread";
    const Both both = run_both("timeout 100 " + trainers + ' ' + shape, "", "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");
    expect_unchanged(both);
    EXPECT_EQ(both.alone.exit_code, 0);
    EXPECT_NE(text_of(both.only_record()).find(R"("kind":"end")"), std::string::npos) << both.messages;
  }
}

TEST(Run, EndsBeforeAProgramForbidsItselfAllButReadingAndWriting) {
  if (never_ends_alone("strict")) GTEST_SKIP() << "a library of LibTorch keeps a thread";
  const Both both = run_both("timeout 100 " + trainers + " strict", "", "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");
  expect_unchanged(both);
  EXPECT_EQ(both.alone.exit_code, 6);
  expect_says(both, "it continues unwatched");
  EXPECT_FALSE(read_record(both.only_record()).layers(weight_norms).empty()) << both.messages;
}

TEST(Run, WatchesInAContainerWithoutProc) {
  const fs::path folder = fresh_folder();
  // LibTorch itself needs this file.
  const std::string container =
      "unshare -m sh -c 'cat /proc/cpuinfo > cpuinfo; umount -l /proc && mount -t tmpfs none /proc && cp cpuinfo "
      "/proc/cpuinfo && exec ";
  if (run(container + "true'", folder).exit_code != 0) GTEST_SKIP() << "only root can create such a container";
  const Finished alone = run(trainers + " mlp", folder);
  const Finished watched = run(container + loupe_command + " run " + trainers + " mlp 2> watched.txt'", folder);
  // Libraries that LibTorch loads may print warnings first.
  EXPECT_TRUE(watched.output.ends_with(alone.output)) << watched.output << text_of(folder / "watched.txt");
  Recorded recorded = read_record(folder / "loupe-runs" / "trainers" / "record.jsonl");
  EXPECT_EQ(recorded.layers(weight_norms), Names({"Net.first", "Net.second"})) << text_of(folder / "watched.txt");
}

TEST(Run, PrintsOneLineAboutAProgramThatNeverTrains) {
  const Both both = run_trainer("untrained");
  expect_says(both, "created no optimizer of LibTorch's");
  EXPECT_EQ(std::count(both.messages.begin(), both.messages.end(), '\n'), 1) << both.messages;
  EXPECT_FALSE(fs::exists(both.folder / "loupe-runs"));
}

TEST(Run, ShowsAProgramThatOnlyMakesForwards) {
  const Both both = run_trainer("only_forwards");
  expect_silent(both, "inspector");
  expect_says(both, "not judged: any loss");
  EXPECT_FALSE(both.recorded().layers("Output Activations").empty()) << both.messages;
}

TEST(Run, PrintsNothingAboutAnEvaluationAfterTheLastEpoch) {
  const Both both = run_trainer("evaluates_last", every_step);
  expect_silent(both, "inspector");
  EXPECT_EQ(both.recorded().values["Loss"]["Loss"]["train_loss mean"].size(), 3U) << both.messages;
  EXPECT_NE(text_of(both.folder / "loupe-runs/trainers/record.jsonl").find("\"how\":\"completed\""), std::string::npos);
}

TEST(Run, ReportsThatStartedProgramsAreWatched) {
  const std::string watched = "programs that it started are watched if they train\n";
  EXPECT_NE(run_both("bash -c '/bin/true; exit 0'").messages.find(watched), std::string::npos);
  EXPECT_EQ(run_both("bash -c 'exit 0'").messages.find(watched), std::string::npos);
}

TEST(Run, SaysOfAProgramThatNeverStepsThatItDoesNot) {
  const Both both = run_trainer("never_steps");
  expect_says(both, "no_step");
  expect_silent(both, "are not shown");
}

TEST(Run, EndsWithCodeTwoIfARequirementFails) {
  EXPECT_EQ(run_both("/bin/true").watched.exit_code, 0);
  const Both both = run_both("/bin/true", "--require");
  EXPECT_EQ(both.watched.exit_code, 2) << both.messages;
  expect_says(both, "no LibTorch");
}

TEST(Run, RunsAStaticallyLinkedProgramUnwatchedAndReportsIt) {
  const Both both = run_both(LOUPE_STATIC);
  expect_unchanged(both);
  EXPECT_EQ(both.watched.output, "ran\n");
  expect_says(both, "linked statically");
  EXPECT_EQ(run_both(LOUPE_STATIC, "--require").watched.exit_code, 2);
}

TEST(Run, RunsAProgramUnwatchedWithAPreloadedSanitizerAndSaysSo) {
  for (const std::string& runtime : {LOUPE_ASAN, LOUPE_TSAN}) {
    const std::string preloaded = "LD_PRELOAD=" + runtime;
    const Both both = run_trainer("mlp", "", preloaded);
    EXPECT_EQ(both.watched.exit_code, 0) << both.messages;
    expect_says(both, "a sanitizer");
    expect_says(both, "runs unwatched");
    EXPECT_EQ(run_both(trainers + " mlp", "--require", preloaded).watched.exit_code, 2);
  }
}

TEST(Run, KeepsWhatTheUserPreloadsBeforeItsOwnLibrary) {
  const Both both = run_trainer("mlp", "", "LD_PRELOAD=" + LOUPE_UBSAN);
  EXPECT_TRUE(fs::exists(both.folder / "loupe-runs/trainers/record.jsonl")) << both.messages;
  const Both shown = run_both("/bin/sh -c 'echo $LD_PRELOAD'", "", "LD_PRELOAD=" + LOUPE_UBSAN);
  EXPECT_EQ(shown.watched.output, LOUPE_UBSAN + ":" + LOUPE_RUN_LIBRARY + "\n");
}

TEST(Run, LeavesTheExitCodeOfAProgramThatIsBuiltWithASanitizer) {
  const Both shared = run_both(LOUPE_SMALL + "/small_sanitized");
  expect_unchanged(shared);
  expect_says(shared, "built with a sanitizer");
  // LeakSanitizer guesses the thread-local variables of a library that is loaded late, and may crash there.
  const Both within =
      run_both(LOUPE_SMALL + "/small_sanitized_statically", "", "ASAN_OPTIONS=intercept_tls_get_addr=0");
  expect_unchanged(within);
  expect_silent(within, "LeakSanitizer");
}

TEST(Run, ReportsLibrariesThatAreLoadedAroundIt) {
  const std::string program = LOUPE_APART + " " + LOUPE_OTHER + "/libtorch_cpu.so.99 ";
  for (const auto& [how, what] : {std::pair("dlmopen", "loaded LibTorch by dlmopen, into a namespace"),
                                  std::pair("deep", "loaded by RTLD_DEEPBIND, which bypasses Loupe")}) {
    const Both both = run_both(program + how);
    expect_unchanged(both);
    EXPECT_EQ(both.watched.output, "loaded\n");
    expect_says(both, what);
    EXPECT_EQ(std::count(both.messages.begin(), both.messages.end(), '\n'), 1) << both.messages;
  }
}

TEST(Run, LetsTwoPreloadedInstallationsBothPassCallsOn) {
  const std::string both = "LD_PRELOAD='" + LOUPE_RUN_LIBRARY + " " + LOUPE_OTHER + "/libloupe_run.so' timeout 60 ";
  const Finished finished = run(both + LOUPE_APART + " " + LOUPE_OTHER + "/libtorch_cpu.so.99 late", fresh_folder());
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_NE(finished.output.find("loaded\ntrains\n"), std::string::npos) << finished.output;
}

TEST(Run, NeverLoadsALoupeThatWasBuiltWithAnotherLibTorch) {
  const fs::path folder = fresh_folder();
  const std::string preloaded = "LD_PRELOAD=" + LOUPE_OTHER + "/libloupe_run.so ";
  const Finished alone = run(trainers + " mlp", folder);
  const Finished unwatched = run(preloaded + trainers + " mlp", folder);
  EXPECT_EQ(unwatched.exit_code, 0);
  EXPECT_NE(unwatched.output.find("'libtorch_cpu.so.99'"), std::string::npos) << unwatched.output;
  EXPECT_NE(unwatched.output.find("the program loads LibTorch " LOUPE_LOADED_LIBTORCH), std::string::npos)
      << unwatched.output;
  EXPECT_NE(unwatched.output.find("LOUPE_RUN_HOSTS"), std::string::npos) << unwatched.output;
  EXPECT_NE(unwatched.output.find(alone.output), std::string::npos) << unwatched.output;
  const Finished required = run(preloaded + "LOUPE_RUN_REQUIRE=1 " + trainers + " mlp", folder);
  EXPECT_EQ(required.exit_code, 2) << required.output;
  EXPECT_FALSE(fs::exists(folder / "loupe-runs"));
}

TEST(Run, ChoosesTheLoupeThatWasBuiltWithTheProgramsLibTorch) {
  const fs::path folder = fresh_folder();
  const Finished finished =
      run("LD_PRELOAD=" + LOUPE_OTHER + "/libloupe_run.so LOUPE_RUN_HOSTS=/nowhere:" + LOUPE_HOST_FOLDER + " " +
              trainers + " mlp",
          folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_TRUE(fs::exists(folder / "loupe-runs/trainers/record.jsonl")) << finished.output;
}

TEST(Run, DoesNotBreakPython) {
  const Both both = run_both("python3 -c 'print(6 * 7)'");
  expect_unchanged(both);
  EXPECT_EQ(both.watched.output, "42\n");
}

TEST(Run, ReportsMistakesBeforeTheProgramStarts) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "bad.yaml") << "loupe: 1\nrun_program: {epoch: 7 apples, loss: [a, a], modls: [Net]}\n";
  const Finished bad = run(loupe_command + " run --config bad.yaml -- " + trainers + " mlp", folder);
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.output.find("bad.yaml:2:"), std::string::npos) << bad.output;
  EXPECT_NE(bad.output.find("modls"), std::string::npos) << bad.output;
  EXPECT_EQ(bad.output.find("weights"), std::string::npos) << bad.output;
  EXPECT_EQ(run(loupe_command + " run ./nowhere", folder).exit_code, 127);
  EXPECT_EQ(run(loupe_command + " run", folder).exit_code, 2);
}

TEST(Run, RunsUnwatchedWithAWrongConfigurationIfOnlyPreloaded) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "bad.yaml") << "loupe: 1\nrun_program: {epoch: 7 apples}\n";
  const Finished alone = run(trainers + " mlp", folder);
  const std::string preloaded = "LD_PRELOAD=" + LOUPE_RUN_LIBRARY + " LOUPE_RUN_CONFIG=bad.yaml ";
  const Finished finished = run(preloaded + trainers + " mlp", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_NE(finished.output.find("epoch cannot be '7 apples'"), std::string::npos) << finished.output;
  EXPECT_NE(finished.output.find(alone.output), std::string::npos) << finished.output;
}

TEST(Run, LetsAConfigurationCorrectAGuess) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml")
      << "loupe: 1\nrun: {name: mine, dir: mine}\nrun_program: {epoch: 2 steps, models: [Critic], loss: [real, '-']}\n"
      << "lenses: [loss_metrics, gradient_geometry]\nvisualizers: [record]\n";
  const Finished finished = run(loupe_command + " run --config monitor.yaml -- " + trainers + " gan", folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  Recorded recorded = read_record(folder / "mine" / "record.jsonl");
  EXPECT_EQ(recorded.layers(weight_norms), (Names{"Critic.first", "Critic.second"})) << finished.output;
  EXPECT_EQ(recorded.values["Loss"]["Loss"]["real mean"].size(), 3u) << finished.output;
  EXPECT_EQ(recorded.values["Loss"]["Loss"].count("train_loss#2 mean"), 0u) << finished.output;
}

TEST(Run, UsesTheTicksOfTheConfiguration) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {name: mine, dir: mine, tick: {steps: 2}}\n"
                                         << "lenses: [loss_metrics]\nvisualizers: [record]\n";
  const Finished finished = run(loupe_command + " run --config monitor.yaml -- " + trainers + " gan 2>&1", folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_NE(finished.output.find("an epoch is 2 steps"), std::string::npos) << finished.output;
  EXPECT_EQ(finished.output.find("train() is called again"), std::string::npos) << finished.output;
  Recorded recorded = read_record(folder / "mine" / "record.jsonl");
  EXPECT_EQ(recorded.values["Loss"]["Loss"]["Critic loss mean"].size(), 3u) << finished.output;
}

TEST(Run, HasOneClockIfTicksAndEpochsAreConfigured) {
  const auto epochs_of = [](const std::string& tick, const std::string& section, const std::string& warning) {
    const fs::path folder = fresh_folder();
    std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {name: mine, dir: mine, tick: {" << tick << "}}\n"
                                           << section << "lenses: [loss_metrics]\nvisualizers: [record]\n";
    const Finished finished = run(loupe_command + " run --config monitor.yaml -- " + trainers + " gan 2>&1", folder);
    EXPECT_NE(finished.output.find(warning), std::string::npos) << finished.output;
    const std::string record = text_of(folder / "mine" / "record.jsonl"), tick_line = R"("kind":"tick")";
    std::size_t ticks = 0;
    for (auto at = record.find(tick_line); at != std::string::npos; at = record.find(tick_line, at + 1)) ++ticks;
    return ticks;
  };
  EXPECT_EQ(epochs_of("steps: 2", "run_program: {epoch: 3 steps}\n", "run.tick is ignored"), 2u);
  EXPECT_EQ(epochs_of("steps: 2, of: Critic", "", "run.tick.of is ignored"), 3u);
}

TEST(Run, LetsAConsoleWriteToStandardErrorByDefault) {
  const fs::path folder = fresh_folder();
  const Finished alone = run(trainers + " epochs 2> /dev/null", folder);
  const auto output_with = [&](const std::string& console) {
    std::ofstream(folder / "monitor.yaml")
        << "loupe: 1\nlenses: [loss_metrics]\nvisualizers: [record, " << console << "]\n";
    return run(loupe_command + " run --config monitor.yaml -- " + trainers + " epochs 2> told", folder).output;
  };
  EXPECT_EQ(output_with("console"), alone.output);
  EXPECT_EQ(output_with("console: {color: never}"), alone.output);
  EXPECT_NE(text_of(folder / "told").find("train_loss"), std::string::npos);
  EXPECT_NE(output_with("console: {to: stdout}"), alone.output);
}

TEST(Run, UsesTheGivenNamesOfARunAndItsFolder) {
  const fs::path folder = fresh_folder();
  for (const char* name : {"rate-0.1", "rate-0.2"}) {
    const Finished finished =
        run(loupe_command + " run --name " + name + " --out sweep -- " + trainers + " mlp", folder);
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    EXPECT_TRUE(fs::exists(folder / "sweep" / name / "record.jsonl")) << finished.output;
  }
  const Finished wrong = run(loupe_command + " run --name ../up -- " + trainers + " mlp", folder);
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_NE(wrong.output.find("the name of a folder"), std::string::npos) << wrong.output;
}

TEST(Run, GoesOnCountingEpochsWhereTheRecordEnds) {
  const fs::path folder = fresh_folder();
  const auto epochs = [&](const std::string& file) {
    std::vector<int> numbers;
    std::ifstream record(folder / "mine" / file);
    const std::string tick = R"({"kind":"tick","epoch":)";
    for (std::string line; std::getline(record, line);) {
      if (line.rfind(tick, 0) == 0) numbers.push_back(std::stoi(line.substr(tick.size())));
    }
    return numbers;
  };
  const auto steps_of_ticks = [&](const std::string& file) {
    std::vector<int> numbers;
    std::ifstream record(folder / "mine" / file);
    for (std::string line; std::getline(record, line);) {
      const std::size_t at = line.find(R"("step":)");
      if (line.rfind(R"({"kind":"tick")", 0) == 0 && at != std::string::npos)
        numbers.push_back(std::stoi(line.substr(at + 7)));
    }
    return numbers;
  };
  const auto train = [&](const std::string& more) {
    std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {resume: true, dir: mine}\nrun_program: {epoch: 2 steps"
                                           << more << "}\nlenses: [loss_metrics]\nvisualizers: [record]\n";
    return run(loupe_command + " run --config monitor.yaml -- " + trainers + " gan", folder);
  };
  EXPECT_EQ(train("").exit_code, 0);
  const std::vector<int> first = epochs("record.jsonl");
  ASSERT_GT(first.size(), 1u);
  const std::string text = text_of(folder / "mine/record.jsonl");
  EXPECT_NE(text.find(R"("reason":"steps","incomplete":false)"), std::string::npos) << text;
  const Finished second = train("");
  const std::vector<int> steps = steps_of_ticks("record.jsonl");
  EXPECT_EQ(std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()), steps.end()) << "steps go on, too";
  std::vector<int> all = first;
  for (std::size_t i = 0; i < first.size(); ++i) all.push_back(first.back() + 1 + static_cast<int>(i));
  EXPECT_EQ(epochs("record.jsonl"), all) << second.output;
  EXPECT_FALSE(fs::exists(folder / "mine/older-1")) << second.output;

  const Finished again = train(", first_epoch: 2");
  EXPECT_EQ(epochs("older-1/record.jsonl"), all) << again.output;
  EXPECT_EQ(epochs("record.jsonl").size(), first.size() + 1) << again.output;
  EXPECT_NE(again.output.find("the complete earlier file is kept as"), std::string::npos) << again.output;
}

}  // namespace
}  // namespace loupe::test
