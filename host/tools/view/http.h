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

/// What a browser asks for.
struct Request {
  std::string method;
  std::string path;                                            ///< as it was sent, without the query
  std::map<std::string, std::vector<std::string>> parameters;  ///< the query, decoded; values in the order they came
  std::string host, cookies, origin, content_type;             ///< headers; empty where they are missing
  std::optional<std::size_t> length;                           ///< of the body, as the header says
  std::string body;                                            ///< of a POST; that of other methods is not read

  bool is_head() const { return method == "HEAD"; }
  /// The first of that name; empty where it is missing.
  std::string parameter(const std::string& name) const;
};

/// The request cannot be served; the text is one sentence.
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
  /// Called for more text until it returns none; empty where `text` is everything.
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

/// A socket that listens.
class Listener {
 public:
  /// `port` 0: any free one. Throws nothing: `port()` is 0 where the address or port cannot be had.
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

/// An address as a URL has it; that of all addresses is no place to go to, and the machine's name is.
std::string name_in_url(const std::string& address);

/// Who may ask the server. On the machine's own address: requests that name that address as the host, so that no page
/// of the web reaches it under its own name. On any other: who brings the token. Any thread.
class Gate {
 public:
  /// Takes the token from the system's randomness. Throws Error without a source of it.
  Gate(const std::string& address, int port);

  bool wants_token() const { return !token_.empty(); }
  const std::string& token() const { return token_; }
  /// Whether the header `Host` names this server; always where a token is wanted.
  bool takes_host(const std::string& host) const;
  /// Whether a request that changes something comes from a page of this server's, as the header `Origin` says, or from
  /// a program, which sends none. `host` is one that it takes.
  bool takes_origin(const std::string& origin, const std::string& host) const;
  /// Whether this is the token, or the header `Cookie` has it; always where none is wanted.
  bool takes_token(const std::string& given, const std::string& cookies) const;
  /// For a browser to keep the token: what the header `Set-Cookie` says.
  std::string cookie() const;

 private:
  std::string own_name_, port_, token_;
  std::string cookie_name_;  // by port, for browsers keep one store of cookies for all of a machine's
};

/// Whether only this machine reaches the address.
bool is_loopback(const std::string& address);

/// The connections to a server, so that nobody keeps others from being served: each has a deadline for its whole
/// request, however it is sent, and their number is limited. Any thread.
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
