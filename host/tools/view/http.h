#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace loupe::view {

/// One request of a browser or program.
struct Request {
  std::string method;
  std::string path;                                            ///< as sent, without the query
  std::map<std::string, std::vector<std::string>> parameters;  ///< the query, decoded; values in order of arrival
  std::string host, cookies, origin, content_type;             ///< headers; empty if missing
  std::optional<std::size_t> length;                           ///< the length of the body, from its header
  std::string body;  ///< the body of a POST; bodies of other methods are not read

  bool is_head() const { return method == "HEAD"; }
  /// The first value of that name; "" if there is none.
  std::string parameter(const std::string& name) const;
};

/// A request that cannot be served; the text is one sentence for the user.
struct Refusal {
  int status;
  std::string why;
};

struct Answer {
  int status = 200;
  std::string type{};
  std::string policy{};  ///< Content-Security-Policy
  std::string text{};
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Called for more text until it returns nullopt; empty if `text` is the whole answer.
  std::function<std::optional<std::string>()> more{};
};

/// A plain page with the sentence.
Answer refused(const Refusal& refusal);

/// Parses the lines of a request, each ending in "\r\n", without the empty line. Throws Refusal if they are not HTTP/1.
Request parsed_request(std::string_view head);

/// Decodes the percent signs of a path. The result may leave the folder, so open no file by it.
std::string decoded_path(std::string_view path);

/// Reads one request from a connected socket and sends what `give` returns for it; a Refusal or exception that it
/// throws becomes an answer too. Returns when the answer was sent or the other side has left. The caller closes the
/// socket.
void serve_request(int socket, const std::function<Answer(const Request&)>& give);

/// A listening socket.
class Listener {
 public:
  /// `port` 0: any free one. Does not throw: `port()` is 0 if the address or port is not available.
  Listener(const std::string& address, int port);
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;

  int port() const { return port_; }
  /// Waits for the next connection; -1 after `stop`.
  int accept() const;
  void stop() const;

 private:
  int socket_ = -1, port_ = 0;
};

/// An address as it is written in a URL. For 0.0.0.0 and ::, which no browser can open, the machine's name.
std::string name_in_url(const std::string& address);

/// Decides who may use the server. On a loopback address: requests whose header Host names that address, so that no web
/// page can reach the server under its own name. On any other address: requests with the token. Any thread.
class Gate {
 public:
  /// Generates the token from the system's random numbers. Throws Error if there are none.
  Gate(const std::string& address, int port);

  bool wants_token() const { return !token_.empty(); }
  const std::string& token() const { return token_; }
  /// Whether the header `Host` names this server; always true if a token is needed.
  bool takes_host(const std::string& host) const;
  /// Whether a request that changes something comes from a page of this server (by the header `Origin`), or from a
  /// program, which sends no origin. `host` was accepted by takes_host().
  bool takes_origin(const std::string& origin, const std::string& host) const;
  /// Whether `given` is the token, or the header `Cookie` contains it; always true if no token is needed.
  bool takes_token(const std::string& given, const std::string& cookies) const;
  /// The value of `Set-Cookie` that makes a browser keep the token.
  std::string cookie() const;

 private:
  std::string own_name_, port_, token_;
  std::string cookie_name_;  // contains the port, because browsers have one store of cookies for all ports of a machine
};

/// Whether the address can be reached only from this machine.
bool is_loopback(const std::string& address);

/// The connections to a server. No client can block others: each connection has a deadline for its whole request, and
/// the number of connections is limited. Any thread.
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

  /// Takes over an accepted socket. Returns a function that calls `serve` and then closes the socket. If there are too
  /// many connections, cuts off the one that has been asking the longest, else this one.
  std::function<void()> bounded(int socket, std::function<void()> serve);
  /// Called when the connection that this thread serves has sent its request.
  void has_asked();
  /// The same for a connection that follows the list until it ends; returns false if too many follow already.
  bool follow();
  /// Cuts off all connections that have not sent their request yet.
  void end();

 private:
  struct Connection;
  using Matches = std::function<bool(const Connection&)>;

  void admit(Connection& newcomer);
  bool cut_oldest(const Matches& matches);
  std::size_t count(const Matches& matches) const;
  void watch();

  static thread_local Connection* served_;  // the connection that this thread serves
  const Limits limits_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::list<std::shared_ptr<Connection>> connections_;  // the oldest first
  bool is_over_ = false;
  std::thread watcher_;
};

}  // namespace loupe::view
