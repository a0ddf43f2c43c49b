// Requests as browsers send them, as other clients do, and as attackers do.

#include "view/http.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

namespace loupe::test {
namespace {

using view::Answer;
using view::Listener;
using view::parsed_request;
using view::Refusal;
using view::Request;

TEST(HttpRequest, IsReadAsABrowserSendsIt) {
  const Request request = parsed_request(
      "GET /report?runs=3%2C7&token=ab+c&empty=&flag&runs=9 HTTP/1.1\r\nHost: 127.0.0.1:7175\r\nAccept: */*\r\n"
      "cookie:\t a=1; b=2 \r\nCookie: c=3\r\n");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/report");
  EXPECT_EQ(request.parameter("runs"), "3,7") << "the first value of a repeated name";
  EXPECT_EQ(request.parameters.at("runs"), (std::vector<std::string>{"3,7", "9"}));
  EXPECT_EQ(request.parameter("token"), "ab c");
  EXPECT_EQ(request.parameter("empty"), "");
  EXPECT_EQ(request.parameter("missing"), "");
  EXPECT_EQ(request.parameters.count("flag"), 1u);
  EXPECT_EQ(request.host, "127.0.0.1:7175");
  EXPECT_EQ(request.cookies, "a=1; b=2; c=3");
  EXPECT_TRUE(parsed_request("HEAD / HTTP/1.0\r\n").is_head());
}

TEST(HttpRequest, KeepsAPercentSignWithoutAByte) {
  EXPECT_EQ(parsed_request("GET /?x=%&y=%2&z=%zz%41%4 HTTP/1.1\r\n").parameters,
            (std::map<std::string, std::vector<std::string>>{{"x", {"%"}}, {"y", {"%2"}}, {"z", {"%zzA%4"}}}));
}

TEST(HttpRequest, IsRefusedIfServersMayReadItDifferently) {
  for (const char* wrong :
       {"\r\n", "GET\r\n", "GET /\r\n", "GET  / HTTP/1.1\r\n", " GET / HTTP/1.1\r\n", "GET / HTTP/2.0\r\n",
        "GET / HTTP/1.1 \r\n", "GET / x HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n", "GET / HTTP/1.1\r\n: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n", "POST / HTTP/1.1\r\nContent-Length: 0x1\r\n",
        "POST / HTTP/1.1\r\nContent-Length:\r\n", "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n"}) {
    try {
      parsed_request(wrong);
      ADD_FAILURE() << "accepted: " << wrong;
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.status, 400) << wrong;
    }
  }
}

/// Sends one request, and returns everything received until the other side closes.
std::string exchange(const std::string& sent, const std::function<Answer(const Request&)>& give,
                     std::size_t pieces = 1) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::thread server([&] {
    view::serve_request(ends[0], give);
    ::close(ends[0]);
  });
  const std::size_t size = sent.size() / pieces + 1;
  for (std::size_t at = 0; at < sent.size(); at += size) {
    const std::string piece = sent.substr(at, size);
    EXPECT_EQ(::send(ends[1], piece.data(), piece.size(), MSG_NOSIGNAL), static_cast<ssize_t>(piece.size()));
  }
  std::string received;
  char piece[4096];
  for (ssize_t count; (count = ::recv(ends[1], piece, sizeof piece, 0)) > 0;) {
    received.append(piece, static_cast<std::size_t>(count));
  }
  ::close(ends[1]);
  server.join();
  return received;
}

Answer hello(const Request& request) {
  return {200, "text/plain", "none", "hello " + request.path};
}
std::string first_line(const std::string& text) {
  return text.substr(0, text.find("\r\n"));
}
std::string body(const std::string& text) {
  return text.substr(text.find("\r\n\r\n") + 4);
}

TEST(HttpExchange, AnswersARequestInAnyPieces) {
  const std::string request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t pieces = 1; pieces <= request.size(); ++pieces) {
    const std::string got = exchange(request, hello, pieces);
    EXPECT_EQ(first_line(got), "HTTP/1.1 200 OK");
    EXPECT_NE(got.find("\r\nContent-Length: 8\r\n"), std::string::npos) << got;
    EXPECT_EQ(body(got), "hello /a");
  }
}

TEST(HttpExchange, SendsNoBodyForHead) {
  const std::string got = exchange("HEAD /a HTTP/1.1\r\n\r\n", hello);
  EXPECT_NE(got.find("\r\nContent-Length: 8\r\n"), std::string::npos) << got;
  EXPECT_EQ(body(got), "");
}

TEST(HttpExchange, ReadsOneRequestAndIgnoresTheRest) {
  const std::string got = exchange("POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\n\r\n", hello);
  EXPECT_EQ(body(got), "hello /a");
}

TEST(HttpExchange, ReadsTheBodyOfAPostInAnyPieces) {
  const auto echo = [](const Request& request) {
    return Answer{200, "text/plain", "none", request.content_type + ' ' + request.origin + ' ' + request.body};
  };
  const std::string request =
      "POST /a HTTP/1.1\r\nOrigin: http://x\r\ncontent-type: text/json\r\nContent-Length: 7\r\n\r\n{\r\n\r\n}xyz";
  for (std::size_t pieces = 1; pieces <= request.size(); ++pieces) {
    EXPECT_EQ(body(exchange(request, echo, pieces)), "text/json http://x {\r\n\r\n}x") << pieces;
  }
}

TEST(HttpExchange, RefusesABodyWithoutALengthOrThatIsTooLong) {
  const auto status = [](const std::string& headers) {
    bool is_asked = false;
    const std::string got = exchange("POST / HTTP/1.1\r\n" + headers + "\r\n", [&](const Request& request) {
      is_asked = true;
      return hello(request);
    });
    EXPECT_FALSE(is_asked) << headers;
    return first_line(got);
  };
  EXPECT_EQ(status(""), "HTTP/1.1 411 Length Required");
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\n"), "HTTP/1.1 411 Length Required");
  EXPECT_EQ(status("Content-Length: 32769\r\n"), "HTTP/1.1 413 Content Too Large");
}

TEST(HttpExchange, SendsAStreamToItsEnd) {
  int left = 3;
  const std::string got = exchange("GET / HTTP/1.1\r\n\r\n", [&](const Request&) {
    Answer answer{200, "text/event-stream", "none"};
    answer.more = [&]() -> std::optional<std::string> {
      return left-- > 0 ? std::optional<std::string>("x" + std::to_string(left)) : std::nullopt;
    };
    return answer;
  });
  EXPECT_EQ(got.find("Content-Length"), std::string::npos);
  EXPECT_EQ(body(got), "x2x1x0");
}

TEST(HttpExchange, EndsAStreamWhoseReaderHasLeft) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(ends[1], request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  view::serve_request(ends[0], [&](const Request&) {
    ::close(ends[1]);
    Answer answer{200, "text/event-stream", "none"};
    answer.more = [] { return std::optional<std::string>("and so on"); };
    return answer;
  });
  ::close(ends[0]);
}

TEST(HttpExchange, ReportsErrorsInTheAnswer) {
  const auto refuses = [](const Request&) -> Answer { throw Refusal{404, "there is nothing"}; };
  const auto fails = [](const Request&) -> Answer { throw std::runtime_error("the disk is missing"); };
  const std::string refused = exchange("GET / HTTP/1.1\r\n\r\n", refuses);
  EXPECT_EQ(first_line(refused), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(body(refused), "there is nothing\n");
  const std::string failed = exchange("GET / HTTP/1.1\r\n\r\n", fails);
  EXPECT_EQ(first_line(failed), "HTTP/1.1 500 Internal Server Error");
  EXPECT_EQ(body(failed), "the disk is missing\n");
  EXPECT_EQ(first_line(exchange("\x16\x03\x01 hello TLS\r\n\r\n", hello)), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(first_line(exchange("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n", hello)),
            "HTTP/1.1 431 Request Header Fields Too Large");
}

TEST(HttpExchange, AnswersNothingIfTheClientLeavesBeforeItsRequestIsComplete) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(::send(ends[1], "GET /", 5, MSG_NOSIGNAL), 5);
  ::shutdown(ends[1], SHUT_WR);
  bool is_asked = false;
  view::serve_request(ends[0], [&](const Request& request) {
    is_asked = true;
    return hello(request);
  });
  EXPECT_FALSE(is_asked);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(HttpListener, SharesItsPortWithNobody) {
  const Listener listener("127.0.0.1", 0);
  EXPECT_NE(listener.port(), 0);
  EXPECT_EQ(Listener("127.0.0.1", listener.port()).port(), 0);
  EXPECT_EQ(Listener("192.0.2.1", 0).port(), 0) << "an address that is not this machine's";
  EXPECT_EQ(Listener("no such address", 0).port(), 0);
}

TEST(HttpListener, AcceptsNothingOnceItIsStopped) {
  const Listener listener("127.0.0.1", 0);
  std::thread accepting([&] { EXPECT_EQ(listener.accept(), -1); });
  listener.stop();
  accepting.join();
}

}  // namespace
}  // namespace loupe::test
