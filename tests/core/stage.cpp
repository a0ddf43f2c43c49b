#include "stage.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>

#include "core/log.h"
#include "core/threads.h"
#include "loader/component_instance.h"
#include "plugins/stage_interface.h"

namespace loupe {
namespace {

std::mutex mutex;
std::vector<std::string> notes, messages, failing;
std::function<void(const std::string&)> listener;

bool matches(const std::string& step, const std::string& wanted) {
  return wanted.back() == '*' ? step.compare(0, wanted.size() - 1, wanted, 0, wanted.size() - 1) == 0 : step == wanted;
}

const stage_interface stage = {[](const char* line) {
                                 std::function<void(const std::string&)> called;
                                 {
                                   const std::lock_guard lock(mutex);
                                   notes.emplace_back(line);
                                   called = listener;
                                 }
                                 if (called) called(line);  // outside of the lock, as it may have to wait
                               },
                               [](const char* step) -> int32_t {
                                 const std::lock_guard lock(mutex);
                                 return std::any_of(failing.begin(), failing.end(),
                                                    [&](const auto& wanted) { return matches(step, wanted); });
                               }};

}  // namespace

void wait_until_shown() {
  while (!JobThread::all_done(std::chrono::milliseconds(100))) {
  }
}

Stage::Stage() {
  notes.clear();
  messages.clear();
  failing.clear();
  listener = {};
  offer_interface(STAGE_ID, &stage);
  set_log_sink([](int, const std::string& message) {
    const std::lock_guard lock(mutex);
    messages.push_back(message);
  });
}

Stage::~Stage() {
  listen({});
  set_log_sink({});
}

void Stage::fail(const std::string& step) {
  wait_until_shown();
  const std::lock_guard lock(mutex);
  failing.push_back(step);
}

void Stage::listen(std::function<void(const std::string&)> called) {
  wait_until_shown();
  const std::lock_guard lock(mutex);
  listener = std::move(called);
}

void Stage::mend() const {
  wait_until_shown();
  const std::lock_guard lock(mutex);
  failing.clear();
}

std::vector<std::string> Stage::take_notes() const {
  return take_notes("");
}

std::vector<std::string> Stage::take_notes(const std::string& beginning) const {
  wait_until_shown();
  const std::lock_guard lock(mutex);
  const auto middle = std::stable_partition(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.compare(0, beginning.size(), beginning) != 0;
  });
  std::vector<std::string> taken(middle, notes.end());
  notes.erase(middle, notes.end());
  return taken;
}

std::vector<std::string> Stage::take_messages() const {
  wait_until_shown();
  const std::lock_guard lock(mutex);
  return std::exchange(messages, {});
}

}  // namespace loupe
