// The thread on which the processes of a run exchange their numbers.

#include <loupe/detail/random_number.h>
#include <loupe/files/held_signals.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "core/run_folder.h"
#include "ranks/exchange_state.h"
#include "ranks/merged_lenses.h"
#include "ranks/merged_ticks.h"
#include "ranks/rank_message.h"
#include "ranks/rank_processes.h"

namespace loupe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The most ticks that wait for a rank 0 that has not come.
constexpr std::size_t most_waiting = 64;

std::string nonce() {
  return std::to_string(detail::random_number());
}

/// A whole number that another process wrote.
std::optional<uint64_t> whole_number_in(std::string_view text) {
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Lets the ranks of a run meet at a store, which may still contain data of an earlier run. On the exchange's thread.
/// Functions that use the store throw std::exception if it is lost; all may throw LeftBehind.
class RankSession {
 public:
  explicit RankSession(Exchange::Shared& shared)
      : shared_(shared), job_(shared.settings.job), watch_(job_, shared.settings.timeout) {}

  /// Opens the store and finds the session that rank 0 begins there. False if the end comes first.
  bool begin();
  /// Rank 0: sends the session to ranks that ask for it, to a limited number of them in one call.
  void greet();
  /// @param next_tick  the first one that this rank does not send
  void say_goodbye(uint64_t next_tick);
  /// Call it if no session began before the end: removes this rank's entry, which would look like a dead rank's.
  void take_back_hello();

  /// Whether the end has come; the end waits longer if this thread waits for others.
  bool is_ending(bool waits);
  /// Whether to go on waiting for the message of a rank.
  /// @param waited  the time since the tick
  bool is_awaited(int rank, Clock::duration waited, Clock::duration patience);
  /// Whether a rank has announced that it sends neither this tick nor any later one.
  bool has_left(int rank, uint64_t tick);
  /// Whether a rank that has introduced itself has announced its end, however many of its ticks came.
  bool has_ended(int rank);

  RankStore& store() { return *store_; }
  const RankTree& tree() const { return *tree_; }
  RankWatch& watch() { return watch_; }
  std::string box(const std::string& name) const { return session_ + "-" + name; }
  /// The ranks that have introduced themselves; only rank 0 has them.
  const std::set<int>& met() const { return met_; }
  /// The ranks whose messages came, and those that were late at the last tick.
  std::set<int> heard, late;
  bool all_heard() const { return heard.size() + 1 >= static_cast<std::size_t>(job_.world_size); }

 private:
  bool waits_in_vain();
  void trim_ticks();
  bool is_welcome(const std::string& text, const std::string& own);
  void begin_session(std::string session, int per_host);
  std::optional<std::string> hear_of(int rank);
  bool is_gone(int rank);

  Exchange::Shared& shared_;
  const Job& job_;
  RankWatch watch_;
  std::unique_ptr<RankStore> store_;
  std::string session_;
  std::optional<RankTree> tree_;
  std::optional<Clock::time_point> ending_since_, last_moment_;
  std::set<int> met_;
  std::map<int, std::string> greeted_;  // the entries of these ranks
  int next_greeted_ = 0;
  Clock::time_point next_greeting_{};
  std::chrono::milliseconds greeting_pause_{10};
};

bool RankSession::begin() {
  store_ = shared_.settings.open();
  const std::string own = nonce(), rank = std::to_string(job_.rank);
  store_->put("hello", rank, own + " " + RunHolder::this_process().text());
  if (job_.shows()) {
    begin_session(nonce(), job_.per_host);
    return true;
  }
  for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(200))) {
    if (const auto welcome = store_->read("welcome", rank); welcome && is_welcome(*welcome, own)) return true;
    trim_ticks();
    if (ending_since_) hear_of(0);
    if (waits_in_vain()) return false;
    std::this_thread::sleep_for(pause);
  }
}

/// Whether the end has come, and nothing is left to send to rank 0 or it no longer answers.
bool RankSession::waits_in_vain() {
  if (!is_ending(false)) return false;
  if (!last_moment_) {
    const std::lock_guard lock(shared_.mutex);
    last_moment_ = Clock::now() + (shared_.ticks.empty() ? milliseconds(0) : shared_.settings.timeout);
  }
  if (Clock::now() >= *last_moment_) return true;
  is_ending(watch_.may_come(0, false));
  return false;
}

/// Drops ticks that are too many. Their data is still in this process's record.
void RankSession::trim_ticks() {
  const std::lock_guard lock(shared_.mutex);
  while (shared_.ticks.size() > most_waiting && !shared_.ticks.front()->own) shared_.ticks.pop_front();
}

/// Reads "NONCE SESSION RANKS-PER-HOST" and begins that session. False for an invalid text or another nonce.
bool RankSession::is_welcome(const std::string& text, const std::string& own) {
  const std::size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (second == std::string::npos || text.substr(0, first) != own) return false;
  const std::string session = text.substr(first + 1, second - first - 1);
  const auto per_host = whole_number_in(std::string_view(text).substr(second + 1));
  if (session.find_first_not_of("0123456789") != std::string::npos || !per_host ||
      *per_host > static_cast<uint64_t>(job_.world_size))
    return false;
  begin_session(session, static_cast<int>(*per_host));
  return true;
}

void RankSession::begin_session(std::string session, int per_host) {
  session_ = std::move(session);
  tree_.emplace(job_.world_size, per_host);
}

void RankSession::say_goodbye(uint64_t next_tick) {
  try {
    if (job_.shows()) return store_->remove_all();
    store_->put(box("bye"), std::to_string(job_.rank), std::to_string(next_tick));
    if (hear_of(0) && is_gone(0)) store_->remove_all();  // it was killed
  } catch (const std::exception&) {                      // rank 0 ended before, and with it the store
  }
}

void RankSession::take_back_hello() {
  try {
    if (store_ != nullptr) store_->remove("hello", std::to_string(job_.rank));
  } catch (const std::exception&) {  // the store has ended, too
  }
}

/// Reads a rank's entry about its process, if there is one.
std::optional<std::string> RankSession::hear_of(int rank) {
  auto hello = store_->read("hello", std::to_string(rank));
  const std::size_t space = hello ? hello->find(' ') : std::string::npos;
  if (space == std::string::npos) return std::nullopt;
  watch_.processes().add(rank, std::string_view(*hello).substr(space + 1));
  return hello;
}

/// Whether the process of a rank is gone, and no newer process of that rank has introduced itself.
bool RankSession::is_gone(int rank) {
  if (!watch_.is_gone(rank)) return false;
  hear_of(rank);
  return watch_.is_gone(rank);
}

bool RankSession::is_ending(bool waits) {
  std::unique_lock lock(shared_.mutex);
  if (shared_.left) throw LeftBehind();
  if (waits) shared_.progress = Clock::now();
  if (!shared_.ending || ending_since_) return shared_.ending;
  ending_since_ = Clock::now();
  const uint64_t next_tick = shared_.next_tick;
  lock.unlock();
  // Do this at once: the process may end before its last tick arrives.
  if (!session_.empty() && !job_.shows()) say_goodbye(next_tick);
  return true;
}

bool RankSession::is_awaited(int rank, Clock::duration waited, Clock::duration patience) {
  const bool was_late = late.count(rank) > 0;
  if (waited >= (was_late ? patience / 10 : patience)) return false;
  if (watch_.processes().presence_of(rank) == RankProcesses::Presence::unseen) hear_of(rank);
  // A rank's entry may be left from an earlier run.
  if (!ending_since_) return (heard.count(rank) == 0 && met_.count(rank) == 0) || !is_gone(rank);
  if (watch_.may_come(rank, was_late)) return true;
  // Messages in transit still arrive.
  return Clock::now() - *ending_since_ < Exchange::Shared::patience_at_end / 4 && !is_gone(rank);
}

void RankSession::greet() {
  if (!job_.shows() || all_heard() || Clock::now() < next_greeting_) return;
  constexpr int most = 1024;
  bool is_new = false;
  for (int looked = 0; looked < std::min(most, job_.world_size - 1); ++looked) {
    const int rank = next_greeted_ = next_greeted_ + 1 < job_.world_size ? next_greeted_ + 1 : 1;
    if (heard.count(rank) > 0) continue;
    const auto hello = hear_of(rank);
    if (!hello || greeted_[rank] == *hello) continue;
    greeted_[rank] = *hello;
    if (!watch_.is_gone(rank)) met_.insert(rank);
    store_->put("welcome", std::to_string(rank),
                hello->substr(0, hello->find(' ')) + " " + session_ + " " + std::to_string(job_.per_host));
    is_new = true;
  }
  greeting_pause_ = is_new ? milliseconds(20) : std::min(greeting_pause_ * 2, milliseconds(500));
  next_greeting_ = Clock::now() + greeting_pause_;
}

bool RankSession::has_left(int rank, uint64_t tick) {
  const auto last = store_->read(box("bye"), std::to_string(rank));
  return last && whole_number_in(*last).value_or(tick + 1) <= tick;
}

bool RankSession::has_ended(int rank) {
  return store_->read(box("bye"), std::to_string(rank)) || !store_->read("hello", std::to_string(rank));
}

class ExchangeThread {
 public:
  ExchangeThread(Exchange::Shared& shared, MergedLenses& lenses)
      : shared_(shared), settings_(shared.settings), job_(settings_.job), lenses_(lenses), session_(shared) {}

  void run() {
    if (!session_.begin()) return session_.take_back_hello();
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
  bool shows() const { return job_.shows(); }
  std::string box(uint64_t tick, int to) const {
    return session_.box("tick-" + std::to_string(tick) + "-to-" + std::to_string(to));
  }

  /// Waits up to `patience` for news. Returns whether the end has come.
  bool wait(milliseconds patience) {
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait_for(lock, patience,
                             [&] { return shared_.ending || !shared_.ticks.empty() || !shared_.incidents.empty(); });
    return shared_.ending;
  }

  /// Rank 0: reports ranks that died or were stopped at once, since the program may wait for them for a long time.
  void watch_ranks(bool is_last) {
    if (!shows() || (!is_last && Clock::now() < next_watch_)) return;
    next_watch_ = Clock::now() + std::chrono::seconds(1);
    const auto news = session_.watch().news(
        session_.met(), [&](int rank) { return session_.has_ended(rank); }, is_last);
    if (news.empty()) return;
    const Speaking speaking(shared_);
    for (const std::string& each : news) log(LOUPE_LOG_WARNING, each);
    const std::lock_guard lock(shared_.mutex);
    shared_.complete.told_notes.insert(shared_.complete.told_notes.end(), news.begin(), news.end());
    shared_.has_complete = true;
  }

  /// Does all pending work. False at the end.
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
    if (shows()) finish_tick(tick->number);
    auto lines = lenses_.take_log();
    const std::lock_guard lock(shared_.mutex);
    for (auto& line : lines) shared_.complete.log.push_back(std::move(line));
    shared_.has_complete = true;
    return true;
  }

  void pass_on(PendingTick& tick) {
    RankMessage own;
    own.tick = tick.number;
    own.ranks = {job_.rank};
    own.lenses = std::move(tick.states);
    own.extremes = std::move(tick.extremes);
    if (!tick.fault.empty()) own.faults[job_.rank] = std::move(tick.fault);
    const std::vector<RankMessage> others = receive(tick);
    if (shows()) return complete(tick, std::move(own), others);
    if (!others.empty()) {
      const Speaking speaking(shared_);
      lenses_.merge(own, false);
      lenses_.join(own, others);
      own.lenses = lenses_.take_states();
    }
    // Finish it before sending: if rank 0 takes the message and ends before it answers, nothing is lost.
    finish_tick(own.tick);
    send(own);
  }

  void finish_tick(uint64_t number) {
    next_tick_ = number + 1;
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.ticks.empty()) shared_.ticks.pop_front();
    shared_.ticks_changed();
  }

  void send(const RankMessage& message) {
    const int parent = session_.tree().parent(job_.rank);
    const std::string key = std::to_string(job_.rank);
    const std::string bytes = message.bytes(/*replicas=*/false);
    session_.store().put(box(message.tick, parent), key, bytes);
    sent_.emplace_back(message.tick, bytes.size());
    sent_bytes_ += bytes.size();
    // A parent may be slow. If it is dead, unread messages must not fill the store.
    while (sent_.size() > fewest_unread && (sent_.size() > most_waiting || sent_bytes_ > most_unread_bytes)) {
      const std::string old = box(sent_.front().first, parent);
      sent_bytes_ -= sent_.front().second;
      sent_.pop_front();
      session_.store().remove(old, key);
    }
  }

  /// The messages of the ranks below this one. Late ones are dropped.
  std::vector<RankMessage> receive(const PendingTick& tick) {
    std::vector<RankMessage> messages;
    std::vector<Awaited> waiting = behind(job_.rank);
    if (waiting.empty()) return messages;
    const double share = 1.0 - static_cast<double>(session_.tree().depth(job_.rank)) / (height_ + 1);
    const auto patience = std::chrono::duration_cast<Clock::duration>(settings_.timeout * share);
    for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(50))) {
      session_.greet();
      watch_ranks(false);
      // Check this before reading messages: a dead rank has sent its last.
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

  /// A rank whose message is awaited, and the rank to which it sends the message.
  struct Awaited {
    int rank, to;
  };
  std::vector<Awaited> behind(int rank) const {
    std::vector<Awaited> ranks;
    for (const int child : session_.tree().children(rank)) ranks.push_back({child, rank});
    return ranks;
  }

  /// Ranks below a rank that has ended still send to it.
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
    // No rank sends before rank 0 has sent the session, and rank 0 does not ask for ranks that may never come.
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

  /// Replaces a rank that is late or dead: takes the messages for it.
  void adopt(int rank, uint64_t tick, std::vector<RankMessage>& messages) {
    if (shows() && session_.met().empty()) return;
    for (const Awaited& each : behind(rank)) {
      if (!take(each, tick, messages)) adopt(each.rank, tick, messages);
    }
  }

  /// Rank 0: completes the tick with the messages of all ranks.
  void complete(PendingTick& tick, RankMessage own, const std::vector<RankMessage>& others) {
    bool showed_alone = false;
    {
      const std::lock_guard lock(shared_.mutex);
      if (!tick.own) return;  // it was shown without waiting for this
      showed_alone = std::exchange(shared_.shows_alone, false);
    }
    if (showed_alone) missing_.show_rank_0_alone();
    const auto has_ended = [&](int rank) { return session_.has_ended(rank); };
    std::vector<int> there = own.ranks;
    for (const RankMessage& other : others) there.insert(there.end(), other.ranks.begin(), other.ranks.end());
    const std::string note = missing_.note(std::move(there), tick.tick.get().at.epoch, [&](const std::set<int>& ranks) {
      return session_.watch().reasons(ranks, has_ended);
    });
    const Speaking speaking(shared_);
    lenses_.merge(own, true);
    lenses_.join(own, others);
    MergedLenses::Report merged = lenses_.report(tick.tick.get());
    std::unique_lock lock(shared_.mutex);
    std::unique_ptr<HeldTick> held = std::move(tick.own);
    if (!held) return;
    lock.unlock();
    take_over(*held, std::move(*merged.tick));
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
        session_.store().put(where, key, std::to_string(job_.rank) + " " + own.front());
        own.pop_front();
        continue;
      }
      const std::string rank = told->substr(0, told->find(' '));
      if (rank == std::to_string(job_.rank)) continue;
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
  const Job& job_;
  MergedLenses& lenses_;
  RankSession session_;
  int height_ = 0;
  uint64_t next_tick_ = 0;
  std::deque<std::pair<uint64_t, std::size_t>> sent_;  // the last ticks, and the bytes sent for each
  std::size_t sent_bytes_ = 0;
  MissingRanks missing_{job_.world_size};
  Clock::time_point next_watch_{};
  int incidents_ = 0;
  bool told_unreadable_ = false;
};

/// Waits for this rank's remaining messages, or for its end.
bool has_more_to_send(Exchange::Shared& shared) {
  std::unique_lock lock(shared.mutex);
  const auto has_more = [&] { return !shared.ticks.empty() || !shared.incidents.empty(); };
  shared.changed.wait(lock, [&] { return shared.ending || has_more(); });
  return has_more();
}

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
    // From now on, nothing of the plugins may be called, not even to destroy it.
    leave_to_parent(std::shared_ptr<const MergedLenses>(std::move(lenses)));
    return;
  }
  if (lost.empty()) return;
  lost = lost.substr(0, lost.find('\n'));
  const bool shows = shared->settings.job.shows();
  if (!shows && !has_more_to_send(*shared)) return;
  shared->warn(
      "the store through which the ranks exchange their numbers is lost: " + lost + "; from now on " +
      (shows ? "this run shows only the numbers of rank 0" : "the numbers of this rank are only in its own record") +
      " (see 'ranks' in the configuration; 'loupe merge' puts the ranks together afterwards)");
  // Show the waiting ticks as they are.
  const std::lock_guard lock(shared->mutex);
  shared->is_lost = true;
  for (const auto& tick : shared->ticks) {
    if (tick->own) shared->complete.ticks.push_back(std::move(tick->own));
  }
  shared->ticks.clear();
  shared->ticks_changed();
}

}  // namespace loupe
