#include "health/limits.h"

namespace loupe::health {

std::vector<Option> Limits::options() {
  return {
      {"vanishing_ratio", 1e-3, "first layer's gradient norm over the last's, below which it vanishes (AutoTrainer)",
       0.0},
      {"vanishing_norm", 1e-4, "and its own norm, below which that is an error rather than a warning (AutoTrainer)",
       0.0},
      {"exploding_ratio", 70.0, "the same ratio above which gradients explode (AutoTrainer)", 1.0},
      {"exploding_factor", 10.0, "a gradient norm over the largest so far, above which it explodes", 1.0},
      {"exploding_norm", 1e3, "a gradient norm over the norm of its weights, above which it explodes", 0.0},
      {"dead_share", 0.5,
       "share of a layer's units silent for a whole window that is an error; half of it is told as information", 0.0,
       1.0},
      {"saturated_share", 0.5, "share of a tanh's or sigmoid's outputs pressed to the bounds", 0.0, 1.0},
      {"update_low", 1e-6,
       "update norm over parameter norm, below which hardly anything is learned; the usual range is "
       "1e-4 to 1e-2 (Karpathy, CS231n: 1e-3)",
       0.0},
      {"update_high", 0.1, "the same, above which steps are too large", 0.0},
      {"variance_factor", 10.0,
       "factor a layer by which the outputs' variance grows at the first step; three times as much if it shrinks", 1.0},
      {"input_scale", 10.0, "root mean square of the model's input, above which it is not normalized", 0.0},
      {"spike_factor", 2.0, "a loss over the mean of those before, above which it spikes when it stays so", 1.0},
      {"spikes", 5, "how many in a row", 1, 1e6},
      {"hard_spike_factor", 10.0, "a loss over the largest of the last 100, above which it spikes at once", 1.0},
      {"diverging_factor", 2.0, "an epoch's loss over the lowest epoch's so far, above which it diverges", 1.0},
      {"overfitting_factor", 1.1, "an epoch's validation loss over the lowest so far, while the training loss falls",
       1.0},
      {"oscillation", 0.5,
       "mean change from one loss to the next over their mean, above which it oscillates; above the loss's start "
       "0.6 times that",
       0.0},
  };
}

Limits::Limits(const Options& options)
    : vanishing_ratio(options.get<double>("vanishing_ratio")),
      vanishing_norm(options.get<double>("vanishing_norm")),
      exploding_ratio(options.get<double>("exploding_ratio")),
      exploding_factor(options.get<double>("exploding_factor")),
      exploding_norm(options.get<double>("exploding_norm")),
      dead_share(options.get<double>("dead_share")),
      saturated_share(options.get<double>("saturated_share")),
      update_low(options.get<double>("update_low")),
      update_high(options.get<double>("update_high")),
      variance_factor(options.get<double>("variance_factor")),
      input_scale(options.get<double>("input_scale")),
      spike_factor(options.get<double>("spike_factor")),
      hard_spike_factor(options.get<double>("hard_spike_factor")),
      spikes(options.get<int64_t>("spikes")),
      diverging_factor(options.get<double>("diverging_factor")),
      overfitting_factor(options.get<double>("overfitting_factor")),
      oscillation(options.get<double>("oscillation")) {}

}  // namespace loupe::health
