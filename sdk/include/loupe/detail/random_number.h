#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// A number that nobody can guess. Not of std::random_device, which a program may have replaced by a fixed sequence to
/// make training repeatable: Loupe must not consume it. Throws std::system_error.
inline std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category());
  }
  return number;
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
