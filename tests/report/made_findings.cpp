#include "report/made_runs.h"

#include <cmath>

namespace loupe::test {

namespace {

constexpr std::uint64_t STEPS_PER_EPOCH = 60;

constexpr const char* WATCHED = R"(loupe: 1
run: {name: digits, dir: runs/digits}
lenses:
  - loss_metrics: {metrics: [accuracy]}
  - health
visualizers: [html]
)";

/// What was first seen in one epoch is told in another.
struct Told {
  uint32_t severity;
  const char *rule, *layer, *parameter, *message, *advice, *tag;
  int first_epoch;
  uint64_t count;
};

void tell(Driver& visualizer, const Told& told, int epoch, uint32_t state) {
  loupe_finding finding{};
  finding.struct_size = sizeof finding;
  finding.severity = told.severity;
  finding.state = state;
  finding.rule = told.rule;
  finding.layer = told.layer;
  finding.parameter = told.parameter;
  finding.message = told.message;
  finding.advice = told.advice;
  finding.tag = told.tag;
  finding.source = "health";
  finding.first_epoch = told.first_epoch;
  finding.last_epoch = epoch;
  finding.first_step = STEPS_PER_EPOCH * static_cast<uint64_t>(told.first_epoch) + 7;
  finding.last_step = STEPS_PER_EPOCH * static_cast<uint64_t>(epoch) + 7;
  finding.count = told.count;
  visualizer.finding(finding);
}

const Told NAN_GRADIENT = {LOUPE_SEVERITY_ERROR,
                           "non_finite_gradient",
                           "fc2",
                           "weight",
                           "The gradient of fc2.weight holds NaN or infinity in 3 of 60 steps.",
                           "Lower the learning rate or clip gradients, and look for a division or logarithm of zero.",
                           "Weight Gradient Norm",
                           12,
                           3};
const Told DEAD_UNITS = {LOUPE_SEVERITY_WARNING,
                         "dead_units",
                         "fc1",
                         nullptr,
                         "40 % of the units of fc1 are silent for every input.",
                         "Lower the learning rate, or use an activation that lets negative values through.",
                         "Output Activations",
                         20,
                         10};
const Told OVERFITTING = {LOUPE_SEVERITY_WARNING,
                          "overfitting",
                          nullptr,
                          nullptr,
                          "The validation loss has risen for 8 epochs while the training loss falls.",
                          "Stop earlier, or regularise.",
                          "Loss",
                          22,
                          8};
const Told LARGE_UPDATES = {LOUPE_SEVERITY_WARNING,
                            "large_updates",
                            "conv1",
                            "weight",
                            "The updates of conv1.weight are 5 % of its norm, 50 times the usual.",
                            "Warm up the learning rate.",
                            nullptr,
                            0,
                            4};
const Told UNUSED = {LOUPE_SEVERITY_INFO,
                     "unused_plot",
                     "no.such.layer",
                     nullptr,
                     "The layer no.such.layer has not run since epoch 2.",
                     nullptr,
                     nullptr,
                     2,
                     1};

void tell_settings(Driver& visualizer) {
  visualizer.hyperparameter("optimizer", "Adam");
  visualizer.hyperparameter("learning_rate", 0.01);
  visualizer.hyperparameter("batch_size", 64.0);
}

}  // namespace

MadeRun ill_run() {
  MadeRun run;
  run.config = WATCHED;
  run.ends = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 0) {
      tell_settings(visualizer);
      visualizer.note(LOUPE_NOTE_COST, "Every second step is looked at, to stay within the budget.", 0, 0);
      tell(visualizer, LARGE_UPDATES, 0, LOUPE_FINDING_RAISED);
    }
    if (epoch == 2) tell(visualizer, UNUSED, 2, LOUPE_FINDING_RAISED);
    if (epoch == 4) tell(visualizer, LARGE_UPDATES, 4, LOUPE_FINDING_GONE);
    if (epoch == 10) visualizer.note(LOUPE_NOTE_TRAINER, "The learning rate of Adam went from 0.01 to 0.001.", 600, 10);
    if (epoch == 12) tell(visualizer, NAN_GRADIENT, 12, LOUPE_FINDING_RAISED);
    if (epoch == 14)
      visualizer.note(LOUPE_NOTE_QUARANTINE, "The lens 'dead_units' is put aside: it divided by zero.", 840, 14);
    if (epoch == 20) tell(visualizer, DEAD_UNITS, 20, LOUPE_FINDING_RAISED);
    if (epoch == 22) tell(visualizer, OVERFITTING, 22, LOUPE_FINDING_RAISED);
    if (epoch == 25) visualizer.note(LOUPE_NOTE_TRAINER, "switched to the harder half of the data", 1500, 25);
    if (epoch == 29) tell(visualizer, DEAD_UNITS, 29, LOUPE_FINDING_CHANGED);
  };
  return run;
}

MadeRun warned_run() {
  MadeRun run;
  run.config = WATCHED;
  run.breaks = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 22) tell(visualizer, OVERFITTING, 22, LOUPE_FINDING_RAISED);
  };
  return run;
}

MadeRun healthy_run() {
  MadeRun run;
  run.config = WATCHED;
  run.breaks = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 0) tell_settings(visualizer);
  };
  return run;
}

MadeRun collapsed_run() {
  MadeRun run = healthy_run();
  run.collapses_in = 10;
  return run;
}

}  // namespace loupe::test
