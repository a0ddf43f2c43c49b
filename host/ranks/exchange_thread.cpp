// The thread on which the processes of a run exchange their numbers.

#include <loupe/files/held_signals.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "ranks/exchange_state.h"
#include "ranks/missing_ranks.h"
#include "ranks/rank_session.h"

namespace loupe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class ExchangeThread {
 public:
  ExchangeThread(Exchange::Shared& shared, MergedLenses& lenses)
      : shared_(shared), settings_(shared.settings), launch_(settings_.launch), lenses_(lenses), session_(shared) {}

  void run() {
    if (!session_.begin()) return;
    height_ = session_.tree().height();
    try {
      while (work()) {
      }
      watch_ranks(true);
    } catch (const std::exception&) {
      session_.say_goodbye(next_tick_);
      throw;
    }
    session_.say_goodbye(next_tick_);
  }

 private:
  bool shows() const { return launch_.shows(); }
  std::string box(uint64_t tick, int to) const {
    return session_.box("tick-" + std::to_string(tick) + "-to-" + std::to_string(to));
  }

  /// Waits at most that long for news. Returns whether the end has come.
  bool wait(milliseconds patience) {
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait_for(lock, patience,
                             [&] { return shared_.ending || !shared_.ticks.empty() || !shared_.incidents.empty(); });
    return shared_.ending;
  }

  /// Rank 0: tells at once of ranks that died or were stopped, as the program may wait for them for long.
  void watch_ranks(bool is_last) {
    if (!shows() || (!is_last && Clock::now() < next_watch_)) return;
    next_watch_ = Clock::now() + std::chrono::seconds(1);
    const auto news = session_.watch().news(
        session_.met(), [&](int rank) { return session_.has_left(rank, std::numeric_limits<uint64_t>::max()); },
        is_last);
    if (news.empty()) return;
    const Speaking speaking(shared_);
    for (const std::string& each : news) log(LOUPE_LOG_WARNING, each);
    const std::lock_guard lock(shared_.mutex);
    shared_.complete.told_notes.insert(shared_.complete.told_notes.end(), news.begin(), news.end());
    shared_.has_complete = true;
  }

  /// Does what there is to do. False at the end.
  bool work() {
    session_.greet();
    watch_ranks(false);
    const bool ends = wait(!shows() || session_.all_heard() ? milliseconds(1000) : milliseconds(20));
    session_.is_ending(false);
    look_for_incidents();
    std::deque<ModuleDescription> modules;
    std::shared_ptr<PendingTick> tick;
    {
      const std::lock_guard lock(shared_.mutex);
      modules.swap(shared_.modules);
      if (!shared_.ticks.empty()) tick = shared_.ticks.front();  // stays there until it is done
    }
    if (!modules.empty()) {
      const Speaking speaking(shared_);
      for (ModuleDescription& module : modules) lenses_.add_module(std::move(module));
    }
    if (tick == nullptr) return !ends;
    pass_on(*tick);
    next_tick_ = tick->number + 1;
    auto lines = lenses_.take_log();
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.ticks.empty()) shared_.ticks.pop_front();
    shared_.ticks_changed();
    for (auto& line : lines) shared_.complete.log.push_back(std::move(line));
    shared_.has_complete = true;
    return true;
  }

  void pass_on(PendingTick& tick) {
    RankMessage own;
    own.tick = tick.number;
    own.ranks = {launch_.rank};
    own.lenses = std::move(tick.states);
    own.extremes = std::move(tick.extremes);
    if (!tick.fault.empty()) own.faults[launch_.rank] = std::move(tick.fault);
    const std::vector<RankMessage> others = receive(tick);
    if (shows()) return complete(tick, std::move(own), others);
    if (!others.empty()) {
      const Speaking speaking(shared_);
      lenses_.merge(own, false);
      lenses_.join(own, others);
      own.lenses = lenses_.take_states();
    }
    send(own);
  }

  void send(const RankMessage& message) {
    const int parent = session_.tree().parent(launch_.rank);
    const std::string key = std::to_string(launch_.rank);
    const std::string bytes = message.bytes(/*replicas=*/false);
    session_.store().put(box(message.tick, parent), key, bytes);
    sent_.emplace_back(message.tick, bytes.size());
    sent_bytes_ += bytes.size();
    // A parent may be slow. Where it is dead, messages that nobody reads must not fill the store.
    while (sent_.size() > fewest_unread && (sent_.size() > most_waiting || sent_bytes_ > most_unread_bytes)) {
      const std::string old = box(sent_.front().first, parent);
      sent_bytes_ -= sent_.front().second;
      sent_.pop_front();
      session_.store().remove(old, key);
    }
  }

  /// The messages of the ranks behind this one. What is not there in time is left out.
  std::vector<RankMessage> receive(const PendingTick& tick) {
    std::vector<RankMessage> messages;
    std::vector<Awaited> waiting = behind(launch_.rank);
    if (waiting.empty()) return messages;
    const double share = 1.0 - static_cast<double>(session_.tree().depth(launch_.rank)) / (height_ + 1);
    const auto patience = std::chrono::duration_cast<Clock::duration>(settings_.timeout * share);
    for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(50))) {
      session_.greet();
      watch_ranks(false);
      // Before looking for messages: one that is gone has sent its last.
      session_.is_ending(true);
      const auto waited = Clock::now() - tick.added;
      const bool is_waiting = std::any_of(waiting.begin(), waiting.end(), [&](const Awaited& each) {
        return session_.is_awaited(each.rank, waited, patience);
      });
      waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                   [&](const Awaited& each) { return take(each, tick.number, messages); }),
                    waiting.end());
      follow_those_that_left(waiting, tick.number);
      if (waiting.empty() || !is_waiting) break;
      std::this_thread::sleep_for(pause);
    }
    session_.late.clear();
    for (const Awaited& each : waiting) {
      session_.late.insert(each.rank);
      adopt(each.rank, tick.number, messages);
    }
    return messages;
  }

  /// A rank whose message is awaited, and to whom it sends it.
  struct Awaited {
    int rank, to;
  };
  std::vector<Awaited> behind(int rank) const {
    std::vector<Awaited> ranks;
    for (const int child : session_.tree().children(rank)) ranks.push_back({child, rank});
    return ranks;
  }

  /// Those behind a rank that has ended still send to it.
  void follow_those_that_left(std::vector<Awaited>& waiting, uint64_t tick) {
    for (std::size_t i = 0; i < waiting.size();) {
      if (!session_.has_left(waiting[i].rank, tick)) {
        ++i;
        continue;
      }
      const std::vector<Awaited> others = behind(waiting[i].rank);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      waiting.insert(waiting.end(), others.begin(), others.end());
    }
  }

  /// Takes a rank's message if it is there.
  bool take(const Awaited& awaited, uint64_t tick, std::vector<RankMessage>& messages) {
    // Nobody sends before rank 0 has told the session. Of many ranks that never come it asks for none.
    if (shows() && session_.met().count(awaited.rank) == 0) return false;
    const std::string from = box(tick, awaited.to), key = std::to_string(awaited.rank);
    const auto bytes = session_.store().read(from, key);
    if (!bytes) return false;
    session_.store().remove(from, key);
    try {
      RankMessage message = RankMessage::read(*bytes);
      if (message.tick != tick) return true;
      session_.heard.insert(message.ranks.begin(), message.ranks.end());
      messages.push_back(std::move(message));
    } catch (const std::exception& e) {
      if (!std::exchange(told_unreadable_, true))
        shared_.warn("the numbers of rank " + key + " cannot be read: " + e.what());
    }
    return true;
  }

  /// In the place of a rank that is late or gone: takes what was meant for it.
  void adopt(int rank, uint64_t tick, std::vector<RankMessage>& messages) {
    if (shows() && session_.met().empty()) return;
    for (const Awaited& each : behind(rank)) {
      if (!take(each, tick, messages)) adopt(each.rank, tick, messages);
    }
  }

  /// Rank 0: the tick as all ranks have it.
  void complete(PendingTick& tick, RankMessage own, const std::vector<RankMessage>& others) {
    bool showed_alone = false;
    {
      const std::lock_guard lock(shared_.mutex);
      if (!tick.own) return;  // it was shown without waiting for this
      showed_alone = std::exchange(shared_.shows_alone, false);
    }
    if (showed_alone) missing_.show_rank_0_alone();
    const auto has_left_by_now = [&](int rank) { return session_.has_left(rank, tick.number); };
    std::vector<int> there = own.ranks;
    for (const RankMessage& other : others) there.insert(there.end(), other.ranks.begin(), other.ranks.end());
    const std::string note = missing_.note(std::move(there), tick.tick.get().at.epoch, [&](const std::set<int>& ranks) {
      return session_.watch().reasons(ranks, has_left_by_now);
    });
    const Speaking speaking(shared_);
    lenses_.merge(own, true);
    lenses_.join(own, others);
    MergedLenses::Report merged = lenses_.report(tick.tick.get());
    std::unique_lock lock(shared_.mutex);
    std::unique_ptr<HeldTick> held = std::move(tick.own);
    if (!held) return;
    lock.unlock();
    held->take_over(std::move(*merged.tick));
    if (settings_.shows_each) own.add_furthest_to(*held);
    lock.lock();
    TickKeeper::Complete& done = shared_.complete;
    done.ticks.push_back(std::move(held));
    for (auto& finding : merged.findings) done.findings.push_back(std::move(finding));
    if (!note.empty()) done.notes.push_back(note);
    for (const auto& [rank, fault] : own.faults) done.notes.push_back("rank " + std::to_string(rank) + ": " + fault);
  }

  void look_for_incidents() {
    std::deque<std::string> own;
    {
      const std::lock_guard lock(shared_.mutex);
      own.swap(shared_.incidents);
    }
    const std::string where = session_.box("incidents");
    for (; incidents_ < most_incidents; ++incidents_) {
      const std::string key = std::to_string(incidents_);
      const auto told = session_.store().read(where, key);
      if (!told && own.empty()) return;
      if (!told) {
        session_.store().put(where, key, std::to_string(launch_.rank) + " " + own.front());
        own.pop_front();
        continue;
      }
      const std::string rank = told->substr(0, told->find(' '));
      if (rank == std::to_string(launch_.rank)) continue;
      const std::lock_guard lock(shared_.mutex);
      shared_.complete.incidents.push_back("what rank " + rank + " found (" + told->substr(rank.size() + 1) + ")");
      shared_.has_complete = true;
    }
  }

  static constexpr std::size_t most_waiting = 64;
  static constexpr std::size_t fewest_unread = 3, most_unread_bytes = 16 << 20;
  static constexpr int most_incidents = 3;

  Exchange::Shared& shared_;
  const ExchangeSettings& settings_;
  const Launch& launch_;
  MergedLenses& lenses_;
  RankSession session_;
  int height_ = 0;
  uint64_t next_tick_ = 0;
  std::deque<std::pair<uint64_t, std::size_t>> sent_;  // the last ticks, and how many bytes
  std::size_t sent_bytes_ = 0;
  MissingRanks missing_{launch_.world_size};
  Clock::time_point next_watch_{};
  int incidents_ = 0;
  bool told_unreadable_ = false;
};

}  // namespace

void run_exchange(const std::shared_ptr<Exchange::Shared>& shared, std::unique_ptr<MergedLenses> lenses) {
  const FatalSignalsHeld held;
  std::string lost;
  try {
    try {
      ExchangeThread(*shared, *lenses).run();
    } catch (const LeftBehind&) {
      throw;
    } catch (const std::exception& e) {
      lost = e.what();
    } catch (...) {
      lost = "it gave no reason";
    }
    const Speaking speaking(*shared);
    lenses.reset();
  } catch (const LeftBehind&) {
    // Nobody may call what is the plugins' any more, not even to destroy it.
    leave_to_parent(std::shared_ptr<const MergedLenses>(std::move(lenses)));
    return;
  }
  if (lost.empty()) return;
  lost = lost.substr(0, lost.find('\n'));
  const bool shows = shared->settings.launch.shows();
  shared->warn(
      "the store through which the ranks exchange their numbers is lost: " + lost + "; from now on " +
      (shows ? "this run shows the numbers of rank 0 alone" : "the numbers of this rank are in its own record alone") +
      " (see 'ranks' in the configuration; 'loupe merge' puts the ranks together afterwards)");
  // What waits is shown as it is.
  const std::lock_guard lock(shared->mutex);
  shared->is_lost = true;
  for (const auto& tick : shared->ticks) {
    if (tick->own) shared->complete.ticks.push_back(std::move(tick->own));
  }
  shared->ticks.clear();
  shared->ticks_changed();
}

}  // namespace loupe
