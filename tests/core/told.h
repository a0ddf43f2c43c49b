#pragma once

#include <string>
#include <vector>

#include "core/log.h"

namespace loupe {

/// What is told while it lives.
class Told {
 public:
  Told() : before_(set_log_sink([this](int, const std::string& message) { messages.push_back(message); })) {}
  ~Told() { set_log_sink(before_); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  std::vector<std::string> messages;

 private:
  LogSink before_;
};

}  // namespace loupe
