#include "ranks/rank_store.h"

#include <fcntl.h>
#include <loupe/error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sha2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/forks.h"
#include "ranks/tcp_server.h"

namespace loupe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* token_box = "token";

std::string random_token() {
  std::random_device source;  // the kernel's
  std::string text;
  for (int i = 0; i < 8; ++i) text += std::to_string(source()) + " ";
  return token_of(text);
}

std::string known_token(const TcpPlace& place) {
  return place.token.empty() ? place.secrets()->read(token_box, "0").value_or("") : place.token;
}

/// A connection to a server, each of whose calls takes a limited time.
class TcpClient {
 public:
  explicit TcpClient(const TcpPlace& place)
      : name_("tcp://" + place.host + ":" + std::to_string(place.port)), timeout_(place.timeout) {
    const std::string token = known_token(place);
    if (token.size() != tcp::token_length) throw StoreNotThereYet("rank 0 does not listen at " + name_ + " yet");
    std::string error = "no address";
    const tcp::Addresses addresses = tcp::addresses_of(place.host, place.port, false, error);
    for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
      try {
        connect(*each);
        write(std::string(tcp::greeting_text) + token);
        if (read(1)[0] == tcp::accepted) return;
        error = "another program listens there";
      } catch (const Error& reason) {
        error = reason.what();
      }
      close();
    }
    throw StoreNotThereYet("rank 0 cannot be reached at " + name_ + ": " + error);
  }
  ~TcpClient() { close(); }
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  /// The letter of the answer, and the value.
  std::pair<char, std::string> request(char letter, const std::string& key, std::string_view value = {}) {
    if (value.size() > longest_rank_message) throw Error("a message is too long for it");
    write(letter + tcp::number_bytes(key.size(), 4) + tcp::number_bytes(value.size(), 8) + key);
    write(value);
    const std::string header = read(tcp::answer_header);
    const uint64_t length = tcp::number_in(std::string_view(header).substr(1));
    if (length > longest_rank_message) throw Error("what " + name_ + " answers is no answer");
    return {header[0], read(length)};
  }

 private:
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  void connect(const addrinfo& address) {
    deadline_ = Clock::now() + timeout_;
    socket_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) throw Error(std::strerror(errno));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return;
    if (errno != EINPROGRESS) throw Error(std::strerror(errno));
    wait_for(POLLOUT);
    int failure = 0;
    socklen_t size = sizeof failure;
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
    if (failure != 0) throw Error(std::strerror(failure));
  }

  void wait_for(short what) {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      pollfd wait{socket_, what, 0};
      const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
      if (ready > 0) return;
      if (ready == 0) throw Error(name_ + " does not answer");
      if (errno != EINTR) throw Error(std::strerror(errno));
    }
  }

  /// The time limit is for as long as nothing moves.
  void write(std::string_view bytes) {
    deadline_ = Clock::now() + timeout_;
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        deadline_ = Clock::now() + timeout_;
      } else if (errno == EAGAIN) {
        wait_for(POLLOUT);
      } else if (errno != EINTR) {
        throw Error(std::strerror(errno));
      }
    }
  }

  std::string read(std::size_t length) {
    deadline_ = Clock::now() + timeout_;
    std::string bytes;
    char part[1 << 16];
    while (bytes.size() < length) {
      const ssize_t received = ::recv(socket_, part, std::min(sizeof part, length - bytes.size()), 0);
      if (received > 0) {
        bytes.append(part, static_cast<std::size_t>(received));
      } else if (received == 0) {
        throw Error(name_ + " has closed the connection");
      } else if (errno == EAGAIN) {
        wait_for(POLLIN);
      } else if (errno != EINTR) {
        throw Error(std::strerror(errno));
      }
    }
    return bytes;
  }

  const std::string name_;
  const std::chrono::milliseconds timeout_;
  Clock::time_point deadline_;
  int socket_ = -1;
};

class ClientStore final : public RankStore {
 public:
  explicit ClientStore(const TcpPlace& place) : client_(place), prefix_(place.prefix + "/") {}

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    if (client_.request(tcp::put, key_of(box, key), bytes).first != tcp::found) throw Error("it is full");
  }
  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    auto [letter, bytes] = client_.request(tcp::read, key_of(box, key));
    return letter == tcp::found ? std::optional(std::move(bytes)) : std::nullopt;
  }
  void remove(const std::string& box, const std::string& key) override {
    client_.request(tcp::remove, key_of(box, key));
  }
  void remove_all() override {}  // rank 0 does

 private:
  std::string key_of(const std::string& box, const std::string& key) const { return prefix_ + box + "/" + key; }

  TcpClient client_;
  const std::string prefix_;
};

class ServerStore final : public RankStore {
 public:
  ServerStore(std::shared_ptr<TcpServer> server, const TcpPlace& place)
      : server_(std::move(server)), prefix_(place.prefix + "/") {
    if (!place.token.empty()) return;
    secrets_ = place.secrets();
    secrets_->put(token_box, "0", server_->token());
  }

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    if (!server_->put(key_of(box, key), bytes)) throw Error("it is full");
  }
  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    return server_->read(key_of(box, key));
  }
  void remove(const std::string& box, const std::string& key) override { server_->remove(key_of(box, key)); }
  void remove_all() override {
    server_->remove_all(prefix_);
    if (secrets_) secrets_->remove_all();
  }

 private:
  std::string key_of(const std::string& box, const std::string& key) const { return prefix_ + box + "/" + key; }

  const std::shared_ptr<TcpServer> server_;
  const std::string prefix_;
  std::unique_ptr<RankStore> secrets_;
};

/// This process's, as long as somebody uses it.
std::shared_ptr<TcpServer> server_at(const TcpPlace& place) {
  using Key = std::tuple<uint64_t, std::string, uint16_t>;
  static auto& mutex = *new ProcessMutex();
  static auto& servers = *new std::map<Key, std::weak_ptr<TcpServer>>();
  const std::lock_guard lock(mutex);
  std::weak_ptr<TcpServer>& known = servers[{forks_of_process(), place.host, place.port}];
  if (auto running = known.lock()) return running;
  const std::string token = place.token.empty() ? random_token() : place.token;
  auto made = std::make_shared<TcpServer>(place.host, place.port, token);
  known = made;
  return made;
}

}  // namespace

OpenRankStore store_of_server(TcpPlace place) {
  return [place = std::move(place)] { return std::make_unique<ServerStore>(server_at(place), place); };
}

OpenRankStore store_of_client(TcpPlace place) {
  return [place = std::move(place)] { return std::make_unique<ClientStore>(place); };
}

bool is_loopback_name(const std::string& host) {
  return host == "localhost" || host.rfind("127.", 0) == 0 || host == "::1" || host == "[::1]";
}

std::string token_of(const std::string& text) {
  SHA2_CTX sum;
  SHA256Init(&sum);
  SHA256Update(&sum, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  char digest[SHA256_DIGEST_STRING_LENGTH];
  SHA256End(&sum, digest);
  return digest;
}

}  // namespace loupe
