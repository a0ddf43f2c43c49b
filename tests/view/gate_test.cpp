// Which requests the server of `loupe view` answers.

#include "view/http.h"

#include <gtest/gtest.h>

namespace loupe::test {
namespace {

using view::Gate;

TEST(Gate, OfALoopbackAddressTakesItsOwnNamesAlone) {
  const Gate gate("127.0.0.1", 7175);
  EXPECT_FALSE(gate.wants_token());
  for (const char* host : {"127.0.0.1:7175", "localhost:7175", "[::1]:7175"})
    EXPECT_TRUE(gate.takes_host(host)) << host;
  for (const char* host : {"", "evil.example", "evil.example:7175", "127.0.0.1", "127.0.0.1:80", "localhost:71750",
                           "localhost.evil.example:7175", "127.0.0.1:7175.evil.example"}) {
    EXPECT_FALSE(gate.takes_host(host)) << host;
  }
  EXPECT_TRUE(gate.takes_token("", ""));
  EXPECT_TRUE(Gate("::1", 80).takes_host("localhost"));
}

TEST(Gate, AcceptsTheLoopbackAddressThatItWasGiven) {
  EXPECT_TRUE(Gate("127.0.0.2", 7175).takes_host("127.0.0.2:7175"));
  EXPECT_TRUE(Gate("0:0:0:0:0:0:0:1", 7175).takes_host("[0:0:0:0:0:0:0:1]:7175"));
  EXPECT_FALSE(Gate("127.0.0.2", 7175).takes_host("127.0.0.3:7175"));
}

TEST(Gate, TakesChangesFromItsOwnPagesAndFromPrograms) {
  const Gate gate("127.0.0.1", 7175);
  EXPECT_TRUE(gate.takes_origin("", "localhost:7175"));
  EXPECT_TRUE(gate.takes_origin("http://localhost:7175", "localhost:7175"));
  for (const char* other : {"null", "http://localhost", "http://localhost:71750", "http://127.0.0.1:7175",
                            "https://localhost:7175", "http://evil.example:7175", "localhost:7175"}) {
    EXPECT_FALSE(gate.takes_origin(other, "localhost:7175")) << other;
  }
}

TEST(Gate, KnowsAddressesThatOnlyThisMachineReaches) {
  for (const char* own : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) EXPECT_TRUE(view::is_loopback(own)) << own;
  for (const char* other : {"0.0.0.0", "::", "192.168.1.2", "128.0.0.1", "example.org", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(view::is_loopback(other)) << other;
  }
}

TEST(Gate, OfAnotherAddressAcceptsItsTokenFromTheAddressOrTheCookieOnly) {
  const Gate gate("0.0.0.0", 7175);
  ASSERT_TRUE(gate.wants_token());
  EXPECT_TRUE(gate.takes_host("training-machine:7175"));
  EXPECT_EQ(gate.token().size(), 64u);
  EXPECT_NE(gate.token(), Gate("0.0.0.0", 7175).token());
  EXPECT_TRUE(gate.takes_token(gate.token(), ""));
  const std::string cookie = gate.cookie().substr(0, gate.cookie().find(';'));
  EXPECT_TRUE(gate.takes_token("", cookie));
  EXPECT_TRUE(gate.takes_token("wrong", "a=b; " + cookie + "; c=d"));
  EXPECT_NE(gate.cookie().find("HttpOnly"), std::string::npos);
  EXPECT_NE(gate.cookie().find("SameSite=Strict"), std::string::npos);
  std::string wrong = gate.token();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& given : {std::string(), wrong, gate.token() + "0", gate.token().substr(1)}) {
    EXPECT_FALSE(gate.takes_token(given, "")) << given;
  }
  EXPECT_FALSE(gate.takes_token("", "loupe-view-7176=" + gate.token()));
  EXPECT_FALSE(gate.takes_token("", "loupe-view-7175=" + wrong));
  EXPECT_FALSE(gate.takes_token("", ";;;="));
}

}  // namespace
}  // namespace loupe::test
