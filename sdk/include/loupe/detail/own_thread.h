#pragma once

#include <pthread.h>

#include <string>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// How the names of Loupe's own threads begin.
constexpr const char* own_thread_prefix = "loupe:";

/// Names this thread and those that it starts later: debuggers and `top -H` show it, and the host tells by it whether a
/// process has any thread left but Loupe's. @param what  9 characters at most, or the system refuses
inline void name_own_thread(const char* what) {
  pthread_setname_np(pthread_self(), (std::string(own_thread_prefix) + what).c_str());
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
