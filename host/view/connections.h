#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace loupe::view {

/// The connections to a server, so that nobody keeps others from being served: each has a deadline for its whole
/// request, however it is sent, and there are so many at most. Any thread.
class Connections {
 public:
  struct Limits {
    std::size_t all = 64, followers = 40;
    std::chrono::milliseconds request = std::chrono::seconds(10);
  };

  Connections() : Connections(Limits()) {}
  explicit Connections(const Limits& limits);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Takes over an accepted socket. Returns what calls `serve` and then closes the socket. Where there are too many
  /// connections, cuts off the one that has been asking the longest, else this one.
  std::function<void()> bounded(int socket, std::function<void()> serve);
  /// The connection that this thread serves has sent its request.
  void has_asked();
  /// The same, and it follows the list to its end; false where too many do.
  bool follow();
  /// Cuts off all that are still asking.
  void end();

 private:
  struct Connection;
  using Matches = std::function<bool(const Connection&)>;

  void admit(Connection& newcomer);
  bool cut_oldest(const Matches& matches);
  std::size_t count(const Matches& matches) const;
  void watch();

  static thread_local Connection* served_;  // by this thread
  const Limits limits_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::list<std::shared_ptr<Connection>> connections_;  // the oldest first
  bool is_over_ = false;
  std::thread watcher_;
};

}  // namespace loupe::view
