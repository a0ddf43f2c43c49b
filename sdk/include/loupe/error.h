#pragma once

#include <loupe/abi.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#if !defined(__cpp_exceptions)
#error "Loupe's C++ layer reports failures by exceptions: build without -fno-exceptions, or use only loupe/abi.h"
#endif

/// For a function with a static variable. A visible variable would exist once in a process, so a second plugin would
/// use the first plugin's, even for a different class of the same name.
#if defined(__GNUC__) && !defined(_WIN32)
#define LOUPE_HIDDEN __attribute__((visibility("hidden")))
#else
#define LOUPE_HIDDEN
#endif

namespace loupe {
inline namespace v1_0 {

/// The exception that components throw, and that a failed call to the host throws. Its message is one sentence for the
/// user.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, loupe_status status = LOUPE_FAILED)
      : std::runtime_error(message), status_(status) {}
  loupe_status status() const noexcept { return status_; }

 private:
  loupe_status status_;
};

namespace detail {

inline void write_error(loupe_error* error, const char* message) noexcept {
  if (error == nullptr || error->message == nullptr || error->capacity == 0) return;
  const std::size_t length = std::min<std::size_t>(std::strlen(message), error->capacity - 1);
  std::memcpy(error->message, message, length);
  error->message[length] = '\0';
}

/// Runs `body` and turns whatever it throws into a status and a message: no exception leaves a plugin or the host.
/// A body that returns a status writes its own message. Use that for frequent failures, as throwing takes microseconds.
template <class Body>
loupe_status guarded(loupe_error* error, Body&& body) noexcept {
  try {
    if constexpr (std::is_same_v<decltype(body()), loupe_status>) {
      return body();
    } else {
      body();
      return LOUPE_OK;
    }
  } catch (const Error& e) {
    write_error(error, e.what());
    return e.status() == LOUPE_OK ? LOUPE_FAILED : e.status();
  } catch (const std::exception& e) {
    write_error(error, e.what());
  } catch (...) {
    write_error(error, "an exception that is not a std::exception was thrown");
  }
  return LOUPE_FAILED;
}

/// A loupe_error with its buffer, for calls across the boundary.
class ErrorBuffer {
 public:
  // The last byte stays out of reach, so the text is terminated even if a plugin fills the whole buffer. The bytes
  // between are not cleared, as one of these is made for every event.
  ErrorBuffer() : error_{sizeof(loupe_error), sizeof text_ - 1, text_} { text_[0] = text_[sizeof text_ - 1] = '\0'; }
  ErrorBuffer(const ErrorBuffer&) = delete;
  ErrorBuffer& operator=(const ErrorBuffer&) = delete;

  loupe_error* get() { return &error_; }
  const char* text() const { return text_[0] != '\0' ? text_ : "it gave no reason"; }
  /// Throws Error with the text if `status` is a failure.
  void check(loupe_status status) const {
    if (status != LOUPE_OK) throw Error(text(), status);
  }

 private:
  loupe_error error_;
  char text_[1024];
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
