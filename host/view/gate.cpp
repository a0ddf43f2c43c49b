#include "view/gate.h"

#include <arpa/inet.h>
#include <loupe/error.h>
#include <sys/random.h>

#include <array>
#include <string_view>

namespace loupe::view {
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

/// In a time that does not tell how much of it is right.
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

Gate::Gate(const std::string& address, int port)
    : port_(std::to_string(port)),
      token_(is_loopback(address) ? "" : random_token()),
      cookie_name_("loupe-view-" + port_) {}

bool Gate::takes_host(const std::string& host) const {
  if (wants_token()) return true;
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == name + (':' + port_) || (port_ == "80" && host == name)) return true;
  }
  return false;
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

}  // namespace loupe::view
