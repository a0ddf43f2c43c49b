// The end of a watched program and of its run: by exit() or a return from main(), by its last thread, or as the program
// gives up rights that Loupe needs.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "preload/needed_libraries.h"
#include "preload/preload.h"

namespace loupe {
namespace {

std::atomic<bool> has_ended{false};

/// Called by the end of a thread, but not by exit(): the watching library may come later, on another thread.
void on_end_of_thread(void*) {
  if (syscall(SYS_gettid) != getpid()) return;
  main_has_ended = true;
  if (const RunListener* told = listener) told->main_ended();
}

/// Call it at the end of a program, while everything in it is still alive. Ends the record, or prints why there is
/// none. Returns the program's exit code, or a different one if it had to be watched and was not.
int end(int code) {
  if (has_ended.exchange(true)) return code;
  if (const RunListener* told = listener) told->finish();
  if (has_optimizer || is_second || !is_first_process()) return code;
  LibraryName torch{"libtorch_cpu.so", ""}, python{"libtorch_python.so", ""}, any_python{"libpython", ""};
  const char* why = "loaded no LibTorch (libtorch_cpu.so); one that is linked statically cannot be watched";
  if (is_loaded(python) || is_loaded(any_python)) {
    why = "created no optimizer of LibTorch's C++ interface; modules that Python defines are not seen";
  } else if (is_loaded(torch)) {
    why =
        tried
            ? "used LibTorch, but created no optimizer of LibTorch's; parameters that it changes itself are not watched"
            : "loaded LibTorch, and Loupe saw no call of it: it makes no optimizer and asks for no parameters, or "
              "the code that does was loaded by RTLD_DEEPBIND, which bypasses Loupe";
  } else if (is_mapped("/libtorch_cpu.so")) {
    why = "loaded LibTorch by dlmopen, into a namespace that Loupe is not in, and is not watched";
  } else if (rusage children{}; getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0) {
    why = "loaded no LibTorch (libtorch_cpu.so) itself; programs that it started are watched if they train";
  }
  const bool required = is_set(run_require_variable, "1");
  tell("%sthis process %s", required ? "error: " : "", why);
  return required ? exit_unwatched : code;
}

/// Whether a filter of SECCOMP's kills a thread that writes files. A copy of this process tries it. The program does
/// not notice the copy: no fork handler runs, and no signal reports its end.
bool is_killed_for_files(int (*real)(int, ...), const unsigned long (&filter)[4]) {
  const long copy = syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (copy == 0) {
    real(PR_SET_DUMPABLE, 0, 0, 0, 0);
    real(PR_SET_SECCOMP, filter[0], filter[1], filter[2], filter[3]);
    const long file = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
    syscall(SYS_flock, file, LOCK_UN);
    syscall(SYS_mkdirat, AT_FDCWD, "/dev/null", 0700);
    syscall(SYS_unlinkat, AT_FDCWD, "/dev/null/none", 0);
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  return copy > 0 && waitpid(static_cast<pid_t>(copy), &status, __WALL) == copy && WIFSIGNALED(status);
}

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

int watched_main(int count, char** arguments, char** variables) {
  return end(program_main(count, arguments, variables));
}

}  // namespace

void await_end_of_main_thread() {
  static pthread_key_t key;
  if (pthread_key_create(&key, &on_end_of_thread) == 0) pthread_setspecific(key, &key);
}

}  // namespace loupe

// Exit handlers would come too late: objects that the watching library needs may be destroyed before them.
extern "C" {

LOUPE_RUN_EXPORT int __libc_start_main(loupe::Main program, int count, char** arguments, void (*init)(), void (*fini)(),
                                       void (*loader_fini)(), void* stack_end);
int __libc_start_main(loupe::Main program, int count, char** arguments, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  loupe::program_main = program;
  const auto real = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(&loupe::watched_main, count, arguments, init, fini, loader_fini, stack_end);
}

/// The strict mode of SECCOMP kills a thread for anything except reading and writing, as a filter may: the run ends
/// before the program enters it.
LOUPE_RUN_EXPORT int prctl(int option, ...) {
  unsigned long given[4];
  va_list arguments;
  va_start(arguments, option);
  for (unsigned long& each : given) each = va_arg(arguments, unsigned long);
  va_end(arguments);
  const auto real = reinterpret_cast<int (*)(int, ...)>(dlsym(RTLD_NEXT, "prctl"));
  const loupe::RunListener* told = option == PR_SET_SECCOMP ? loupe::listener.load() : nullptr;
  const bool is_strict = given[0] == SECCOMP_MODE_STRICT;
  if (told != nullptr && (is_strict || loupe::is_killed_for_files(real, given))) {
    told->finish();
    loupe::tell(is_strict
                    ? "the program enters SECCOMP's strict mode, in which only reading and writing is allowed: it "
                      "continues unwatched"
                    : "the program enters a SECCOMP filter that kills it for using files: it continues unwatched");
  }
  return real(option, given[0], given[1], given[2], given[3]);
}

LOUPE_RUN_EXPORT void exit(int code) noexcept {
  const auto real = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"));
  real(loupe::end(code));
  __builtin_unreachable();
}
}
