#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace loupe::test {

/// Sets an environment variable to another value, or unsets it, during this object's life.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Redirects one of the process's streams during this object's life. Use no expectations meanwhile: gtest prints there.
class Redirected {
 public:
  Redirected(FILE* stream, int target) : stream_(stream) {
    fflush(stream_);
    before_ = dup(fileno(stream_));
    if (before_ < 0 || dup2(target, fileno(stream_)) < 0) throw std::runtime_error("cannot redirect");
  }
  ~Redirected() {
    fflush(stream_);
    dup2(before_, fileno(stream_));
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  FILE* stream_;
  int before_;
};

/// A pseudo-terminal of a given size. It passes on written bytes unchanged.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns, unsigned short rows = 24) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    termios raw{};
    cfmakeraw(&raw);
    if (openpty(&reader_, &writer_, nullptr, &raw, &size) != 0) throw std::runtime_error("no pseudo-terminal");
  }
  ~PseudoTerminal() {
    close(reader_);
    close(writer_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  int writer() const { return writer_; }
  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    ioctl(writer_, TIOCSWINSZ, &size);
  }
  /// The text written since the last call; it must be less than the terminal's buffer of 4 KiB.
  std::string read() const {
    std::string text;
    char part[4096];
    for (pollfd ready{reader_, POLLIN, 0}; poll(&ready, 1, 0) > 0;) {
      const ssize_t count = ::read(reader_, part, sizeof part);
      if (count <= 0) break;
      text.append(part, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int reader_ = -1, writer_ = -1;
};

/// A temporary file to redirect to and read from.
class Sink {
 public:
  Sink() : file_(tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file");
  }
  ~Sink() { fclose(file_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  int writer() const { return fileno(file_); }
  std::string read() const {
    std::string text;
    char part[4096];
    off_t at = 0;
    for (ssize_t count; (count = pread(fileno(file_), part, sizeof part, at)) > 0; at += count) {
      text.append(part, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  FILE* file_;
};

}  // namespace loupe::test
