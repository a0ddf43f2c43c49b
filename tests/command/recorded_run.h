#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "paths.h"
#include "visualizers/driver.h"
#include "visualizers/made_model.h"

namespace loupe::test {

struct RunToRecord {
  std::string name = "digits";
  int first_epoch = 1, last_epoch = 3;
  bool resumed = false;
  double offset = 0;                   ///< added to the losses
  bool healthy = true;                 ///< otherwise it has findings and notes, in ticks and between them
  uint32_t end = LOUPE_END_COMPLETED;  ///< 0: it is killed
  double rate = 0.1;                   ///< a setting
  std::string loss = "train_loss";     ///< the name of the training loss
};

/// The output of a command, without the lines about written files.
inline std::string said_beside_files(const std::string& output) {
  std::string said;
  for (std::size_t at = 0, end; at < output.size(); at = end) {
    end = std::min(output.find('\n', at), output.size() - 1) + 1;
    if (output.compare(at, 6, "wrote ") != 0) said += output.substr(at, end - at);
  }
  return said;
}

/// Reports an error that stays to the end, a warning that is resolved, and a note, around the tick of an epoch.
inline void tell_findings(Driver& record, int epoch) {
  Finding error = a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss \"train\" is NaN");
  error.value = NAN;
  error.threshold = INFINITY;
  error.last_epoch = epoch + 1;
  error.count = static_cast<uint64_t>(epoch);
  if (epoch > 1) error.state = LOUPE_FINDING_CHANGED;
  if (epoch == 2) tell_note(record, LOUPE_NOTE_TRAINER, "a new\nphase", 3);
  tell(record, error, "", "the lens 'health'");
}

/// Makes the visualizer `record` write a run with every kind of tag and value, and with numbers that JSON cannot hold,
/// into `folder`/record.jsonl. Returns the file's path.
inline std::string record_run(const std::string& folder, const RunToRecord& run = {}) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder, run.resumed, run.name);
  record.tag("Loss", LOUPE_SCALE_NUMERICAL, true, true);
  record.tag("Rates \"q\" \u00dc\n", LOUPE_SCALE_PROBABILITY);
  record.model(
      MadeModel("net", "Net",
                {{"", "Net", {}, false}, {"fc", "Linear", {{2, 4}, {2}}}, {"scale", "Scale", {{}}}, {"relu", "ReLU"}})
          .told());
  record.hyperparameter("optimizer.lr", run.rate);
  loupe_tag share{};
  share.struct_size = sizeof share;
  share.type = LOUPE_SCALE_RELATION;
  share.id = "Share";
  share.flags = LOUPE_TAG_BIG | LOUPE_TAG_ANNOTATE | LOUPE_TAG_HAS_MINIMUM | LOUPE_TAG_HAS_MAXIMUM;
  share.y_minimum = -1;
  share.y_maximum = INFINITY;
  share.title = "Share of the \"whole\"";
  share.unit = "%";
  share.description = "how much it is";
  share.healthy = "near 1";
  share.advice = "train on";
  record.tag(share);
  for (int epoch = run.first_epoch; epoch <= run.last_epoch; ++epoch) {
    if (epoch == std::max(2, run.first_epoch)) record.tag("Later", LOUPE_SCALE_NUMERICAL);
    record.begin_tick(epoch);
    Finding warning = a_finding("dead_units", LOUPE_SEVERITY_WARNING, "half of conv1 is silent");
    warning.value = 0.5;
    warning.threshold = 0.1 + 0.2;
    warning.advice = "lower the learning rate";
    if (!run.healthy && epoch == 1) tell(record, warning, "conv1");
    record.value("Loss", "Loss", run.loss + " mean", run.offset + 0.1 / epoch, 96);
    record.range("Loss", "Loss", "train_loss min", "train_loss max", -0.0, epoch == 2 ? INFINITY : 2.5, 96);
    record.value("Rates \"q\" \u00dc\n", "conv1", "activation_rate", epoch == 2 ? NAN : 1.0 / 3);
    record.value("Share", "Share", "conv1", -INFINITY);
    record.histogram("Rates \"q\" \u00dc\n", "conv1", "output", {-INFINITY, -1, 0.5, INFINITY}, {3, 0, 1e18}, 5);
    if (epoch >= 2) record.value("Later", "conv1", "mean", 1e-300);
    if (!run.healthy && epoch == 2) tell(record, gone(warning), "conv1");
    record.end_tick();
    if (!run.healthy) tell_findings(record, epoch);
  }
  record.flush();
  if (run.end != 0) tell_end(record, run.end, run.last_epoch, run.healthy ? nullptr : "the disk is full");
  return folder + "/record.jsonl";
}

}  // namespace loupe::test
