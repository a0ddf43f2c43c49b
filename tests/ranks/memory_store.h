#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "ranks/rank_store.h"

namespace loupe {

/// The memory that all ranks of a test share. Thread-safe.
struct SharedMemory {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> entries;
  std::map<std::string, std::set<std::string>> receivers;  ///< keys of all messages that each box ever received
  bool is_lost = false;                                    ///< every call throws
  bool hangs = false;                                      ///< no call returns
  bool cuts_off_after_tick = false;  ///< all calls of a rank fail after it sent the numbers of a tick

  void set(bool SharedMemory::*what, bool on) {
    const std::lock_guard lock(mutex);
    this->*what = on;
    changed.notify_all();
  }
};

class MemoryStore final : public RankStore {
 public:
  using CutOff = std::shared_ptr<std::atomic<bool>>;
  /// @param cut_off  set to true, it makes all calls of this process fail, as if the process had died
  explicit MemoryStore(std::shared_ptr<SharedMemory> memory, CutOff cut_off)
      : memory_(std::move(memory)), cut_off_(std::move(cut_off)) {}

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    const auto lock = open();
    memory_->entries[box + "/" + key] = bytes;
    memory_->receivers[box].insert(key);
    if (!memory_->cuts_off_after_tick || box.find("tick-") == std::string::npos) return;
    *cut_off_ = true;
    throw std::runtime_error("connection reset by peer");
  }
  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    const auto lock = open();
    const auto found = memory_->entries.find(box + "/" + key);
    return found != memory_->entries.end() ? std::optional(found->second) : std::nullopt;
  }
  void remove(const std::string& box, const std::string& key) override {
    const auto lock = open();
    memory_->entries.erase(box + "/" + key);
  }
  void remove_all() override { open(); }

 private:
  std::unique_lock<std::mutex> open() {
    std::unique_lock lock(memory_->mutex);
    memory_->changed.wait(lock, [&] { return !memory_->hangs; });
    if (memory_->is_lost || *cut_off_) throw std::runtime_error("connection reset by peer");
    return lock;
  }

  std::shared_ptr<SharedMemory> memory_;
  CutOff cut_off_;
};

}  // namespace loupe
