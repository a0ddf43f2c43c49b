#include "ranks/rank_session.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "core/run_folder.h"

namespace loupe {
namespace {

using std::chrono::milliseconds;

/// How many ticks wait at most for a rank 0 that does not come.
constexpr std::size_t most_waiting = 64;

std::string nonce() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

/// A whole number that another process wrote.
std::optional<uint64_t> whole_number_in(std::string_view text) {
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

bool RankSession::begin() {
  if (!open()) return false;
  const std::string own = nonce(), rank = std::to_string(launch_.rank);
  store_->put("hello", rank, own + " " + RunHolder::this_process().text());
  if (launch_.shows()) {
    begin_session(nonce(), launch_.per_host);
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

/// Whether the end has come, and there is nothing to tell rank 0 or it does not come any more.
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

bool RankSession::open() {
  const auto begin = Clock::now();
  for (bool is_told = false;; std::this_thread::sleep_for(milliseconds(100))) {
    try {
      store_ = shared_.settings.open();
      return true;
    } catch (const StoreNotThereYet& reason) {
      if (waits_in_vain()) return false;
      trim_ticks();
      if (is_told || Clock::now() - begin < shared_.settings.timeout) continue;
      is_told = true;
      shared_.warn(std::string(reason.what()) + "; until it can be, the numbers of this rank are in its own record");
    }
  }
}

/// What is left out is in this process's record.
void RankSession::trim_ticks() {
  const std::lock_guard lock(shared_.mutex);
  while (shared_.ticks.size() > most_waiting && !shared_.ticks.front()->own) shared_.ticks.pop_front();
}

/// Takes "NONCE SESSION RANKS-A-HOST".
bool RankSession::is_welcome(const std::string& text, const std::string& own) {
  const std::size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (second == std::string::npos || text.substr(0, first) != own) return false;
  const std::string session = text.substr(first + 1, second - first - 1);
  const auto per_host = whole_number_in(std::string_view(text).substr(second + 1));
  if (session.find_first_not_of("0123456789") != std::string::npos || !per_host ||
      *per_host > static_cast<uint64_t>(launch_.world_size))
    return false;
  begin_session(session, static_cast<int>(*per_host));
  return true;
}

void RankSession::begin_session(std::string session, int per_host) {
  session_ = std::move(session);
  tree_.emplace(launch_.world_size, per_host);
}

void RankSession::say_goodbye(uint64_t next_tick) {
  try {
    if (launch_.shows()) return store_->remove_all();
    store_->put(box("bye"), std::to_string(launch_.rank), std::to_string(next_tick));
  } catch (const std::exception&) {  // rank 0 ended before, and with it the store
  }
}

/// Takes what a rank says of its process; gives it where there is something.
std::optional<std::string> RankSession::hear_of(int rank) {
  auto hello = store_->read("hello", std::to_string(rank));
  const std::size_t space = hello ? hello->find(' ') : std::string::npos;
  if (space == std::string::npos) return std::nullopt;
  watch_.processes().add(rank, std::string_view(*hello).substr(space + 1));
  return hello;
}

/// Whether its process is, and no later one of that rank is there.
bool RankSession::is_gone(int rank) {
  if (!watch_.is_gone(rank)) return false;
  hear_of(rank);
  return watch_.is_gone(rank);
}

bool RankSession::is_ending(bool waits) {
  const std::lock_guard lock(shared_.mutex);
  if (shared_.left) throw LeftBehind();
  if (shared_.ending && !ending_since_) ending_since_ = Clock::now();
  if (waits) shared_.progress = Clock::now();
  return shared_.ending;
}

bool RankSession::is_awaited(int rank, Clock::duration waited, Clock::duration patience) {
  const bool was_late = late.count(rank) > 0;
  if (waited >= (was_late ? patience / 10 : patience)) return false;
  if (watch_.processes().presence_of(rank) == RankProcesses::Presence::unseen) hear_of(rank);
  // An earlier run may have left what a rank says of its process.
  if (!ending_since_) return (heard.count(rank) == 0 && met_.count(rank) == 0) || !is_gone(rank);
  if (watch_.may_come(rank, was_late)) return true;
  // What is on its way already still comes.
  return Clock::now() - *ending_since_ < Exchange::Shared::patience_at_end / 4 && !is_gone(rank);
}

void RankSession::greet() {
  if (!launch_.shows() || all_heard() || Clock::now() < next_greeting_) return;
  constexpr int most = 1024;
  bool is_new = false;
  for (int looked = 0; looked < std::min(most, launch_.world_size - 1); ++looked) {
    const int rank = next_greeted_ = next_greeted_ + 1 < launch_.world_size ? next_greeted_ + 1 : 1;
    if (heard.count(rank) > 0) continue;
    const auto hello = hear_of(rank);
    if (!hello || greeted_[rank] == *hello) continue;
    greeted_[rank] = *hello;
    if (!watch_.is_gone(rank)) met_.insert(rank);
    store_->put("welcome", std::to_string(rank),
                hello->substr(0, hello->find(' ')) + " " + session_ + " " + std::to_string(launch_.per_host));
    is_new = true;
  }
  greeting_pause_ = is_new ? milliseconds(20) : std::min(greeting_pause_ * 2, milliseconds(500));
  next_greeting_ = Clock::now() + greeting_pause_;
}

bool RankSession::has_left(int rank, uint64_t tick) {
  const auto last = store_->read(box("bye"), std::to_string(rank));
  return last && whole_number_in(*last).value_or(tick + 1) <= tick;
}

}  // namespace loupe
