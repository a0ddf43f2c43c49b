#pragma once

#include "visualizers/driver.h"

#include <cstdint>
#include <functional>
#include <string>

namespace loupe::test {

/// What a run of made-up numbers is like. The numbers follow from `seed` alone.
struct MadeRun {
  std::string name = "digits";
  std::string directory;
  int epochs = 30;
  std::uint32_t seed = 1;
  double learning_rate = 0.01;  ///< the faster the loss falls
  bool resumed = false;
  int first_epoch = 0;
  int collapses_in = 1000;  ///< the epoch from which on the losses of the small run are far above what they were
  bool ends = true;
  bool breaks = true;       ///< one gradient of the small run is NaN in epoch 12
  std::string config = {};  ///< a usual one where it is empty
  /// What is told before an epoch's tick, from 0; may be empty.
  std::function<void(Driver&, int)> before_tick = {};
};

/// A net of five layers under every kind of tag: loss, metrics, activations, gradients with bands, a relation,
/// histograms.
void tell_small_run(Driver& visualizer, const MadeRun& run);
/// 500 layers, each under four tags: 20 numbers a layer and epoch. The gradient of "stage4.block7.conv2" vanishes, that
/// of "stage2.block11.conv1" explodes until it is NaN.
void tell_large_run(Driver& visualizer, const MadeRun& run);
/// Runs of the small net in which something is wrong: an error, warnings, one that is over, notes, settings; in which
/// there are warnings alone; and in which a lens has looked and found nothing.
MadeRun ill_run();
MadeRun warned_run();
MadeRun healthy_run();
/// The loss falls for ten epochs, and then jumps and stays there.
MadeRun collapsed_run();
/// Every name that a model or a user chooses holds markup, and one is no UTF-8.
void tell_hostile_run(Driver& visualizer, const MadeRun& run);

}  // namespace loupe::test
