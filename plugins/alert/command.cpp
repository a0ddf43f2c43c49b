#include "alert/command.h"

#include <loupe/files/descriptor.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace loupe {
namespace {

void check(int error) {
  if (error != 0) throw std::system_error(error, std::generic_category());
}

/// An unnamed file that holds the text. A child can read it as standard input without blocking the writer.
class Input {
 public:
  explicit Input(const std::string& text) : descriptor_(::memfd_create("loupe finding", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw last_error();
    write_all(descriptor_, text);
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  ~Input() { ::close(descriptor_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Restores the state in which a shell starts a child process.
struct SpawnSettings {
  SpawnSettings() {
    check(::posix_spawn_file_actions_init(&actions));
    check(::posix_spawnattr_init(&attributes));
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// The environment without the library that `loupe run` preloads.
std::vector<char*> environment() {
  std::vector<char*> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const bool watches = variable.substr(0, 11) == "LD_PRELOAD=" && variable.find("libloupe_run") != variable.npos;
    if (!watches) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  return variables;
}

pid_t start(const std::string& command, const Input& input) {
  SpawnSettings settings;
  check(::posix_spawn_file_actions_adddup2(&settings.actions, input.get(), STDIN_FILENO));
  // The command's output goes to stderr: stdout holds the program's own results.
  check(::posix_spawn_file_actions_adddup2(&settings.actions, STDERR_FILENO, STDOUT_FILENO));
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  check(::posix_spawnattr_setsigmask(&settings.attributes, &none));
  check(::posix_spawnattr_setsigdefault(&settings.attributes, &all));
  check(::posix_spawnattr_setpgroup(&settings.attributes, 0));
  check(::posix_spawnattr_setflags(&settings.attributes,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
  std::string shell = "sh", option = "-c", text = command;
  char* const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  check(::posix_spawn(&child, "/bin/sh", &settings.actions, &settings.attributes, arguments, environment().data()));
  return child;
}

}  // namespace

Ended run_command(const std::string& command, const std::string& input, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Input file(input);
  const pid_t child = start(command, file);
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  std::chrono::milliseconds pause(1);
  constexpr std::chrono::milliseconds longest(50);
  int status = 0;
  bool in_time = true;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, in_time ? WNOHANG : 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return {in_time, 0};  // the program has already waited for this child
    if (in_time && Clock::now() >= until) {
      in_time = false;
      ::kill(-child, SIGKILL);
    } else if (in_time) {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, longest);
    }
  }
  constexpr int by_signal = 128;
  return {in_time, WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status)};
}

}  // namespace loupe
