#pragma once

#include <loupe/host.h>
#include <loupe/plugin.h>

#include <cstdio>
#include <string>

#include "plugins/stage_interface.h"

namespace loupe {

inline std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

/// The base of each test component: it notes each call, and fails in the steps that the test chooses.
class Actor {
 public:
  Actor(const Host& host, std::string name)
      : stage_(static_cast<const stage_interface*>(host.get_extension(STAGE_ID))), name_(std::move(name)) {
    act("create");
  }
  ~Actor() { note("destroy"); }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  void note(const std::string& step) const {
    if (stage_ != nullptr) stage_->note((name_ + " " + step).c_str());
  }
  void act(const std::string& step) const {
    note(step);
    const std::string whole = name_ + " " + step;
    if (stage_ != nullptr && stage_->fails(whole.c_str()) != 0) throw Error("the test wants '" + whole + "' to fail");
  }

 private:
  const stage_interface* stage_;
  std::string name_;
};

}  // namespace loupe
