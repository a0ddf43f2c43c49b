// One client's connections to the server of `loupe view` must not keep other clients out.

#include "view/http.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace loupe::test {
namespace {

using namespace std::chrono_literals;
using view::Connections;

/// A socket of this machine that listens or is connected.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;

  static Socket bound() {
    Socket made(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in place = address_of(0);
    EXPECT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    return made;
  }
  void connect_to(int port) const {
    const sockaddr_in place = address_of(port);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  }
  int get() const { return descriptor_; }
  int port() const {
    sockaddr_in place{};
    socklen_t size = sizeof place;
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&place), &size);
    return ntohs(place.sin_port);
  }
  /// Waits for a byte from the other side; false once the other side has closed.
  bool receives() const {
    char byte = 0;
    return ::recv(descriptor_, &byte, 1, 0) == 1;
  }
  void send() const { EXPECT_EQ(::send(descriptor_, "x", 1, MSG_NOSIGNAL), 1); }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  static sockaddr_in address_of(int port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  int descriptor_;
};

/// A server that answers each request, which is one byte, with one byte, and then waits for the other side to leave.
class ConnectionsOfAServer : public testing::Test {
 protected:
  const Socket listening_ = [] {
    Socket made = Socket::bound();
    ::listen(made.get(), 64);
    return made;
  }();
  std::unique_ptr<Connections> connections_;
  std::list<Socket> clients_;
  std::vector<std::future<void>> served_;

  void start(const Connections::Limits& limits) { connections_ = std::make_unique<Connections>(limits); }
  void TearDown() override {
    clients_.clear();
    served_.clear();
  }
  /// Connects a client; a separate thread serves the connection.
  Socket& connect(bool follows = false) {
    Socket& client = clients_.emplace_back(Socket::bound());
    client.connect_to(listening_.port());
    const int accepted = ::accept(listening_.get(), nullptr, nullptr);
    auto serve = connections_->bounded(accepted, [this, accepted, follows] {
      char byte = 0;
      if (::recv(accepted, &byte, 1, 0) != 1) return;
      connections_->has_asked();
      if (!follows || connections_->follow()) ::send(accepted, "x", 1, MSG_NOSIGNAL);
      if (follows) ::recv(accepted, &byte, 1, 0);
    });
    served_.push_back(std::async(std::launch::async, std::move(serve)));
    return client;
  }
  static bool is_answered(const Socket& client) {
    client.send();
    return client.receives();
  }
};

TEST_F(ConnectionsOfAServer, AreCutOffWhereTheRequestIsNotThereInTime) {
  Connections::Limits limits;
  limits.request = 20ms;
  start(limits);
  // No client sends anything, so only the deadline ends the connections.
  EXPECT_FALSE(connect().receives());
  EXPECT_FALSE(connect().receives());
}

TEST_F(ConnectionsOfAServer, MayTakeLongAfterTheirRequest) {
  Connections::Limits limits;
  limits.request = 20ms;
  start(limits);
  Socket* follower = nullptr;
  // On a busy machine even the first byte may come too late.
  for (int tries = 0; tries < 100 && follower == nullptr; ++tries) {
    Socket& client = connect(true);
    if (is_answered(client)) follower = &client;
  }
  ASSERT_NE(follower, nullptr);
  // The deadline cuts off a later connection; the earlier one is still open.
  EXPECT_FALSE(connect().receives());
  char none = 0;
  EXPECT_EQ(::recv(follower->get(), &none, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(ConnectionsOfAServer, ThatHaveBeenAskingTheLongestGiveWay) {
  Connections::Limits limits;
  limits.all = 2;
  limits.request = 1h;
  start(limits);
  const Socket& first = connect();
  const Socket& second = connect();
  const Socket& third = connect();
  EXPECT_FALSE(first.receives());
  EXPECT_TRUE(is_answered(second));
  EXPECT_TRUE(is_answered(third));
}

TEST_F(ConnectionsOfAServer, AreRefusedIfAllOthersAreBeingAnswered) {
  Connections::Limits limits;
  limits.all = 1;
  limits.request = 1h;
  start(limits);
  EXPECT_TRUE(is_answered(connect(true)));
  EXPECT_FALSE(connect().receives());
}

TEST_F(ConnectionsOfAServer, CanFollowUpToALimit) {
  Connections::Limits limits;
  limits.followers = 1;
  start(limits);
  EXPECT_TRUE(is_answered(connect(true)));
  Socket& second = connect(true);
  second.send();
  ::shutdown(second.get(), SHUT_WR);
  EXPECT_FALSE(second.receives());
}

TEST_F(ConnectionsOfAServer, WithoutARequestAreCutOffAtTheEnd) {
  Connections::Limits limits;
  limits.request = 1h;
  start(limits);
  const Socket& asking = connect();
  const Socket& following = connect(true);
  EXPECT_TRUE(is_answered(following));
  connections_->end();
  EXPECT_FALSE(asking.receives());
  char none = 0;
  EXPECT_EQ(::recv(following.get(), &none, 1, MSG_DONTWAIT), -1);
}

}  // namespace
}  // namespace loupe::test
