// made_events FOLDER: writes the event files that tensorboard_reads.py reads. Every number depends on its epoch only.
#include "paths.h"
#include "visualizers/driver.h"

#include <cmath>
#include <cstdio>

using loupe::test::Driver;

namespace {

constexpr const char* CONFIG =
    "loupe: 1\nrun: {name: digits, dir: runs/digits}\nattach: {every: 2}\nlenses:\n  - parameter_difference\n  - "
    "output_norm: {line: [mean, max], log_scale: true}\n"
    "visualizers: [tensorboard]\n";

void begin(Driver& board, const std::string& directory, const std::string& name, bool resumed) {
  board.begin(Driver::run_of(directory, resumed, name, CONFIG));
  board.model("net", 10);
  board.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
  board.tag("Norm");
  board.tag("Weights");
}

/// @param offset makes the numbers of this process differ from those of another process
void tick(Driver& board, double epoch, double offset) {
  board.begin_tick(epoch);
  board.value("Loss", "Loss", "train_loss mean", offset + 1 / (epoch + 1));
  board.range("Loss", "Loss", "train_loss min", "train_loss max", offset + 0.5 / (epoch + 1), offset + 2 / (epoch + 1));
  board.value("Loss", "Loss", "val_loss mean", offset + 3 / (epoch + 1));
  board.value("Norm", "features.0 (conv)", "mean", epoch == 2 ? NAN : offset + epoch * epoch);
  board.range("Norm", "features.0 (conv)", "min", "max", offset - epoch, offset + 2 * epoch * epoch);
  if (epoch >= 3) board.value("Norm", "late", "mean", offset + epoch);
  board.histogram("Weights", "features.0 (conv)", "weight", {-INFINITY, -1, 0, 1, 4, INFINITY}, {0, 2, 5, epoch, 1});
  board.end_tick();
}

/// Reports an error that is resolved after the next tick, a warning that stays open, and a note.
void tell_epoch_with_findings(Driver& board) {
  loupe_finding finding{};
  finding.struct_size = sizeof finding;
  finding.severity = LOUPE_SEVERITY_WARNING;
  finding.state = LOUPE_FINDING_RAISED;
  finding.rule = "dead_units";
  finding.layer = "features.0";
  finding.message = "40 % of the units are <b>silent</b>.";
  finding.advice = "Lower the learning rate.";
  finding.tag = "Norm";
  finding.first_step = 70;
  finding.first_epoch = finding.last_epoch = 1;
  finding.count = 3;
  board.finding(finding);
  finding.rule = "vanishing_gradient";
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.message = "The gradient vanishes.";
  finding.advice = finding.tag = nullptr;
  finding.count = 1;
  board.finding(finding);
  board.note(LOUPE_NOTE_TRAINER, "switched_the_data", 80, 1);
  tick(board, 1, 0);
  finding.state = LOUPE_FINDING_GONE;
  finding.last_epoch = 2;
  finding.last_step = 120;
  board.finding(finding);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: made_events FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  {
    Driver board(TENSORBOARD_PLUGIN, {{"bands", true}});
    begin(board, folder + "/whole", "whole", false);
    board.hyperparameter("optimizer", "Adam");
    board.hyperparameter("optimizer rate", 0.01);
    board.hyperparameter("optimizer weight decay", 0.1);
    board.hyperparameter("label", "7");
    tick(board, 0, 0);
    tell_epoch_with_findings(board);
    for (int epoch = 2; epoch < 6; ++epoch) tick(board, epoch, 0);
    board.end();
  }
  {
    Driver board(TENSORBOARD_PLUGIN, {{"bands", true}, {"steps_per_epoch", 10.0}});
    begin(board, folder + "/resumed", "resumed", false);
    for (int epoch = 0; epoch < 6; ++epoch) tick(board, epoch, 0);
  }
  {
    Driver board(TENSORBOARD_PLUGIN, {{"bands", true}, {"steps_per_epoch", 10.0}});
    begin(board, folder + "/resumed", "resumed", true);
    for (double epoch = 4; epoch < 8; epoch += 0.5) tick(board, epoch, 100);
    board.end(LOUPE_END_FAILED);
  }
  return 0;
}
