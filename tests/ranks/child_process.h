#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe::test {

/// A program that runs while this object lives.
class ChildProcess {
 public:
  ChildProcess(std::vector<std::string> command, std::vector<std::string> environment) {
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> all;
      for (std::string& text : texts) all.push_back(text.data());
      all.push_back(nullptr);
      return all;
    };
    EXPECT_EQ(::posix_spawnp(&number_, command[0].c_str(), nullptr, nullptr, pointers(command).data(),
                             pointers(environment).data()),
              0);
  }
  ~ChildProcess() {
    ::kill(number_, SIGKILL);
    wait();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int number() const { return number_; }
  void stop() {
    ::kill(number_, SIGSTOP);
    wait_until(WSTOPPED);
  }
  /// Kills the process without waiting for it.
  void kill() {
    ::kill(number_, SIGKILL);
    wait_until(WEXITED);
  }
  void wait() {
    if (!std::exchange(is_over_, true)) ::waitpid(number_, nullptr, 0);
  }

 private:
  void wait_until(int event) {
    siginfo_t what{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(number_), &what, event | WNOWAIT), 0);
  }

  pid_t number_ = 0;
  bool is_over_ = false;
};

}  // namespace loupe::test
