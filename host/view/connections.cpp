#include "view/connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace loupe::view {
namespace {

using Clock = std::chrono::steady_clock;
/// The bytes of an address that tell one peer from another: whoever has an IPv6 address has its whole network.
std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size);
  constexpr std::size_t network = 8;
  if (address.ss_family == AF_INET) {
    const in_addr& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return {reinterpret_cast<const char*>(&four), sizeof four};
  }
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return {reinterpret_cast<const char*>(&six), IN6_IS_ADDR_V4MAPPED(&six) ? sizeof six : network};
}

}  // namespace

struct Connections::Connection {
  int socket;
  std::string peer;
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
  const auto connection =
      std::make_shared<Connection>(Connection{socket, peer_of(socket), Clock::now() + limits_.request});
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
  const auto follows_as_peer = [&](const Connection& each) { return each.follows && each.peer == served_->peer; };
  served_->is_asking = false;
  served_->follows = count(follows) < limits_.followers && count(follows_as_peer) < limits_.followers_of_peer;
  return served_->follows;
}

void Connections::end() {
  const std::lock_guard lock(mutex_);
  while (cut_oldest([](const Connection&) { return true; })) {
  }
}

void Connections::admit(Connection& newcomer) {
  const auto takes_place = [](const Connection& each) { return !each.is_cut; };
  const auto is_of_peer = [&](const Connection& each) { return each.peer == newcomer.peer; };
  const bool is_full = count(takes_place) >= limits_.all;
  const bool peer_is_full =
      count([&](const Connection& each) { return takes_place(each) && is_of_peer(each); }) >= limits_.of_peer;
  if ((peer_is_full && !cut_oldest(is_of_peer)) || (!peer_is_full && is_full && !cut_oldest(takes_place))) {
    newcomer.cut();
  }
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
