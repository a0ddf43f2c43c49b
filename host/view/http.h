#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

/// Reads the lines of a request, each with its "\r\n", without the empty line. Throws Refusal where they are no HTTP/1.
Request parsed_request(std::string_view head);

/// A path without percent signs for what an address cannot hold. Not for opening files by.
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

}  // namespace loupe::view
