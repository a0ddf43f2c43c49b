#ifndef LOUPE_PLUGINS_HEALTH_LIMITS_H
#define LOUPE_PLUGINS_HEALTH_LIMITS_H

#include <loupe/options.h>

namespace loupe::health {

/// Where the statistical rules begin to speak.
struct Limits {
  explicit Limits(const Options& options);
  static std::vector<Option> options();

  double vanishing_ratio, vanishing_norm;
  double exploding_ratio, exploding_factor, exploding_norm;
  double dead_share, saturated_share;
  double told_dead_share() const { return dead_share / 2; }
  double update_low, update_high;
  double variance_factor;
  double input_scale;
  double spike_factor, hard_spike_factor;
  int64_t spikes;
  double diverging_factor, overfitting_factor, oscillation;
};

}  // namespace loupe::health

#endif
