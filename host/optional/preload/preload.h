#pragma once

#include <atomic>

#include "preload/boundary.h"

// Declarations shared by the files of libloupe_run.so. They use only C's library.

#define LOUPE_RUN_EXPORT __attribute__((visibility("default")))

namespace loupe {

constexpr unsigned long text_size = 1024;

struct LibraryName {
  const char* begins;
  char path[text_size];
};
/// Finds the path of a loaded library whose file name begins with `name.begins`.
bool is_loaded(LibraryName& name);

inline constinit std::atomic<const RunListener*> listener{nullptr};  // null until the watching library is loaded
inline constinit std::atomic<bool> has_optimizer{false};             // the program created an optimizer
inline constinit std::atomic<bool> main_has_ended{false};            // it ended by pthread_exit
inline constinit std::atomic<bool> tried{false};                     // Loupe tried to watch this process
inline constinit std::atomic<bool> is_second{false};  // another installation's library comes before this one

/// The process that `loupe run` became, or that a job script started; not one that it forked or started itself.
bool is_first_process();
__attribute__((format(printf, 1, 2))) void tell(const char* format, ...);
/// Call it on the main thread. Reports the end of that thread to the watching library.
void await_end_of_main_thread();

}  // namespace loupe
