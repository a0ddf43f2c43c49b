#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/log.h"

/// Expects that the text contains the part.
#define EXPECT_SAYS(TEXT, PART) EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(PART), std::string(TEXT))

/// Expects that the text begins with the part.
#define EXPECT_BEGINS(TEXT, PART) EXPECT_EQ(std::string(TEXT).substr(0, std::string(PART).size()), std::string(PART))

namespace loupe {

using Texts = std::vector<std::string>;

/// The message of the exception that a call must throw.
template <class Exception, class Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const Exception& e) {
    return e.what();
  }
  ADD_FAILURE() << "no exception was thrown";
  return "";
}

/// The single item of a list that must have one item.
inline std::string only(const Texts& texts) {
  EXPECT_EQ(texts.size(), 1u) << testing::PrintToString(texts);
  return texts.size() == 1 ? texts[0] : "";
}

/// Collects log messages while this object lives.
class LogCapture {
 public:
  LogCapture() : before_(set_log_sink([this](int, const std::string& message) { messages.push_back(message); })) {}
  ~LogCapture() { set_log_sink(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  std::vector<std::string> messages;

 private:
  LogSink before_;
};

}  // namespace loupe
