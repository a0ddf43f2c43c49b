#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace loupe {

/// The store of a run's ranks in the memory of rank 0, which others reach by TCP. It listens where its address says,
/// and takes requests from those alone that begin with its token. A peer that stalls holds nobody up, and what one says
/// of sizes takes no memory. Members may be called on any thread.
class TcpServer {
 public:
  /// Throws Error where nothing can listen there.
  TcpServer(const std::string& host, uint16_t port, std::string token);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  const std::string& token() const { return token_; }
  /// False where it holds as much as it takes.
  bool put(const std::string& key, std::string bytes);
  std::optional<std::string> read(const std::string& key) const;
  void remove(const std::string& key);
  void remove_all(const std::string& prefix);

 private:
  using Clock = std::chrono::steady_clock;
  class Socket {
   public:
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    int get() const { return descriptor_; }

   private:
    int descriptor_;
  };
  struct Peer {
    explicit Peer(int descriptor) : socket(descriptor) {}
    Socket socket;
    std::string in, out;
    std::size_t sent = 0;  // of out
    bool is_known = false;
    Clock::time_point since = Clock::now();
  };

  static std::unique_ptr<Socket> listen_at(const std::string& host, uint16_t port);
  void serve();
  bool accept_new();
  bool receive(Peer& peer);
  bool send(Peer& peer);
  bool answer(Peer& peer);
  std::string answer_to(char request, const std::string& key, std::string value);

  const std::string token_;
  const std::unique_ptr<Socket> listener_, wake_;
  std::vector<std::unique_ptr<Peer>> peers_;  // the thread's
  mutable std::mutex mutex_;
  std::map<std::string, std::string> entries_;
  std::size_t bytes_ = 0;  // of all entries
  std::thread thread_;
};

}  // namespace loupe
