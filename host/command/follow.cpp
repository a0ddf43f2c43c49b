#include "command/follow.h"

#include <loupe/files/compression.h>

#include <csignal>
#include <ctime>

namespace loupe {
namespace {

volatile std::sig_atomic_t interrupted = 0;
struct sigaction before_interrupt {};
struct sigaction before_termination {};

void note_interruption(int) {
  interrupted = 1;
}

}  // namespace

Interruption::Interruption() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, &before_interrupt);
  ::sigaction(SIGTERM, &action, &before_termination);
}

Interruption::~Interruption() {
  ::sigaction(SIGINT, &before_interrupt, nullptr);
  ::sigaction(SIGTERM, &before_termination, nullptr);
}

bool Interruption::was_requested() const {
  return interrupted != 0;
}

std::vector<FileStamp> GrowingFiles::stamps() const {
  std::vector<FileStamp> stamps;
  for (const std::string& file : files_) {
    // A record may be named by a link, which does not grow.
    struct stat status {};
    stamps.push_back(::stat(text_file_at(file).c_str(), &status) == 0 ? FileStamp::of(status) : FileStamp());
  }
  return stamps;
}

bool GrowingFiles::wait(const Interruption& interruption, std::chrono::nanoseconds pause) const {
  using Clock = std::chrono::steady_clock;
  const auto earliest = Clock::now() + pause;
  constexpr timespec glance{0, 200'000'000};
  while (!interruption.was_requested()) {
    if (Clock::now() >= earliest && stamps() != seen_) return true;
    ::nanosleep(&glance, nullptr);
  }
  return false;
}

}  // namespace loupe
