#include "health/rules/speed.h"

#include <algorithm>

namespace loupe::health {

void Speed::add(const Step& step) {
  if (step.on_device != is_of_device()) {
    last_.clear();
    in_stretch_.clear();
    stretches_.clear();
  }
  last_.push_back(step);
  if (last_.size() > most) last_.pop_front();
  if (epochs_ > 0) in_stretch_.push_back(step);
}

void Speed::end_epoch() {
  ++epochs_;
  if (in_stretch_.size() < in_stretch) return;
  const auto least = [&](double Step::*part) {
    const auto quickest = std::min_element(in_stretch_.begin(), in_stretch_.end(),
                                           [&](const Step& a, const Step& b) { return a.*part < b.*part; });
    return (*quickest).*part;
  };
  stretches_.push_back(
      {epochs_, least(&Step::waiting), least(&Step::forward), least(&Step::backward), least(&Step::optimizer)});
  if (stretches_.size() > most_stretches) stretches_.pop_front();
  in_stretch_.clear();
}

Speed::Step Speed::usual() const {
  Step mean;
  if (last_.size() < enough) return mean;
  std::vector<Step> steps(last_.begin(), last_.end());
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.waiting < b.waiting; });
  steps.resize(steps.size() - steps.size() / enough);
  for (const Step& step : steps) {
    mean.waiting += step.waiting;
    mean.forward += step.forward;
    mean.backward += step.backward;
    mean.optimizer += step.optimizer;
    mean.other += step.other;
  }
  const auto count = static_cast<double>(steps.size());
  return {mean.waiting / count,   mean.forward / count, mean.backward / count,
          mean.optimizer / count, mean.other / count,   last_.back().on_device};
}

}  // namespace loupe::health
