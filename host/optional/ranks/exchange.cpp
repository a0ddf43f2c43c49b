#include "ranks/exchange.h"

#include <loupe/detail/own_thread.h>
#include <loupe/text/number_text.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "ranks/exchange_state.h"
#include "ranks/rank_processes.h"

namespace loupe {
Exchange::Exchange(ExchangeSettings settings, std::unique_ptr<MergedLenses> lenses)
    : shared_(std::make_shared<Shared>(std::move(settings))) {
  try {
    std::thread([shared = shared_, merged = std::move(lenses)]() mutable {
      detail::name_own_thread("ranks");
      {
        const std::lock_guard lock(shared->mutex);
        shared->thread = static_cast<int>(::syscall(SYS_gettid));
      }
      run_exchange(shared, std::move(merged));
      const std::lock_guard lock(shared->mutex);
      shared->ended = true;
      shared->changed.notify_all();
    }).detach();
  } catch (const std::system_error& reason) {
    shared_->ended = shared_->is_lost = true;
    shared_->warn("the ranks exchange no numbers, because no thread can be started: " + reason.code().message());
  }
}

Exchange::~Exchange() {
  if (forks_ == forks_of_process()) finish();
}

void Exchange::add_module(const ModuleDescription& module) {
  ModuleDescription copy = module;
  // The original function asks the model, which the thread must not do.
  copy.offers = ModuleDescription().offers;
  copy.lend = nullptr;
  const std::lock_guard lock(shared_->mutex);
  shared_->modules.push_back(std::move(copy));
}

std::unique_ptr<HeldTick> Exchange::add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) {
  const ExchangeSettings& settings = shared_->settings;
  RankMessage values;
  if (settings.shows_each) values.add_values(*own, settings.job.rank);
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_lost) return own;
  auto tick = std::make_shared<PendingTick>(shared_->next_tick++, own->tick());
  tick->states = std::move(states);
  tick->extremes = std::move(values.extremes);
  tick->fault = std::exchange(shared_->fault, {});
  if (settings.job.shows()) tick->own = std::move(own);
  shared_->ticks.push_back(std::move(tick));
  // The first tick may be in transit. Others that are dropped here are still in the records of the ranks.
  if (shared_->ticks.size() > Shared::most_ticks && !shared_->ticks[1]->own)
    shared_->ticks.erase(shared_->ticks.begin() + 1);
  shared_->ticks_changed();
  shared_->changed.notify_all();
  return own;
}

Exchange::Complete Exchange::take_complete() {
  const auto now = Shared::Clock::now();
  const bool is_late = now.time_since_epoch().count() > shared_->first_limit;
  if (!shared_->has_complete.exchange(false) && !is_late) return {};
  const std::lock_guard lock(shared_->mutex);
  Complete complete = std::exchange(shared_->complete, {});
  for (const auto& tick : shared_->ticks) {
    if (now <= shared_->limit_of(*tick)) break;
    if (!tick->own) continue;
    if (!std::exchange(shared_->shows_alone, true))
      complete.notes.push_back("from epoch " + number_text(tick->own->tick().at.epoch) +
                               " on numbers are only from rank 0: the store of the ranks does not answer");
    complete.ticks.push_back(std::move(tick->own));
  }
  shared_->ticks_changed();
  return complete;
}

Exchange::Complete Exchange::finish() {
  std::unique_lock lock(shared_->mutex);
  if (std::exchange(shared_->finished, true)) return {};
  const auto begin = Shared::Clock::now(), limit = begin + shared_->settings.timeout + std::chrono::seconds(1);
  shared_->ending = true;
  shared_->progress = begin;
  shared_->changed.notify_all();
  // Wait in slices: the limit is not the time, but how often the thread could have run. If many ranks share few
  // processors, each may get its turn late.
  constexpr std::chrono::milliseconds slice(20);
  auto seen = begin;
  for (auto idle = slice * 0; !shared_->ended && idle < Shared::patience_at_end && Shared::Clock::now() < limit;) {
    shared_->changed.wait_for(lock, slice);
    if (std::exchange(seen, shared_->progress) != shared_->progress) {
      idle = slice * 0;
    } else if (shared_->thread != 0 && !waits_for_processor(shared_->thread)) {
      idle += slice;
    }
  }
  // From now on, objects that lenses and the log use may be destroyed.
  shared_->left = true;
  shared_->changed.wait_for(lock, shared_->settings.timeout, [&] { return !shared_->speaks; });
  Complete rest = std::exchange(shared_->complete, {});
  std::size_t alone = 0;
  for (const auto& tick : shared_->ticks) {
    if (!tick->own) continue;
    rest.ticks.push_back(std::move(tick->own));
    ++alone;
  }
  shared_->ticks.clear();
  shared_->ticks_changed();
  if (alone > 0) {
    const std::string ticks = alone == 1 ? "the last tick shows" : "the last " + std::to_string(alone) + " ticks show";
    rest.log.emplace_back(LOUPE_LOG_WARNING,
                          ticks + " only the numbers of rank 0: the store of the ranks does not answer");
  }
  return rest;
}

void Exchange::tell_incident(const std::string& why) {
  const std::lock_guard lock(shared_->mutex);
  shared_->incidents.push_back(why);
  shared_->changed.notify_all();
}

void Exchange::tell_fault(const std::string& what) {
  if (shared_->settings.job.shows()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->fault = what;
}

}  // namespace loupe
