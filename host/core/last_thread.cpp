#include "core/last_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <loupe/detail/own_thread.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

namespace loupe {
namespace {

std::atomic<bool> is_wanted{false}, main_has_ended{false}, is_watching{false};

bool is_main_thread() {
  return ::syscall(SYS_gettid) == ::getpid();
}

/// Whether the thread's name marks it as Loupe's. A thread that has ended by now counts as Loupe's, too.
bool is_own(const std::string& thread) {
  const int file = ::open(("/proc/self/task/" + thread + "/comm").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char name[32] = "";
  const ssize_t size = ::read(file, name, sizeof name - 1);
  ::close(file);
  return size <= 0 || std::strncmp(name, detail::own_thread_prefix, std::strlen(detail::own_thread_prefix)) == 0;
}

/// Beside the main thread, which stays in the list after its end. True where the system does not say.
bool has_threads_of_the_program() {
  DIR* threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return true;
  const std::string main_thread = std::to_string(::getpid());
  bool found = false;
  while (const dirent* each = ::readdir(threads)) {
    found = found || (each->d_name[0] != '.' && each->d_name != main_thread && !is_own(each->d_name));
  }
  ::closedir(threads);
  return found;
}

void watch() {
  detail::name_own_thread("end");
  // Twice in a row: a thread that starts another one and ends may slip through one list.
  for (int alone = 0; alone < 2; alone = has_threads_of_the_program() ? 0 : alone + 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::exit(0);
}

void watch_where_due() {
  if (!is_wanted || !main_has_ended || is_watching.exchange(true)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
  try {
    std::thread(&watch).detach();
  } catch (const std::exception&) {  // without threads there are none of Loupe's either
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Called by the end of a thread, but not by exit().
void on_end_of_thread(void*) {
  if (is_main_thread()) main_thread_ended();
}

__attribute__((constructor)) void await_end_of_main_thread() {
  static pthread_key_t key;
  if (is_main_thread() && pthread_key_create(&key, &on_end_of_thread) == 0) pthread_setspecific(key, &key);
}

}  // namespace

void end_with_last_thread() {
  is_wanted = true;
  watch_where_due();
}

void main_thread_ended() {
  main_has_ended = true;
  watch_where_due();
}

}  // namespace loupe
