#include "health/rules/speed.h"

#include <loupe/text/number_text.h>

#include <algorithm>

#include "health/rules/rule.h"

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
    const auto quickest =
        std::ranges::min_element(in_stretch_, [&](const Step& a, const Step& b) { return a.*part < b.*part; });
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
  std::ranges::sort(steps, {}, &Step::waiting);
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

namespace {

/// Waits shorter than `least` are not worth fixing, and may be pauses of the machine.
void judge_input_bound(const Judge& judge, const Situation& situation) {
  constexpr double least = 1e-3;
  const Speed::Step usual = situation.speed->usual();
  const double share = usual.all() > 0 ? usual.waiting / usual.all() : 0;
  if (share <= judge.limit("waiting_share") || usual.waiting < least) return;
  judge.tell({.value = share, .threshold = judge.limit("waiting_share")},
             sentence(percent(share), " of each step is spent waiting for data before its forward: ",
                      duration_text(usual.waiting), " of ", duration_text(usual.all())));
}

/// Inputs that grow intentionally, as in a curriculum, also make the forward slower.
void judge_slowdown(const Judge& judge, const Situation& situation) {
  constexpr std::size_t rises = 6;
  constexpr double each_rise = 1.03, forward_rise = 1.2, least = 1e-3;
  const auto& stretches = situation.speed->stretches();
  if (stretches.size() < rises + 1) return;
  const auto first = stretches.end() - static_cast<std::ptrdiff_t>(rises + 1);
  for (auto each = first; each + 1 != stretches.end(); ++each) {
    if (!((each + 1)->rest() > each_rise * each->rest())) return;
  }
  const Speed::Stretch &before = *first, &now = stretches.back();
  const double factor = (now.rest() + now.forward) / (before.rest() + before.forward);
  if (factor < judge.limit("slower_factor") || now.rest() - before.rest() < least) return;
  if (now.forward > forward_rise * before.forward) return;
  struct Part {
    double growth;
    const char* name;
  };
  const Part parts[] = {{now.waiting - before.waiting, "waiting for data"},
                        {now.backward - before.backward, "the loss and the backward pass"},
                        {now.optimizer - before.optimizer, "the optimizer's step"}};
  const Part& most = *std::ranges::max_element(parts, {}, &Part::growth);
  judge.tell({.value = factor, .threshold = judge.limit("slower_factor")},
             sentence("steps become slower with each epoch: from ", duration_text(before.rest() + before.forward),
                      " in epoch ", before.last_epoch, " to ", duration_text(now.rest() + now.forward), " in epoch ",
                      now.last_epoch, ", mostly in ", most.name));
}

}  // namespace

std::vector<Rule> speed_rules() {
  return {
      {.name = "input_bound",
       .tag = "Step Time",
       .help = "warning; most of a step is spent waiting for data",
       .remedy = "give the data loader more workers (DataLoaderOptions().workers(4)), or preprocess the data once, "
                 "before training",
       .looks = {{When::speed, &judge_input_bound}},
       .limits = {{"waiting_share", 0.5, "share of a step spent waiting for data, above which that is reported", 0.0,
                   1.0}},
       .example = R"(-auto options = torch::data::DataLoaderOptions().batch_size(64);
-// No worker: each step waits until its batch is read.
+auto options =
+    torch::data::DataLoaderOptions().batch_size(64).workers(4);)"},
      {.name = "slower_each_epoch",
       .tag = "Step Time",
       .help = "warning; steps take longer in each epoch, though the model's forward does not",
       .remedy = "look for what grows from epoch to epoch: a list that is searched or copied, a graph carried on "
                 "without detach(), a hook or file that is added to",
       .looks = {{When::speed, &judge_slowdown}},
       .limits = {{"slower_factor", 1.5, "a step's time over its time before the growth, above which that is reported",
                   1.0}},
       .example = R"(-// Copies all losses so far in each step.
-losses = torch::cat({losses, loss.detach().view(1)});
+std::vector<double> losses;
+losses.push_back(loss.item<double>());)"},
  };
}

}  // namespace loupe::health
