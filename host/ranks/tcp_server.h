#pragma once

#include <netdb.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// How ranks speak with the server of rank 0. A client begins with its greeting, of a fixed length, and hears `accepted`
// or is cut off. Each request is a letter, the length of a key (4 bytes, little-endian), the length of a value (8
// bytes), the key and the value; the answer is a letter, the length of a value and the value.

namespace loupe::tcp {

constexpr std::size_t token_length = 64;
constexpr std::string_view greeting_text = "loupe ranks 1\n";
constexpr char accepted = 'A', put = 'P', read = 'R', remove = 'D', found = 'F', absent = 'N', refused = 'X';
constexpr std::size_t request_header = 1 + 4 + 8, answer_header = 1 + 8;
constexpr std::size_t longest_key = 1024;

inline std::string number_bytes(uint64_t number, std::size_t count) {
  std::string bytes;
  for (; count > 0; --count, number >>= 8) bytes += static_cast<char>(number & 0xff);
  return bytes;
}

inline uint64_t number_in(std::string_view bytes) {
  uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return number;
}

/// The addresses of a host's port; null where there are none.
/// @param error  gets why not
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
inline Addresses addresses_of(const std::string& host, uint16_t port, bool listens, std::string& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = is_bracketed ? host.substr(1, host.size() - 2) : host;
  const int failure =
      ::getaddrinfo(name.empty() ? nullptr : name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) error = ::gai_strerror(failure);
  return {failure == 0 ? found : nullptr, &::freeaddrinfo};
}

}  // namespace loupe::tcp

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
