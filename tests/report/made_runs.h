#pragma once

#include "visualizers/driver.h"

#include <cstdint>
#include <functional>
#include <string>

namespace loupe::test {

/// Options of a run with made-up numbers. The seed determines the numbers.
struct MadeRun {
  std::string name = "digits";
  std::string directory;
  int epochs = 30;
  std::uint32_t seed = 1;
  double learning_rate = 0.01;  ///< a larger rate makes the loss fall faster
  bool resumed = false;
  int first_epoch = 0;
  int collapses_in = 1000;  ///< from this epoch on, the losses of the small run are far above the earlier ones
  bool ends = true;
  bool breaks = true;       ///< one gradient of the small run is NaN in epoch 12
  std::string config = {};  ///< a default one if empty
  /// Called before the tick of each epoch, counted from 0; may be empty.
  std::function<void(Driver&, int)> before_tick = {};
};

/// Shows a net of five layers with every kind of tag: loss, metrics, activations, gradients with bands, a relation,
/// histograms.
void tell_small_run(Driver& visualizer, const MadeRun& run);
/// Shows 500 layers with four tags each: 20 numbers per layer and epoch. The gradient of "stage4.block7.conv2"
/// vanishes, that of "stage2.block11.conv1" explodes until it is NaN.
void tell_large_run(Driver& visualizer, const MadeRun& run);
/// Runs of the small net. The ill run has an error, warnings, a resolved warning, notes and settings; the warned run
/// has only warnings; in the healthy run, a lens has checked the model and found nothing.
MadeRun ill_run();
MadeRun warned_run();
MadeRun healthy_run();
/// The loss falls for ten epochs, and then jumps and stays there.
MadeRun collapsed_run();
/// Every name that a model or a user chooses contains markup, and one is not UTF-8.
void tell_hostile_run(Driver& visualizer, const MadeRun& run);

}  // namespace loupe::test
