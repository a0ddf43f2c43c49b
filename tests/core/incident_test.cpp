// Which of its last steps a run keeps, and when it writes them into a separate folder.

#include <gtest/gtest.h>
#include <loupe/draft/abi/tensor_math.h>
#include <loupe/finding.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "loader/component_instance.h"
#include "says.h"
#include "watched_run.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST(Incident, HoldsTheLastStepsOfAStreamTheFindingsAndTheConfiguration) {
  Watched run;
  for (int i = 0; i < 100; ++i) {
    run.it.monitor.push("train_loss", i == 99 ? NAN : i, LOUPE_EVENT_LOSS | training_pass);
    if (i == 99) run.find("dead_units");
    run.step(static_cast<float>(i));
  }
  EXPECT_EQ(folders_in(run.folder.path("run")), Texts{"incident-100"});
  const fs::path incident = run.path("incident-100");
  std::vector<Json> forwards, losses;
  for (const Json& line : lines_of(incident / "measurements.jsonl"))
    (line["stream"] == "train_loss" ? losses : forwards).push_back(line);
  ASSERT_EQ(forwards.size(), 64u);
  EXPECT_EQ(forwards.front()["stream"], "conv probe_forward");
  EXPECT_EQ(forwards.front()["step"], 37);
  EXPECT_EQ(forwards.back()["step"], 100);  // as the incident's own number
  EXPECT_EQ(forwards.back()["mean"], 99.0);
  EXPECT_EQ(forwards.back()["training"], true);
  ASSERT_EQ(losses.size(), 64u);
  EXPECT_EQ(losses.back()["value"], "NaN");
  const auto findings = lines_of(incident / "findings.jsonl");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0]["rule"], "dead_units");
  EXPECT_EQ(findings[0]["layer"], "conv");
  EXPECT_EQ(text_of(incident / "config.yaml"), run.it.monitor.config().text);
  const Json about = Json::parse(text_of(incident / "about.json"));
  EXPECT_EQ(about["how"], "finding");
  EXPECT_EQ(about["rule"], "dead_units");
  EXPECT_EQ(about["step"], 100);
}

TEST(Incident, CountsEveryNaNOfAStepAndSeparatesValidationFromTraining) {
  Watched run;
  Monitored::forward(*run.layer, {NAN, 1});
  Monitored::forward(*run.layer, {NAN, INFINITY});
  Monitored::forward(*run.layer, {2, 2}, 0);
  const auto lines = lines_of(fs::path(run.it.monitor.dump("why")) / "measurements.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["events"], 2);
  EXPECT_EQ(lines[0]["nan"], 2);
  EXPECT_EQ(lines[0]["inf"], 1);
  EXPECT_EQ(lines[0].count("mean"), 0u);
  EXPECT_EQ(lines[1]["training"], false);
  EXPECT_EQ(lines[1]["mean"], 2.0);
}

TEST(Incident, NamesTheModulesInTheirOrder) {
  Watched run;
  run.it.add("fc");
  const auto about = Json::parse(text_of(fs::path(run.it.monitor.dump("why")) / "about.json"));
  ASSERT_EQ(about["modules"].size(), 2u);
  EXPECT_EQ(about["modules"][0]["name"], "conv");
  EXPECT_EQ(about["modules"][1]["name"], "fc");
}

TEST(Incident, HasANoteWithItsFolderAndTheCommandToOpenIt) {
  Watched run("", "visualizers: [probe_visualizer]\n");
  run.find("dead_units");
  run.step();
  const std::string folder = run.path("incident-1").string();
  const Texts notes = run.it.stage.take_notes("shown ");
  const auto noted = [&](const std::string& text) { return std::count(notes.begin(), notes.end(), "shown " + text); };
  EXPECT_EQ(noted("text of a note: the last steps before the finding 'dead_units' were saved: loupe replay " + folder +
                  " (as a page with --visualizer html --out FOLDER)"),
            1);
  const uint64_t number = run.it.monitor.findings().all().at(0)->id;
  EXPECT_EQ(noted("finding of a note: " + std::to_string(number)), 1);
  EXPECT_EQ(Json::parse(text_of(fs::path(folder) / "about.json"))["finding"], number);
}

TEST(Incident, IsWrittenOnceARuleAndAtMostAsOftenAsTheRunSays) {
  Watched run(", incidents: 2");
  for (const char* rule : {"a", "a", "b", "c"}) {
    run.find(rule);
    run.step();
    run.find(rule);
    run.step();
  }
  EXPECT_EQ(folders_in(run.folder.path("run")), (Texts{"incident-1", "incident-5"}));
}

TEST(Incident, IsOfErrorsAndOfWhatOnFindingSaysDumpFor) {
  Watched plain;
  plain.find("odd", LOUPE_SEVERITY_WARNING);
  plain.step();
  EXPECT_EQ(folders_in(plain.folder.path("run")), Texts());
  Watched dumping("", "on_finding: {warning: dump}\n");
  dumping.find("hint", LOUPE_SEVERITY_INFO);
  dumping.step();
  dumping.find("odd", LOUPE_SEVERITY_WARNING);
  dumping.step();
  EXPECT_EQ(folders_in(dumping.folder.path("run")), Texts{"incident-2"});
}

TEST(Incident, OfARunWithoutFolderIsNotWritten) {
  Monitored it("lenses: [probe_lens]\n");
  it.publish({"rule", LOUPE_SEVERITY_ERROR, "text"});
  it.monitor.note_step();
  EXPECT_FALSE(fs::exists("incident-1"));
  EXPECT_EQ(it.monitor.dump("look"), "");
  EXPECT_SAYS(only(it.stage.take_messages()), "run: {dir: runs/NAME}");
}

TEST(Incident, RequestedTwiceInAStepGetsASecondFolderAndThenNoMore) {
  Watched run(", incidents: 2");
  run.step();
  EXPECT_EQ(run.it.monitor.dump("one"), run.path("incident-1"));
  EXPECT_EQ(run.it.monitor.dump("two"), run.path("incident-1-2"));
  EXPECT_EQ(Json::parse(text_of(run.path("incident-1-2/about.json")))["why"], "two");
  run.it.stage.take_messages();
  EXPECT_EQ(run.it.monitor.dump("three"), "");
  EXPECT_SAYS(only(run.it.stage.take_messages()), "raise 'incidents'");
}

TEST(Incident, OfARunThatGoesOnCountsThoseThatItKeptBefore) {
  const Folder folder;
  Texts messages;
  for (int process = 0; process < 5; ++process) {
    Layered it("run: {name: digits, dir: " + folder.path("run") +
               ", resume: true, incidents: 2}\nlenses: [probe_lens]\n");
    for (const std::string& rule : {std::string("the same"), "rule " + std::to_string(process)}) {
      it.publish({rule, LOUPE_SEVERITY_ERROR, "it is wrong"});
      it.forward({1, 1});
      it.monitor.note_step();
    }
    it.monitor.dump("look");
    messages = it.stage.take_messages();
  }
  EXPECT_EQ(folders_in(folder.path("run")), (Texts{"incident-1", "incident-2", "incident-2-2", "incident-2-3"}))
      << "two for findings, two on request";
  ASSERT_FALSE(messages.empty());
  EXPECT_SAYS(messages.back(), "raise 'incidents'");
}

TEST(Incident, ThatCannotBeWrittenIsReportedAndTrainingContinues) {
  const Folder folder;
  folder.write("file", "");
  Monitored it("run: {dir: " + folder.path("file/run") + "}\nlenses: [probe_lens]\n");
  it.add("conv");
  EXPECT_EQ(it.monitor.dump("look"), "");
  const Texts messages = it.stage.take_messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_BEGINS(messages.back(), "an incident cannot be written into run.dir: ");
  it.monitor.note_step();
}

TEST(Incident, OnAFullDiskIsReportedAsIncompleteAndTrainingContinues) {
  Watched run;
  for (int i = 0; i < 10; ++i) run.step();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{100, before.rlim_max};
  // Without this, a file over the limit would kill the process.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_EQ(run.it.monitor.dump("look"), "");
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  const std::string told = only(run.it.stage.take_messages());
  EXPECT_BEGINS(told, "an incident cannot be written into run.dir: '" + run.path("incident-10").string() +
                          "' is left incomplete: ");
  EXPECT_SAYS(told, "File too large");
  EXPECT_SAYS(told, "measurements.jsonl");
  run.step();
  EXPECT_EQ(run.it.monitor.dump("look again"), run.path("incident-11").string());
}

/// Saves tensors like the service of the LibTorch part, except that a file holds only the number of elements.
struct SavedSizes {
  SavedSizes() {
    static const loupe_tensor_service tensors = {
        .struct_size = sizeof tensors,
        .retain = [](void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error*) -> loupe_status {
          *kept = reinterpret_cast<loupe_retained*>(const_cast<loupe_tensor*>(tensor));
          return LOUPE_OK;
        },
        .release = [](void*, loupe_retained*) {},
        .view = [](void*, const loupe_retained* kept) { return reinterpret_cast<const loupe_tensor*>(kept); }};
    static const loupe_draft_tensor_file_service files = {
        .struct_size = sizeof files,
        .save = [](void*, const loupe_retained* const* kept, size_t, uint32_t, const char* path, loupe_error* error) {
          return detail::guarded(error, [&] {
            if (fs::path(path).filename() == "conv_1.bias.pt") throw Error("no room");
            std::ofstream(path) << reinterpret_cast<const loupe_tensor*>(*kept)->numel;
          });
        }};
    times_loaded = 0;
    offer_interface(LOUPE_TENSORS_ID, &tensors);
    offer_interface(LOUPE_DRAFT_TENSOR_FILES_ID, [](const char*) -> const void* {
      ++times_loaded;
      return &files;
    });
  }
  ~SavedSizes() {
    for (const char* id : {LOUPE_TENSORS_ID, LOUPE_DRAFT_TENSOR_FILES_ID})
      offer_interface(id, static_cast<const void*>(nullptr));
  }
  static inline int times_loaded = 0;
};

TEST(Incident, KeepsTheTensorsOfTheBlamedModuleIfConfigured) {
  const SavedSizes saves;
  const Folder folder;
  Monitored it("run: {dir: " + folder.path("run") + ", incident_tensors: true}\nlenses: [probe_lens]\n");
  for (const char* name : {"conv/1", "other"}) {
    ModuleDescription description;
    description.name = description.path = name;
    description.parameters = {{"weight", LOUPE_PARAMETER_TRAINABLE, {2, 3}, 6}, {"bias", 0, {3}, 3}};
    description.lend = [](const std::string& parameter, bool gradient, const ModuleDescription::Take& take) {
      if (gradient && parameter == "bias") return false;
      take(*FloatTensor({1, 2}).get());
      return true;
    };
    it.monitor.add_module(std::move(description));
  }
  Finding finding{"dead_units", LOUPE_SEVERITY_ERROR, "it is wrong"};
  finding.layer = "conv/1";
  it.publish(finding);
  it.monitor.note_step();
  const fs::path incident = folder.path("run/incident-1");
  const Json tensors = Json::parse(text_of(incident / "about.json"))["tensors"];
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0]["file"], "conv_1.weight.pt");
  EXPECT_EQ(tensors[1]["file"], "conv_1.weight.gradient.pt");
  EXPECT_EQ(tensors[2]["left_out"], "no room");
  EXPECT_EQ(text_of(incident / "conv_1.weight.pt"), "2");
}

TEST(Incident, LoadsTheTensorServiceBeforeTheProcessEnds) {
  const SavedSizes saves;
  const Folder folder;
  Monitored it("run: {dir: " + folder.path("run") + ", incident_tensors: true}\nlenses: [probe_lens]\n");
  it.monitor.note_step();
  EXPECT_EQ(SavedSizes::times_loaded, 1) << "loading a library would fail while the process ends";
}

TEST(Incident, OfARunWithoutThePluginIsNotWrittenAndAMessageReportsIt) {
  const Folder folder;
  Config config =
      Config::from_text(with_probe("run: {dir: " + folder.path("run") + "}\nlenses: [probe_lens]\n"), "a.yaml", "/");
  config.catalogue = Catalogue();
  config.catalogue.add_path(test_plugin("probe"));
  Monitored it(std::move(config));
  const std::string told = only(it.stage.take_messages());
  EXPECT_SAYS(told, "the plugin 'incidents' is missing");
  EXPECT_SAYS(told, "'incidents: 0' under run");
  it.publish({"rule", LOUPE_SEVERITY_ERROR, "text"});
  it.monitor.note_step();
  EXPECT_EQ(it.stage.take_messages(), Texts());
  EXPECT_EQ(it.monitor.dump("look"), "");
  EXPECT_SAYS(only(it.stage.take_messages()), "the plugin 'incidents' is missing");
}

TEST(Incident, OfARunThatMayWriteNoneIsNotWrittenAndTheTrainerIsTold) {
  Watched run(", incidents: 0");
  run.find("dead_units");
  run.step();
  EXPECT_EQ(run.it.monitor.dump("look"), "");
  EXPECT_SAYS(only(run.it.stage.take_messages()), "raise 'incidents'");
  EXPECT_FALSE(fs::exists(run.path("incident-1")));
}

}  // namespace
}  // namespace loupe
