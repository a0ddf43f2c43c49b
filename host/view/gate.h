#pragma once

#include <string>

namespace loupe::view {

/// Who may ask the server. On the machine's own address: whoever names that address as the host, so that no page of the
/// web reaches it under a name of its own. On any other: who brings the token. Any thread.
class Gate {
 public:
  /// Takes the token from the system's randomness. Throws Error where there is none.
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
  std::string port_, token_;
  std::string cookie_name_;  // by port, for browsers keep one store of cookies for all of a machine's
};

/// Whether only this machine reaches the address.
bool is_loopback(const std::string& address);

}  // namespace loupe::view
