#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ranks/exchange_state.h"
#include "ranks/rank_tree.h"
#include "ranks/rank_watch.h"

namespace loupe {

/// How the ranks of a run meet at a store, which may still hold what an earlier run left, and learn of each other. On
/// the exchange's thread. What reaches the store throws std::exception where it is lost; all may throw LeftBehind.
class RankSession {
 public:
  using Clock = Exchange::Shared::Clock;
  explicit RankSession(Exchange::Shared& shared)
      : shared_(shared), launch_(shared.settings.launch), watch_(launch_, shared.settings.timeout) {}

  /// Opens the store and learns of the session that rank 0 begins there. False where the end comes first.
  bool begin();
  /// Rank 0: tells the session to those that ask for it, a part of many at a time.
  void greet();
  /// @param next_tick  the first one that this rank does not send
  void say_goodbye(uint64_t next_tick);

  /// Whether the end has come, which waits a while longer where this thread says that it waits for others.
  bool is_ending(bool waits);
  /// Whether to go on waiting for the message of a rank.
  /// @param waited  how long since the tick
  bool is_awaited(int rank, Clock::duration waited, Clock::duration patience);
  /// Whether a rank said that it sends neither this tick nor any later one.
  bool has_left(int rank, uint64_t tick);

  RankStore& store() { return *store_; }
  const RankTree& tree() const { return *tree_; }
  RankWatch& watch() { return watch_; }
  std::string box(const std::string& name) const { return session_ + "-" + name; }
  /// Those that said who they are, of rank 0 alone.
  const std::set<int>& met() const { return met_; }
  /// Whose messages came, at the last tick too late.
  std::set<int> heard, late;
  bool all_heard() const { return heard.size() + 1 >= static_cast<std::size_t>(launch_.world_size); }

 private:
  bool open();
  bool waits_in_vain();
  void trim_ticks();
  bool is_welcome(const std::string& text, const std::string& own);
  void begin_session(std::string session, int per_host);
  std::optional<std::string> hear_of(int rank);
  bool is_gone(int rank);

  Exchange::Shared& shared_;
  const Launch& launch_;
  RankWatch watch_;
  std::unique_ptr<RankStore> store_;
  std::string session_;
  std::optional<RankTree> tree_;
  std::optional<Clock::time_point> ending_since_, last_moment_;
  std::set<int> met_;
  std::map<int, std::string> greeted_;  // what they said
  int next_greeted_ = 0;
  Clock::time_point next_greeting_{};
  std::chrono::milliseconds greeting_pause_{10};
};

}  // namespace loupe
