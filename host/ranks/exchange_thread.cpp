// The thread on which the processes of a run exchange their numbers.

#include <loupe/detail/rank_list.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "ranks/exchange_state.h"
#include "ranks/missing_ranks.h"
#include "ranks/rank_tree.h"

namespace loupe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string nonce() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

std::string seconds_text(milliseconds time) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, static_cast<double>(time.count()) / 1000).ptr};
}

class ExchangeThread {
 public:
  ExchangeThread(Exchange::Shared& shared, std::unique_ptr<MergedLenses> lenses)
      : shared_(shared), settings_(shared.settings), launch_(settings_.launch), lenses_(std::move(lenses)) {}

  void run() {
    store_ = settings_.open();
    if (!meet()) return;
    while (work()) {
    }
    try {
      if (shows()) return store_->remove_all();
      store_->put(session_ + "-bye", std::to_string(launch_.rank), std::to_string(next_tick_));
    } catch (const std::exception&) {  // rank 0 ended before, and with it the store
    }
  }

 private:
  bool shows() const { return launch_.shows(); }
  std::string box(uint64_t tick, int to) const {
    return session_ + "-tick-" + std::to_string(tick) + "-to-" + std::to_string(to);
  }

  /// Waits at most that long for news. Returns whether the end has come.
  bool wait(milliseconds patience) {
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait_for(lock, patience,
                             [&] { return shared_.ending || !shared_.ticks.empty() || !shared_.incidents.empty(); });
    return shared_.ending;
  }

  /// Until this process knows the session that rank 0 began. False where the end comes first.
  bool meet() {
    if (shows()) {
      session_ = nonce();
      tree_.emplace(launch_.world_size, launch_.per_host);
      height_ = tree_->height();
      return true;
    }
    const std::string own = nonce(), rank = std::to_string(launch_.rank);
    store_->put("hello", rank, own);
    std::optional<Clock::time_point> end;
    for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(200))) {
      if (const auto welcome = store_->read("welcome", rank)) {
        const std::size_t first = welcome->find(' '), second = welcome->find(' ', first + 1);
        if (second != std::string::npos && welcome->substr(0, first) == own) {
          session_ = welcome->substr(first + 1, second - first - 1);
          tree_.emplace(launch_.world_size, std::stoi(welcome->substr(second + 1)));
          height_ = tree_->height();
          return true;
        }
      }
      {
        const std::lock_guard lock(shared_.mutex);
        if (shared_.ending && !end) end = Clock::now() + (shared_.ticks.empty() ? milliseconds(0) : settings_.timeout);
        // They are in this process's record; what waits for a rank 0 that never comes is limited.
        while (shared_.ticks.size() > most_waiting) shared_.ticks.pop_front();
      }
      if (end && Clock::now() >= *end) return false;
      std::this_thread::sleep_for(pause);
    }
  }

  /// Rank 0: tells the session to those that ask.
  void greet() {
    if (!shows() || heard_.size() + 1 == static_cast<std::size_t>(launch_.world_size)) return;
    if (Clock::now() < next_greeting_) return;
    for (int rank = 1; rank < launch_.world_size; ++rank) {
      const std::string key = std::to_string(rank);
      if (heard_.count(rank) > 0) continue;
      if (const auto hello = store_->read("hello", key)) {
        store_->put("welcome", key, *hello + " " + session_ + " " + std::to_string(launch_.per_host));
        store_->remove("hello", key);
        greeting_pause_ = milliseconds(10);
      }
    }
    greeting_pause_ = std::min(greeting_pause_ * 2, milliseconds(500));
    next_greeting_ = Clock::now() + greeting_pause_;
  }

  /// Does what there is to do. False at the end.
  bool work() {
    greet();
    const bool all_met = !shows() || heard_.size() + 1 == static_cast<std::size_t>(launch_.world_size);
    const bool ends = wait(all_met ? milliseconds(1000) : milliseconds(20));
    look_for_incidents();
    std::deque<ModuleDescription> modules;
    std::shared_ptr<PendingTick> tick;
    {
      const std::lock_guard lock(shared_.mutex);
      modules.swap(shared_.modules);
      if (!shared_.ticks.empty()) tick = shared_.ticks.front();  // stays there until it is done
    }
    for (ModuleDescription& module : modules) lenses_->add_module(std::move(module));
    if (tick == nullptr) return !ends;
    pass_on(*tick);
    next_tick_ = tick->number + 1;
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.ticks.empty()) shared_.ticks.pop_front();
    for (auto& line : lenses_->take_log()) shared_.complete.log.push_back(std::move(line));
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
      lenses_->merge(own, false);
      lenses_->join(own, others);
      own.lenses = lenses_->take_states();
    }
    send(own);
  }

  void send(const RankMessage& message) {
    const int parent = tree_->parent(launch_.rank);
    const std::string key = std::to_string(launch_.rank);
    const std::string bytes = message.bytes(/*replicas=*/false);
    store_->put(box(message.tick, parent), key, bytes);
    sent_.emplace_back(message.tick, bytes.size());
    sent_bytes_ += bytes.size();
    // A parent may be slow. Where it is dead, messages that nobody reads must not fill the store.
    while (sent_.size() > fewest_unread && (sent_.size() > most_waiting || sent_bytes_ > most_unread_bytes)) {
      const std::string old = box(sent_.front().first, parent);
      sent_bytes_ -= sent_.front().second;
      sent_.pop_front();
      if (!store_->read(old, key)) continue;
      store_->remove(old, key);
      store_->close(old);
    }
  }

  /// The messages of the ranks behind this one. What is not there in time is left out.
  std::vector<RankMessage> receive(const PendingTick& tick) {
    std::vector<RankMessage> messages;
    std::vector<Awaited> waiting = behind(launch_.rank);
    if (waiting.empty()) return messages;
    const double share = 1.0 - static_cast<double>(tree_->depth(launch_.rank)) / (height_ + 1);
    const auto patience = std::chrono::duration_cast<Clock::duration>(settings_.timeout * share);
    for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(50))) {
      greet();
      waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                   [&](const Awaited& each) { return take(each, tick.number, messages); }),
                    waiting.end());
      follow_those_that_left(waiting, tick.number);
      const auto waited = Clock::now() - tick.added;
      // One that was late before is not waited for as long again.
      if (std::all_of(waiting.begin(), waiting.end(), [&](const Awaited& each) {
            return waited >= (late_.count(each.rank) > 0 ? patience / 10 : patience);
          }))
        break;
      std::this_thread::sleep_for(pause);
    }
    late_.clear();
    for (const Awaited& each : waiting) {
      late_.insert(each.rank);
      adopt(each.rank, tick.number, messages);
    }
    store_->close(box(tick.number, launch_.rank));
    return messages;
  }

  /// A rank whose message is awaited, and to whom it sends it.
  struct Awaited {
    int rank, to;
  };
  std::vector<Awaited> behind(int rank) const {
    std::vector<Awaited> ranks;
    for (const int child : tree_->children(rank)) ranks.push_back({child, rank});
    return ranks;
  }

  /// Those behind a rank that has ended still send to it.
  void follow_those_that_left(std::vector<Awaited>& waiting, uint64_t tick) {
    for (std::size_t i = 0; i < waiting.size();) {
      if (!has_left(waiting[i].rank, tick)) {
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
    const std::string from = box(tick, awaited.to), key = std::to_string(awaited.rank);
    const auto bytes = store_->read(from, key);
    if (!bytes) return false;
    store_->remove(from, key);
    try {
      RankMessage message = RankMessage::read(*bytes);
      if (message.tick != tick) return true;
      heard_.insert(message.ranks.begin(), message.ranks.end());
      messages.push_back(std::move(message));
    } catch (const std::exception& e) {
      if (!std::exchange(told_unreadable_, true))
        shared_.warn("the numbers of rank " + key + " cannot be read: " + e.what());
    }
    return true;
  }

  /// In the place of a rank that is late or gone: takes what was meant for it.
  void adopt(int rank, uint64_t tick, std::vector<RankMessage>& messages) {
    for (const Awaited& each : behind(rank)) {
      if (!take(each, tick, messages)) adopt(each.rank, tick, messages);
    }
  }

  bool has_left(int rank, uint64_t tick) {
    const auto last = store_->read(session_ + "-bye", std::to_string(rank));
    return last && std::stoull(*last) <= tick;
  }

  /// Rank 0: the tick as all ranks have it.
  void complete(PendingTick& tick, RankMessage own, const std::vector<RankMessage>& others) {
    lenses_->merge(own, true);
    lenses_->join(own, others);
    MergedLenses::Report merged = lenses_->report(tick.tick.get());
    const std::string note = missing_.note(own.ranks, tick.tick.get().epoch,
                                           [&](const std::set<int>& ranks) { return reasons_of(ranks, tick.number); });
    std::unique_lock lock(shared_.mutex);
    std::unique_ptr<HeldTick> held = std::move(tick.own);
    if (!held) return;  // the end did not wait for it
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

  /// Why ranks are missing.
  std::string reasons_of(const std::set<int>& missing, uint64_t tick) {
    std::vector<int> left, late;
    for (const int rank : missing) (has_left(rank, tick) ? left : late).push_back(rank);
    std::string reasons = left.empty() ? "" : detail::list_of_ranks(left) + " ended before";
    if (!late.empty()) {
      reasons += (left.empty() ? "" : "; ") + detail::list_of_ranks(late) + " did not answer within " +
                 seconds_text(settings_.timeout) + " s (it may be slow, stopped or dead)";
    }
    return reasons;
  }

  void look_for_incidents() {
    std::deque<std::string> own;
    {
      const std::lock_guard lock(shared_.mutex);
      own.swap(shared_.incidents);
    }
    const std::string where = session_ + "-incidents";
    for (; incidents_ < most_incidents; ++incidents_) {
      const std::string key = std::to_string(incidents_);
      const auto told = store_->read(where, key);
      if (!told && own.empty()) return;
      if (!told) {
        store_->put(where, key, std::to_string(launch_.rank) + " " + own.front());
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
  std::unique_ptr<MergedLenses> lenses_;
  std::unique_ptr<RankStore> store_;
  std::string session_;
  std::optional<RankTree> tree_;
  int height_ = 0;
  uint64_t next_tick_ = 0;
  std::deque<std::pair<uint64_t, std::size_t>> sent_;  // the last ticks, and how many bytes
  std::size_t sent_bytes_ = 0;
  std::set<int> heard_, late_;
  MissingRanks missing_{launch_.world_size};
  Clock::time_point next_greeting_{};
  milliseconds greeting_pause_{10};
  int incidents_ = 0;
  bool told_unreadable_ = false;
};

}  // namespace

void run_exchange(const std::shared_ptr<Exchange::Shared>& shared, std::unique_ptr<MergedLenses> lenses) {
  std::string lost;
  try {
    ExchangeThread(*shared, std::move(lenses)).run();
    return;
  } catch (const std::exception& e) {
    lost = e.what();
  }
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
}

}  // namespace loupe
