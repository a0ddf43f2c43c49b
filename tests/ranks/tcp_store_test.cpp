#include "ranks/rank_store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <utility>
#include <vector>

#include "memory_store.h"
#include "says.h"

namespace loupe {
namespace {

using std::chrono::milliseconds;

/// A socket of the test's own. Non-negative while it is there.
struct Socket {
  explicit Socket(int made) : descriptor(made) {}
  Socket(Socket&& other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  ~Socket() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

sockaddr_in address_at(const char* host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/// Listens on a port that nobody else has.
Socket listen_anywhere(uint16_t& port) {
  Socket made(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = address_at("127.0.0.1", 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(made.descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(made.descriptor, 8), 0);
  EXPECT_EQ(::getsockname(made.descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return made;
}

Socket connect_to(uint16_t port, const char* host = "127.0.0.1") {
  Socket made(::socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = address_at(host, port);
  if (::connect(made.descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ::close(std::exchange(made.descriptor, -1));
  return made;
}

/// Whether the other end closes the connection within a few seconds.
bool is_cut_off(const Socket& socket) {
  char byte = 0;
  pollfd wait{socket.descriptor, POLLIN, 0};
  return ::poll(&wait, 1, 20000) == 1 && ::recv(socket.descriptor, &byte, 1, 0) <= 0;
}

void send(const Socket& socket, const std::string& bytes) {
  EXPECT_EQ(::send(socket.descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

class TcpStore : public testing::Test {
 protected:
  TcpStore() {
    listen_anywhere(place.port);
    place.host = "127.0.0.1";
    place.prefix = "run";
    place.timeout = milliseconds(20000);
    place.secrets = [memory = std::make_shared<SharedMemory>()] {
      return std::make_unique<MemoryStore>(memory, std::make_shared<std::atomic<bool>>(false));
    };
  }
  std::string why_not() const {
    try {
      store_of_client(place)();
    } catch (const StoreNotThereYet& reason) {
      return reason.what();
    }
    return "";
  }
  TcpPlace place;
};

TEST_F(TcpStore, GivesWhatAnotherRankPutUntilItIsRemoved) {
  const auto server = store_of_server(place)();
  const auto one = store_of_client(place)(), other = store_of_client(place)();
  const std::string bytes = std::string(3 << 20, 'x') + std::string("\0y", 2);
  one->put("box", "1", bytes);
  EXPECT_EQ(server->read("box", "1"), bytes);
  EXPECT_EQ(other->read("box", "1"), bytes);
  EXPECT_EQ(other->read("box", "2"), std::nullopt);
  server->put("box", "2", "");
  EXPECT_EQ(other->read("box", "2"), "");
  other->remove("box", "1");
  EXPECT_EQ(server->read("box", "1"), std::nullopt);
  server->remove_all();
  EXPECT_EQ(one->read("box", "2"), std::nullopt);
}

TEST_F(TcpStore, IsNotThereYetUntilRankZeroCame) {
  EXPECT_SAYS(why_not(), "rank 0 does not listen at tcp://127.0.0.1:");
  place.token = token_of("a job");
  EXPECT_SAYS(why_not(), "Connection refused");
  const auto server = store_of_server(place)();
  EXPECT_EQ(why_not(), "");
}

TEST_F(TcpStore, ListensWhereItsAddressSaysAlone) {
  const auto server = store_of_server(place)();
  EXPECT_GE(connect_to(place.port).descriptor, 0);
  EXPECT_LT(connect_to(place.port, "127.0.0.2").descriptor, 0);
}

TEST_F(TcpStore, CutsOffWhoHasNotItsToken) {
  const auto server = store_of_server(place)();
  const auto client = store_of_client(place)();
  for (const std::string& text : {std::string(200, 'a'), "loupe ranks 1\n" + std::string(64, '0')}) {
    const Socket stranger = connect_to(place.port);
    send(stranger, text);
    EXPECT_TRUE(is_cut_off(stranger)) << text;
  }
  TcpPlace other = place;
  other.token = token_of("another job");
  EXPECT_THROW(store_of_client(other)(), StoreNotThereYet);
  client->put("box", "1", "bytes");
  EXPECT_EQ(server->read("box", "1"), "bytes");
}

TEST_F(TcpStore, AnswersWhileStrangersSayNothing) {
  const auto server = store_of_server(place)();
  std::vector<Socket> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(connect_to(place.port));
  const auto client = store_of_client(place)();
  client->put("box", "1", "bytes");
  EXPECT_EQ(client->read("box", "1"), "bytes");
  EXPECT_TRUE(is_cut_off(strangers[0]));
}

TEST_F(TcpStore, BelievesNoPeerInWhatItSaysOfSizes) {
  place.token = token_of("a job");
  const auto server = store_of_server(place)();
  for (const std::string& sizes : {std::string(12, '\xff'), std::string("\4\0\0\0\0\0\0\xc0\0\0\0\0", 12)}) {
    const Socket peer = connect_to(place.port);
    send(peer, "loupe ranks 1\n" + place.token);
    char accepted = 0;
    EXPECT_EQ(::recv(peer.descriptor, &accepted, 1, 0), 1);
    send(peer, "P" + sizes);
    EXPECT_TRUE(is_cut_off(peer));
  }
}

TEST_F(TcpStore, GivesUpAServerThatSaysNothing) {
  place.token = token_of("a job");
  place.timeout = milliseconds(100);
  const Socket mute = listen_anywhere(place.port);
  EXPECT_SAYS(why_not(), "does not answer");
  EXPECT_THROW(store_of_server(place)(), std::exception) << "the port is taken";
}

TEST_F(TcpStore, IsSharedByTheRunsOfOneProcess) {
  TcpPlace second = place;
  second.prefix = "second";
  const auto one = store_of_server(place)(), two = store_of_server(second)();
  one->put("box", "1", "first");
  two->put("box", "1", "second");
  one->remove_all();
  EXPECT_EQ(one->read("box", "1"), std::nullopt);
  EXPECT_EQ(two->read("box", "1"), "second");
  EXPECT_EQ(store_of_client(second)()->read("box", "1"), "second");
}

TEST_F(TcpStore, IsLostForTheOthersWhereRankZeroEnds) {
  auto server = store_of_server(place)();
  const auto client = store_of_client(place)();
  server.reset();
  EXPECT_THROW(client->read("box", "1"), std::exception);
}

}  // namespace
}  // namespace loupe
