#ifndef LOUPE_TESTS_COMMAND_RECORDED_RUN_H
#define LOUPE_TESTS_COMMAND_RECORDED_RUN_H

#include <cmath>
#include <string>
#include <vector>

#include "visualizers/driver.h"

namespace loupe::test {

struct RunToRecord {
  std::string name = "digits";
  int first_epoch = 1, last_epoch = 3;
  bool resumed = false;
  double offset = 0;  ///< added to the losses
};

/// Has the visualizer `record` write a run of every kind of tag and value, with numbers that JSON cannot hold, into
/// `folder`/record.jsonl. Returns the file's path.
inline std::string record_run(const std::string& folder, const RunToRecord& run = {}) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder, run.resumed, run.name);
  record.tag("Loss", LOUPE_TAG_NUMERICAL, true, true);
  record.tag("Rates \"q\" \u00dc\n", LOUPE_TAG_PROBABILITY);
  record.model("net", 10, "Net", 3);
  loupe_tag share{};
  share.struct_size = sizeof share;
  share.type = LOUPE_TAG_RELATION;
  share.id = "Share";
  share.big = share.annotate = 1;
  share.y_minimum = -1;
  share.y_maximum = INFINITY;
  record.tag(share);
  for (int epoch = run.first_epoch; epoch <= run.last_epoch; ++epoch) {
    if (epoch == 2) record.tag("Later", LOUPE_TAG_NUMERICAL);
    record.begin_tick(epoch);
    record.value("Loss", "Loss", "train_loss mean", run.offset + 0.1 / epoch);
    record.range("Loss", "Loss", "train_loss min", "train_loss max", -0.0, epoch == 2 ? INFINITY : 2.5);
    record.value("Rates \"q\" \u00dc\n", "conv1", "activation_rate", epoch == 2 ? NAN : 1.0 / 3);
    record.value("Share", "Share", "conv1", -INFINITY);
    record.histogram("Rates \"q\" \u00dc\n", "conv1", "output", {-INFINITY, -1, 0.5, INFINITY}, {3, 0, 1e18});
    if (epoch >= 2) record.value("Later", "conv1", "mean", 1e-300);
    record.end_tick();
  }
  record.end();
  return folder + "/record.jsonl";
}

}  // namespace loupe::test

#endif
