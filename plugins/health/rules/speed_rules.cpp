// Rules about how long steps take.

#include <loupe/text/number_text.h>

#include <algorithm>

#include "health/rules/rule.h"
#include "health/rules/speed.h"

namespace loupe::health {

/// Below the limit in seconds nobody gains anything by mending it, and the machine's own pauses count for as much.
void judge_input_bound(const Judge& judge, const Moment& moment) {
  constexpr double least = 1e-3;
  const Speed::Step usual = moment.speed->usual();
  const double share = usual.all() > 0 ? usual.waiting / usual.all() : 0;
  if (share <= judge.limit("waiting_share") || usual.waiting < least) return;
  Observation seen;
  seen.at_tick = true;
  seen.value = share;
  seen.threshold = judge.limit("waiting_share");
  seen.tag = "Step Time";
  seen.message = percent(share) +
                 " of a step goes by before its forward begins, waiting for data: " + duration_text(usual.waiting) +
                 " of " + duration_text(usual.all());
  seen.advice =
      "give the data loader more workers (DataLoaderOptions().workers(4)), or do once, before training, what it does "
      "for each sample";
  judge.tell(seen);
}

/// What grows with the model's input, as in a curriculum, makes its forward slower too, and is meant.
void judge_slowdown(const Judge& judge, const Moment& moment) {
  constexpr std::size_t rises = 6;
  constexpr double each_rise = 1.03, forward_rise = 1.2, least = 1e-3;
  const auto& stretches = moment.speed->stretches();
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
  const Part& most = *std::max_element(std::begin(parts), std::end(parts),
                                       [](const Part& a, const Part& b) { return a.growth < b.growth; });
  Observation seen;
  seen.at_tick = true;
  seen.value = factor;
  seen.threshold = judge.limit("slower_factor");
  seen.tag = "Step Time";
  seen.message = "steps are slower with each epoch: what took " + duration_text(before.rest() + before.forward) +
                 " in epoch " + std::to_string(before.last_epoch) + " takes " +
                 duration_text(now.rest() + now.forward) + " in epoch " + std::to_string(now.last_epoch) +
                 ", most of it in " + most.name;
  seen.advice =
      "look for what grows from epoch to epoch: a list that is searched or copied, a graph that is carried on without "
      "detach(), a hook or a file that is added to";
  judge.tell(seen);
}

}  // namespace loupe::health
