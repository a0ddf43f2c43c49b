// `loupe validate` reports a configuration's faults before training does.

#include <gtest/gtest.h>

#include <fstream>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

/// Validates a file with this text in a new folder, under a relative name.
Finished validate(const std::string& yaml, const std::string& redirection = "") {
  const auto folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << yaml;
  return run(LOUPE_COMMAND + " validate monitor.yaml " + redirection, folder);
}

TEST(Validate, SaysThatACorrectFileIsValid) {
  const Finished told = validate("loupe: 1\nlenses: [loss_metrics]\nvisualizers: [console, record]\n");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output, "monitor.yaml: valid, 1 lens, 2 visualizers\n");
}

TEST(Validate, AlsoSuggestsAliasesOfALens) {
  const Finished told = validate("loupe: 1\nlenses: [gradient_geometri]\nvisualizers: [console]\n");
  EXPECT_EQ(told.output,
            "monitor.yaml:2:10: error: unknown lens 'gradient_geometri'; did you mean 'gradient_geometry'?\n");
}

TEST(Validate, KnowsWhatEachGathererNeeds) {
  const auto pipeline = [](const std::string& options) {
    return validate("lenses:\n  - pipeline: {gather: " + options + "}\n");
  };
  const Finished lacking = pipeline("optimizer_step, preprocess: parameter_norm");
  EXPECT_EQ(lacking.exit_code, 2);
  EXPECT_EQ(lacking.output,
            "monitor.yaml:2:5: error: the gatherer 'optimizer_step' needs the name of a parameter, such as 'weight' "
            "(option 'parameters')\n");
  EXPECT_EQ(pipeline("forward, parameters: weight").output,
            "monitor.yaml:2:45: error: the gatherer 'forward' takes no parameter; leave out 'weight' (option "
            "'parameters')\n");
  EXPECT_EQ(pipeline("step_gradient, parameters: [weight, bias], preprocess: parameter_norm").exit_code, 0);
  EXPECT_EQ(pipeline("attribute, parameters: running_mean, preprocess: parameter_norm").exit_code, 0);
  EXPECT_EQ(pipeline("push").exit_code, 2);
}

TEST(Validate, MakesEveryVisualizerWithoutTouchingAFile) {
  const auto folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {dir: runs/x}\nlenses: [health]\nvisualizers: [console, "
                                            "csv, html, prometheus, record, tensorboard]\n";
  const Finished told = run(LOUPE_COMMAND + " validate monitor.yaml", folder);
  EXPECT_EQ(told.output, "monitor.yaml: valid, 1 lens, 6 visualizers\n");
  int files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::recursive_directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1);
  // What only making it shows is a fault of the file.
  EXPECT_EQ(
      validate("visualizers:\n  - csv: {path: ''}\n").output,
      "monitor.yaml:2:5: error: the visualizer 'csv' cannot be created: the option 'path' is empty; name a file\n");
}

TEST(Validate, WarnsThatVisualizersWithoutALensShowNothing) {
  const Finished told = validate("loupe: 1\nvisualizers: [console]\n");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.output,
            "loupe: warning: monitor.yaml: no lens is named, so the visualizers have nothing to show; name some under "
            "lenses ('loupe list' shows all)\nmonitor.yaml: valid, 0 lenses, 1 visualizer\n");
  EXPECT_EQ(
      validate("loupe: 1\nlenses: []\nvisualizers: []\n").output.find("monitor.yaml: valid, 0 lenses, 0 visualizers\n"),
      0U);
}

TEST(Validate, WarnsOfUnlikelySettings) {
  EXPECT_EQ(validate("run: {dir: 5}\nlenses: [health]\n").output,
            "monitor.yaml: valid, 1 lens, 0 visualizers\n"
            "monitor.yaml: note: it does not say for which version it is written; begin it with 'loupe: 1'\n"
            "monitor.yaml: note: run.dir is a number, so the run goes into the folder '5'\n"
            "monitor.yaml: note: no visualizer shows or stores the run; name some, for example: visualizers: [console, "
            "record, html]\n");
}

TEST(Validate, ReportsEveryFault) {
  const Finished told = validate(
      "loupe: 1\nrun: {nam: x}\nlenses:\n  - los_metrics\n  - loss_metrics: {loss_fn: often}\nattach: {depth: -5}\n",
      ">/dev/null");
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.output,
            "monitor.yaml:2:7: error: run has no option 'nam'; did you mean 'name'?\n"
            "monitor.yaml:4:5: error: unknown lens 'los_metrics'; did you mean 'loss_metrics'?\n"
            "monitor.yaml:5:29: error: lens 'loss_metrics'.loss_fn must be true or false, not 'often'\n"
            "monitor.yaml:6:17: error: attach.depth must be between -1 and 1e+06, not -5\n");
}

TEST(Validate, RejectsAFileWithALensThatCannotStart) {
  const Finished told =
      validate("plugins: {path: " + PROBE_PLUGIN + "}\nlenses: [probe_lens: {pushes: true, measures: colour}]\n");
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_NE(told.output.find("failed at its start: the preprocessor 'probe_numbers'.measures cannot be 'colour'"),
            std::string::npos)
      << told.output;
  EXPECT_EQ(told.output.find("valid,"), std::string::npos);
}

}  // namespace
}  // namespace loupe::test
