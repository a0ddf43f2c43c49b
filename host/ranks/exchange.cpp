#include "ranks/exchange.h"

#include <thread>
#include <utility>

#include "ranks/exchange_state.h"

namespace loupe {

Exchange::Exchange(ExchangeSettings settings, std::unique_ptr<MergedLenses> lenses)
    : shared_(std::make_shared<Shared>(std::move(settings))) {
  std::thread([shared = shared_, merged = std::move(lenses)]() mutable {
    run_exchange(shared, std::move(merged));
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  }).detach();
}

Exchange::~Exchange() {
  if (forks_ == forks_of_process()) finish();
}

void Exchange::add_module(const ModuleDescription& module) {
  ModuleDescription copy = module;
  // These ask the model, which the thread must not.
  copy.offers = ModuleDescription().offers;
  copy.lend = nullptr;
  const std::lock_guard lock(shared_->mutex);
  shared_->modules.push_back(std::move(copy));
}

std::unique_ptr<HeldTick> Exchange::add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) {
  const ExchangeSettings& settings = shared_->settings;
  RankMessage values;
  if (settings.shows_each) values.add_values(*own, settings.launch.rank);
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_lost) return own;
  auto tick = std::make_shared<PendingTick>(shared_->next_tick++, own->tick());
  tick->states = std::move(states);
  tick->extremes = std::move(values.extremes);
  tick->fault = std::exchange(shared_->fault, {});
  if (settings.launch.shows()) tick->own = std::move(own);
  shared_->ticks.push_back(std::move(tick));
  shared_->changed.notify_all();
  return own;
}

Exchange::Complete Exchange::take_complete() {
  if (!shared_->has_complete.exchange(false)) return {};
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->complete, {});
}

Exchange::Complete Exchange::finish() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  // The thread keeps to the limit by itself, but where the store does not answer.
  if (std::exchange(shared_->left, true)) return {};
  shared_->changed.wait_for(lock, shared_->settings.timeout + std::chrono::seconds(1), [&] { return shared_->ended; });
  Complete rest = std::exchange(shared_->complete, {});
  std::size_t alone = 0;
  for (const auto& tick : shared_->ticks) {
    if (!tick->own) continue;
    rest.ticks.push_back(std::move(tick->own));
    ++alone;
  }
  shared_->ticks.clear();
  if (alone > 0) {
    rest.log.emplace_back(LOUPE_LOG_WARNING,
                          "the last " + std::to_string(alone) +
                              " ticks show the numbers of rank 0 alone: the store of the ranks does not answer");
  }
  return rest;
}

void Exchange::tell_incident(const std::string& why) {
  const std::lock_guard lock(shared_->mutex);
  shared_->incidents.push_back(why);
  shared_->changed.notify_all();
}

void Exchange::tell_fault(const std::string& what) {
  if (shared_->settings.launch.shows()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->fault = what;
}

}  // namespace loupe
