#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/log.h"

namespace loupe::testing {

/// The lines to the user, for every bench that lives.
class Lines {
 public:
  Lines() {
    const std::lock_guard lock(mutex());
    if (living().empty()) {
      set_log_sink([](int, const std::string& line) {
        const std::lock_guard each_lock(mutex());
        for (Lines* each : living()) each->lines_.push_back(line);
      });
    }
    living().insert(this);
  }
  ~Lines() {
    const std::lock_guard lock(mutex());
    living().erase(this);
    if (living().empty()) set_log_sink({});
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex());
    return lines_;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::set<Lines*>& living() {
    static std::set<Lines*> instances;
    return instances;
  }
  std::vector<std::string> lines_;
};

}  // namespace loupe::testing
