#include "view/connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace loupe::view {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Connections::Connection {
  int socket;
  Clock::time_point deadline;
  bool is_asking = true, follows = false, is_cut = false;

  void cut() {
    is_cut = true;
    ::shutdown(socket, SHUT_RDWR);
  }
};

thread_local Connections::Connection* Connections::served_ = nullptr;

Connections::Connections(const Limits& limits) : limits_(limits), watcher_([this] { watch(); }) {}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  watcher_.join();
}

std::function<void()> Connections::bounded(int socket, std::function<void()> serve) {
  const std::lock_guard lock(mutex_);
  const auto connection = std::make_shared<Connection>(Connection{socket, Clock::now() + limits_.request});
  admit(*connection);
  connections_.push_back(connection);
  changed_.notify_one();
  return [this, connection, serve = std::move(serve)] {
    served_ = connection.get();
    serve();
    served_ = nullptr;
    const std::lock_guard lock(mutex_);
    ::close(connection->socket);
    connections_.remove(connection);
  };
}

void Connections::has_asked() {
  const std::lock_guard lock(mutex_);
  if (served_ != nullptr) served_->is_asking = false;
}

bool Connections::follow() {
  const std::lock_guard lock(mutex_);
  if (served_ == nullptr) return true;
  const auto follows = [](const Connection& each) { return each.follows; };
  served_->is_asking = false;
  served_->follows = count(follows) < limits_.followers;
  return served_->follows;
}

void Connections::end() {
  const std::lock_guard lock(mutex_);
  while (cut_oldest([](const Connection&) { return true; })) {
  }
}

void Connections::admit(Connection& newcomer) {
  const auto takes_place = [](const Connection& each) { return !each.is_cut; };
  if (count(takes_place) >= limits_.all && !cut_oldest(takes_place)) newcomer.cut();
}

/// Of those that are still asking. Returns whether there was one.
bool Connections::cut_oldest(const Matches& matches) {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](const auto& each) {
    return each->is_asking && !each->is_cut && matches(*each);
  });
  if (oldest == connections_.end()) return false;
  (*oldest)->cut();
  return true;
}

std::size_t Connections::count(const Matches& matches) const {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(), [&](const auto& each) { return matches(*each); }));
}

void Connections::watch() {
  constexpr auto longest = std::chrono::hours(1);
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const auto now = Clock::now();
    while (cut_oldest([&](const Connection& each) { return each.deadline <= now; })) {
    }
    // The oldest that is still asking is the next whose time is up.
    const auto next = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& each) { return each->is_asking && !each->is_cut; });
    changed_.wait_until(lock, next == connections_.end() ? now + longest : (*next)->deadline);
  }
}

}  // namespace loupe::view
