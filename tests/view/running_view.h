#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "paths.h"

namespace loupe::test {

/// The command `loupe view` as a separate process, with temporary files in a folder of the test.
class RunningView {
 public:
  /// Waits until the command has printed its address, or ended.
  RunningView(const std::vector<std::string>& arguments, const std::filesystem::path& temporary) {
    std::filesystem::create_directories(temporary);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<std::string> words = {LOUPE_COMMAND, "view"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::setenv("TMPDIR", temporary.c_str(), 1);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
    while (text_.find("Ctrl-C") == std::string::npos && read_more()) {
    }
  }
  ~RunningView() {
    if (process_ > 0) end(SIGKILL);
    ::close(output_);
  }
  RunningView(const RunningView&) = delete;
  RunningView& operator=(const RunningView&) = delete;

  /// Everything that the command has printed.
  const std::string& text() const { return text_; }
  /// "http://127.0.0.1:1234/", with the rest of the line.
  std::string url() const {
    const std::size_t begin = text_.find("http://");
    return begin == std::string::npos ? "" : text_.substr(begin, text_.find('\n', begin) - begin);
  }
  int port() const {
    const std::string address = url();
    return address.empty() ? 0 : std::stoi(address.substr(address.find(':', 7) + 1));
  }
  /// Sends a signal unless that is 0, and waits for the end; returns the exit code, or 128 plus the number of the
  /// signal that ended the process.
  int end(int signal) {
    if (signal != 0) ::kill(process_, signal);
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool read_more() {
    char text[4096];
    const ssize_t count = ::read(output_, text, sizeof text);
    if (count > 0) text_.append(text, static_cast<std::size_t>(count));
    return count > 0;
  }

  pid_t process_ = 0;
  int output_ = -1;
  std::string text_;
};

}  // namespace loupe::test
