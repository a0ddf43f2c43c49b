#pragma once

#include <pthread.h>

#include <string>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// The prefix of the names of Loupe's own threads.
constexpr const char* own_thread_prefix = "loupe:";

/// Names this thread and those that it starts later: debuggers and `top -H` show the name, and the host checks by it
/// whether a process has other threads than Loupe's. @param what at most 9 characters, or the system refuses it
inline void name_own_thread(const char* what) {
  pthread_setname_np(pthread_self(), (std::string(own_thread_prefix) + what).c_str());
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
