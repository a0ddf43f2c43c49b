#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace loupe {

/// For an abnormal end, where a thread may hold a lock that never goes on: gives up after a while.
template <class Mutex>
std::unique_lock<Mutex> lock_soon(Mutex& mutex, std::chrono::milliseconds patience = std::chrono::milliseconds(100)) {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (auto i = patience.count(); i > 0 && !lock.owns_lock(); --i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace loupe
