#include "ranks/tcp_server.h"

#include <arpa/inet.h>
#include <loupe/detail/own_thread.h>
#include <loupe/error.h>
#include <loupe/files/held_signals.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "ranks/rank_store.h"

namespace loupe {
namespace {

constexpr std::size_t most_peers = 20000, most_strangers = 64, most_bytes = std::size_t{2} << 30;
constexpr std::chrono::seconds patience_with_strangers(5);

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool is_equal_in_constant_time(std::string_view one, std::string_view other) {
  unsigned difference = one.size() != other.size();
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

}  // namespace

TcpServer::Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

TcpServer::TcpServer(const std::string& host, uint16_t port, std::string token)
    : token_(std::move(token)),
      listener_(listen_at(host, port)),
      wake_(std::make_unique<Socket>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (wake_->get() < 0) throw Error("a server for ranks cannot be made: " + std::string(std::strerror(errno)));
  thread_ = std::thread([this] {
    detail::name_own_thread("ranks");
    const FatalSignalsHeld held;
    serve();
  });
}

TcpServer::~TcpServer() {
  const uint64_t one = 1;
  while (::write(wake_->get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

/// Where the address is none of this machine's, or a name that this machine alone takes for itself, others may reach it
/// by that address all the same: then on all addresses.
std::unique_ptr<TcpServer::Socket> TcpServer::listen_at(const std::string& host, uint16_t port) {
  const std::string place = "tcp://" + host + ":" + std::to_string(port);
  std::string error;
  const auto try_to_listen = [&](const addrinfo& each) -> std::unique_ptr<Socket> {
    auto made = std::make_unique<Socket>(::socket(each.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(made->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    constexpr int backlog = 1024;
    if (made->get() >= 0 && ::bind(made->get(), each.ai_addr, each.ai_addrlen) == 0 &&
        ::listen(made->get(), backlog) == 0)
      return made;
    error = std::strerror(errno);
    return nullptr;
  };
  const tcp::Addresses named = tcp::addresses_of(host, port, true, error);
  bool is_elsewhere = false;
  for (const addrinfo* each = named.get(); each != nullptr; each = each->ai_next) {
    if (is_loopback(*each->ai_addr) && !is_loopback_name(host)) {
      is_elsewhere = true;
      continue;
    }
    if (auto made = try_to_listen(*each)) return made;
    is_elsewhere = is_elsewhere || errno == EADDRNOTAVAIL;
  }
  if (is_elsewhere) {
    const tcp::Addresses all = tcp::addresses_of("", port, true, error);
    for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
      if (auto made = try_to_listen(*each)) return made;
    }
  }
  throw Error("rank 0 cannot listen at " + place + ": " + error + "; name another port in ranks.store");
}

bool TcpServer::put(const std::string& key, std::string bytes) {
  const std::lock_guard lock(mutex_);
  std::string& entry = entries_[key];
  if (bytes_ - entry.size() + bytes.size() > most_bytes) return false;
  bytes_ += bytes.size() - entry.size();
  entry = std::move(bytes);
  return true;
}

std::optional<std::string> TcpServer::read(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() ? std::optional(found->second) : std::nullopt;
}

void TcpServer::remove(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  bytes_ -= found->second.size();
  entries_.erase(found);
}

void TcpServer::remove_all(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  for (auto each = entries_.lower_bound(prefix); each != entries_.end() && each->first.rfind(prefix, 0) == 0;) {
    bytes_ -= each->second.size();
    each = entries_.erase(each);
  }
}

/// The body of the thread. Throws nothing.
void TcpServer::serve() {
  bool may_accept = true;
  for (;;) {
    std::vector<pollfd> waits{{wake_->get(), POLLIN, 0}, {may_accept ? listener_->get() : -1, POLLIN, 0}};
    bool has_strangers = !may_accept;
    for (const auto& peer : peers_) {
      has_strangers = has_strangers || !peer->is_known;
      waits.push_back({peer->socket.get(), static_cast<short>(peer->out.empty() ? POLLIN : POLLOUT), 0});
    }
    constexpr int without_end = -1, soon = 100;
    if (::poll(waits.data(), waits.size(), has_strangers ? soon : without_end) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    const auto now = Clock::now();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = *peers_[i];
      bool stays = peer.is_known || now - peer.since < patience_with_strangers;
      try {
        if (stays && waits[i + 2].revents != 0) stays = peer.out.empty() ? receive(peer) : send(peer);
      } catch (const std::exception&) {  // no memory
        stays = false;
      }
      if (!stays) peers_[i].reset();
    }
    peers_.erase(std::remove(peers_.begin(), peers_.end(), nullptr), peers_.end());
    may_accept = true;
    if (waits[1].revents == 0) continue;
    try {
      may_accept = accept_new();
    } catch (const std::exception&) {
      may_accept = false;
    }
  }
}

/// False where there is no descriptor for another one now.
bool TcpServer::accept_new() {
  const int descriptor = ::accept4(listener_->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  auto peer = std::make_unique<Peer>(descriptor);
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto is_stranger = [](const std::unique_ptr<Peer>& each) { return !each->is_known; };
  // The one that has said nothing for longest makes way.
  if (std::count_if(peers_.begin(), peers_.end(), is_stranger) >= static_cast<std::ptrdiff_t>(most_strangers))
    peers_.erase(std::find_if(peers_.begin(), peers_.end(), is_stranger));
  if (peers_.size() < most_peers) peers_.push_back(std::move(peer));
  return true;
}

/// False where the peer is to be cut off; so in the two below.
bool TcpServer::receive(Peer& peer) {
  char bytes[1 << 16];
  const std::size_t most =
      peer.is_known ? sizeof bytes : tcp::greeting_text.size() + tcp::token_length - peer.in.size();
  const ssize_t length = ::recv(peer.socket.get(), bytes, most, 0);
  if (length < 0) return errno == EAGAIN || errno == EINTR;
  if (length == 0) return false;
  peer.in.append(bytes, static_cast<std::size_t>(length));
  return answer(peer);
}

bool TcpServer::answer(Peer& peer) {
  if (!peer.is_known) {
    const std::string greeting = std::string(tcp::greeting_text) + token_;
    if (peer.in.size() < greeting.size()) return true;
    if (!is_equal_in_constant_time(peer.in, greeting)) return false;
    peer.in.clear();
    peer.is_known = true;
    peer.out = tcp::accepted;
    return send(peer);
  }
  if (peer.in.size() < tcp::request_header) return true;
  const std::string_view in = peer.in;
  const uint64_t key = tcp::number_in(in.substr(1, 4)), value = tcp::number_in(in.substr(5, 8));
  if (key > tcp::longest_key || value > longest_rank_message) return false;
  if (in.size() < tcp::request_header + key + value) return true;
  if (in.size() > tcp::request_header + key + value) return false;  // each waits for its answer
  peer.out = answer_to(in[0], std::string(in.substr(tcp::request_header, key)),
                       std::string(in.substr(tcp::request_header + key)));
  std::string().swap(peer.in);
  return send(peer);
}

std::string TcpServer::answer_to(char request, const std::string& key, std::string value) {
  const auto answer = [](char letter, std::string_view bytes = {}) {
    return letter + tcp::number_bytes(bytes.size(), 8) + std::string(bytes);
  };
  if (request == tcp::put) return answer(put(key, std::move(value)) ? tcp::found : tcp::refused);
  if (request == tcp::remove) remove(key);
  if (request != tcp::read) return answer(request == tcp::remove ? tcp::found : tcp::refused);
  const auto entry = read(key);
  return entry ? answer(tcp::found, *entry) : answer(tcp::absent);
}

bool TcpServer::send(Peer& peer) {
  const ssize_t length =
      ::send(peer.socket.get(), peer.out.data() + peer.sent, peer.out.size() - peer.sent, MSG_NOSIGNAL);
  if (length < 0) return errno == EAGAIN || errno == EINTR;
  peer.sent += static_cast<std::size_t>(length);
  if (peer.sent < peer.out.size()) return true;
  std::string().swap(peer.out);
  peer.sent = 0;
  return true;
}

}  // namespace loupe
