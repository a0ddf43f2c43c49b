#include "view/http.h"

#include <arpa/inet.h>
#include <loupe/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

namespace loupe::view {
namespace {

constexpr std::size_t most_of_head = 16384, most_of_body = 32768;
constexpr std::string_view line_end = "\r\n";
// The longest time to wait for a client that reads nothing.
constexpr timeval longest_send = {5, 0};
// The longest time to wait for a client that sends more after the answer.
constexpr auto longest_goodbye = std::chrono::seconds(1);

constexpr const char* always_sent =
    "Connection: close\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

const char* phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

[[noreturn]] void refuse_malformed() {
  throw Refusal{400, "this is not a valid HTTP request; open the address that loupe view printed in a browser"};
}

/// Cuts the text at the first `separator` and returns the part before it; returns all of it if there is no separator.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  return taken;
}

std::string decoded(std::string_view text, char plus) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i] == '+' ? plus : text[i];
    }
  }
  return plain;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool is_header(std::string_view name, std::string_view wanted) {
  return name.size() == wanted.size() && ::strncasecmp(name.data(), wanted.data(), name.size()) == 0;
}

/// Receives the next bytes; returns "" once the other side has closed the connection.
std::string_view receive(int socket, char (&piece)[4096]) {
  for (;;) {
    const ssize_t count = ::recv(socket, piece, sizeof piece, 0);
    if (count < 0 && errno == EINTR) continue;
    return {piece, count > 0 ? static_cast<std::size_t>(count) : 0};
  }
}

/// Returns "" if the other side left before the empty line. Bytes after the head go into `rest`.
std::string read_head(int socket, std::string& rest) {
  std::string head;
  char piece[4096];
  while (head.size() < most_of_head) {
    const std::string_view came = receive(socket, piece);
    if (came.empty()) return {};
    const std::size_t seen = head.size() < 3 ? 0 : head.size() - 3;
    head.append(came);
    const std::size_t end = head.find("\r\n\r\n", seen);
    if (end == std::string::npos) continue;
    rest = head.substr(end + 2 * line_end.size());
    return head.substr(0, end + line_end.size());
  }
  throw Refusal{431, "the request has too many or too long headers; remove this site's cookies"};
}

/// Returns false if the other side left before the end of the body. `body` holds its beginning already, and may hold
/// more.
bool read_body(int socket, std::optional<std::size_t> length, std::string& body) {
  if (!length) throw Refusal{411, "the request does not say how long it is; send the header Content-Length"};
  if (*length > most_of_body) {
    throw Refusal{413, "the request has more than " + std::to_string(most_of_body) + " bytes; send less"};
  }
  char piece[4096];
  while (body.size() < *length) {
    const std::string_view came = receive(socket, piece);
    if (came.empty()) return false;
    body.append(came);
  }
  body.resize(*length);
  return true;
}

/// Returns false if the other side reads no more.
bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void send_answer(int socket, const Answer& answer, bool is_head) {
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + ' ' + phrase_of(answer.status) + "\r\n" + always_sent;
  head += "Content-Type: " + answer.type + "\r\nContent-Security-Policy: " + answer.policy + "\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  // A stream has no length: it ends with the connection.
  if (!answer.more) head += "Content-Length: " + std::to_string(answer.text.size()) + "\r\n";
  if (!send_all(socket, head + "\r\n") || is_head || !send_all(socket, answer.text) || !answer.more) return;
  while (const std::optional<std::string> more = answer.more()) {
    if (!send_all(socket, *more)) return;
  }
}

/// Closing a socket with unread data would reset the connection and lose an answer that is still under way.
void say_goodbye(int socket) {
  ::shutdown(socket, SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + longest_goodbye;
  char ignored[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd readable{socket, POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) return;
    if (::recv(socket, ignored, sizeof ignored, 0) <= 0) return;
  }
}

}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second.front();
}

Answer refused(const Refusal& refusal) {
  Answer answer;
  answer.status = refusal.status;
  answer.type = "text/plain; charset=utf-8";
  answer.policy = "default-src 'none'; frame-ancestors 'self'";  // the frame of a report may show it instead
  answer.text = refusal.why + '\n';
  return answer;
}

std::string decoded_path(std::string_view path) {
  return decoded(path, '+');
}

Request parsed_request(std::string_view head) {
  Request request;
  std::string_view line = take_until(head, line_end);
  request.method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (request.method.empty() || target.empty() || line.size() != 8 || line.substr(0, 7) != "HTTP/1.") {
    refuse_malformed();
  }
  request.path = take_until(target, "?");
  while (!target.empty()) {
    std::string_view value = take_until(target, "&");
    const std::string_view name = take_until(value, "=");
    request.parameters[decoded(name, ' ')].push_back(decoded(value, ' '));
  }
  bool has_host = false;
  while (!head.empty()) {
    std::string_view value = take_until(head, line_end);
    const std::size_t colon = value.find(':');
    // Servers interpret a name with a space, or a continuation line, in different ways: refuse them.
    if (colon == 0 || colon == std::string_view::npos || value.find_first_of(" \t") < colon) refuse_malformed();
    const std::string_view name = take_until(value, ":");
    if (is_header(name, "Host")) {
      if (has_host) refuse_malformed();
      has_host = true;
      request.host = trimmed(value);
    } else if (is_header(name, "Cookie")) {
      if (!request.cookies.empty()) request.cookies += "; ";
      request.cookies += trimmed(value);
    } else if (is_header(name, "Origin")) {
      // Two origins joined never equal an address of this server.
      request.origin += trimmed(value);
    } else if (is_header(name, "Content-Type")) {
      request.content_type += trimmed(value);
    } else if (is_header(name, "Content-Length")) {
      const std::string_view digits = trimmed(value);
      std::size_t length = 0;
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), length);
      if (request.length || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
        refuse_malformed();
      }
      request.length = length;
    } else if (is_header(name, "Transfer-Encoding")) {
      throw Refusal{411, "this server takes no request in chunks; send the header Content-Length"};
    }
  }
  return request;
}

void serve_request(int socket, const std::function<Answer(const Request&)>& give) {
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest_send, sizeof longest_send);
  Request request;
  Answer answer;
  try {
    std::string rest;
    const std::string head = read_head(socket, rest);
    if (head.empty()) return;
    request = parsed_request(head);
    if (request.method == "POST") {
      request.body = std::move(rest);
      if (!read_body(socket, request.length, request.body)) return;
    }
    answer = give(request);
  } catch (const Refusal& refusal) {
    answer = refused(refusal);
  } catch (const std::exception& e) {
    answer = refused({500, e.what()});
  }
  send_answer(socket, answer, request.is_head());
  say_goodbye(socket);
}

Listener::Listener(const std::string& address, int port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> freed(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int socket = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (socket < 0) continue;
    // Allow a port that was in use a minute ago, but do not share it with a server that still listens.
    const int yes = 1, no = 0;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (each->ai_family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::bind(socket, each->ai_addr, each->ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
      socket_ = socket;
      port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                              : reinterpret_cast<const sockaddr_in&>(own).sin_port);
      return;
    }
    ::close(socket);
  }
}

Listener::~Listener() {
  if (socket_ >= 0) ::close(socket_);
}

Listener::Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}

int Listener::accept() const {
  for (;;) {
    const int accepted = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted >= 0) return accepted;
    if (errno == EINVAL || errno == EBADF) return -1;
    // No descriptors or memory left: wait until another connection releases some.
    if (errno != EINTR && errno != ECONNABORTED) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// On Linux this wakes the thread that waits in accept().
void Listener::stop() const {
  ::shutdown(socket_, SHUT_RDWR);
}

namespace {

std::string random_token() {
  std::array<unsigned char, 32> bytes;
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw Error("the system gives no random numbers for a token; leave out --address");
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += digits[byte >> 4];
    token += digits[byte & 15];
  }
  return token;
}

/// Its duration does not depend on which characters are right, so that timing reveals nothing about the token.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

bool is_loopback(const std::string& address) {
  if (address == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string name_in_url(const std::string& address) {
  if (address == "0.0.0.0" || address == "::") {
    char name[256] = "";
    if (::gethostname(name, sizeof name - 1) == 0 && *name != '\0') return name;
  }
  return address.find(':') == std::string::npos ? address : '[' + address + ']';
}

Gate::Gate(const std::string& address, int port)
    : own_name_(name_in_url(address)),
      port_(std::to_string(port)),
      token_(is_loopback(address) ? "" : random_token()),
      cookie_name_("loupe-view-" + port_) {}

bool Gate::takes_host(const std::string& host) const {
  if (wants_token()) return true;
  const auto is = [&](const std::string& name) {
    return host == name + ':' + port_ || (port_ == "80" && host == name);
  };
  return is(own_name_) || is("127.0.0.1") || is("localhost") || is("[::1]");
}

bool Gate::takes_origin(const std::string& origin, const std::string& host) const {
  return origin.empty() || origin == "http://" + host;
}

bool Gate::takes_token(const std::string& given, const std::string& cookies) const {
  if (!wants_token() || is_equal(given, token_)) return true;
  const std::string key = cookie_name_ + '=';
  for (std::size_t begin = 0; begin < cookies.size();) {
    std::size_t end = cookies.find(';', begin);
    if (end == std::string::npos) end = cookies.size();
    while (begin < end && cookies[begin] == ' ') ++begin;
    const std::string_view each(cookies.data() + begin, end - begin);
    if (each.substr(0, key.size()) == key && is_equal(each.substr(key.size()), token_)) return true;
    begin = end + 1;
  }
  return false;
}

std::string Gate::cookie() const {
  return cookie_name_ + '=' + token_ + "; Path=/; HttpOnly; SameSite=Strict";
}

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Connections::Connection {
  int socket;
  Clock::time_point deadline;
  bool is_asking = true, follows = false, is_cut = false;

  void cut() {
    is_cut = true;
    ::shutdown(socket, SHUT_RDWR);
  }
};

thread_local Connections::Connection* Connections::served_ = nullptr;

Connections::Connections(const Limits& limits) : limits_(limits), watcher_([this] { watch(); }) {}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  watcher_.join();
}

std::function<void()> Connections::bounded(int socket, std::function<void()> serve) {
  const std::lock_guard lock(mutex_);
  const auto connection = std::make_shared<Connection>(Connection{socket, Clock::now() + limits_.request});
  admit(*connection);
  connections_.push_back(connection);
  changed_.notify_one();
  return [this, connection, serve = std::move(serve)] {
    served_ = connection.get();
    serve();
    served_ = nullptr;
    const std::lock_guard lock(mutex_);
    ::close(connection->socket);
    connections_.remove(connection);
  };
}

void Connections::has_asked() {
  const std::lock_guard lock(mutex_);
  if (served_ != nullptr) served_->is_asking = false;
}

bool Connections::follow() {
  const std::lock_guard lock(mutex_);
  if (served_ == nullptr) return true;
  const auto follows = [](const Connection& each) { return each.follows; };
  served_->is_asking = false;
  served_->follows = count(follows) < limits_.followers;
  return served_->follows;
}

void Connections::end() {
  const std::lock_guard lock(mutex_);
  while (cut_oldest([](const Connection&) { return true; })) {
  }
}

void Connections::admit(Connection& newcomer) {
  const auto takes_place = [](const Connection& each) { return !each.is_cut; };
  if (count(takes_place) >= limits_.all && !cut_oldest(takes_place)) newcomer.cut();
}

/// Cuts the oldest matching connection that has not sent its request yet. Returns whether there was one.
bool Connections::cut_oldest(const Matches& matches) {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](const auto& each) {
    return each->is_asking && !each->is_cut && matches(*each);
  });
  if (oldest == connections_.end()) return false;
  (*oldest)->cut();
  return true;
}

std::size_t Connections::count(const Matches& matches) const {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(), [&](const auto& each) { return matches(*each); }));
}

void Connections::watch() {
  constexpr auto longest = std::chrono::hours(1);
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const auto now = Clock::now();
    while (cut_oldest([&](const Connection& each) { return each.deadline <= now; })) {
    }
    // Connections are in order of arrival, so the first one that is still asking has the next deadline.
    const auto next = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& each) { return each->is_asking && !each->is_cut; });
    changed_.wait_until(lock, next == connections_.end() ? now + longest : (*next)->deadline);
  }
}

}  // namespace loupe::view
