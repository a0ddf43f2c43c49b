#pragma once

#include <string>

#include "config/config.h"
#include "folder.h"
#include "loupe/config_error.h"
#include "says.h"

/// Expects that the text is one error message at this place ("line:column") that contains these words.
#define EXPECT_FAULT(TEXT, PLACE, WORDS) EXPECT_TRUE(is_fault(TEXT, PLACE, WORDS))

namespace loupe {

/// Adds a first line that loads the probe plugin.
inline std::string with_probe(const std::string& yaml) {
  return "plugins: {path: [" + test_plugin("probe") + "]}\n" + yaml;
}

/// The error messages for a configuration; empty if it is correct.
inline std::string faults_of(const std::string& yaml, const std::string& folder = "/") {
  try {
    Config::from_text(yaml, "a.yaml", folder);
    return "";
  } catch (const ConfigError& e) {
    return e.what();
  }
}

/// The error messages for a configuration that starts in line 2, after the line that loads the probe plugin.
inline std::string probe_faults(const std::string& yaml) {
  return faults_of(with_probe(yaml));
}

inline testing::AssertionResult is_fault(const std::string& text, const std::string& place, const std::string& words) {
  const std::string head = "a.yaml:" + place + ": error: ";
  const bool is_one = text.rfind(head, 0) == 0 && text.find('\n') == std::string::npos;
  const bool says = text.find(words, head.size()) != std::string::npos;
  return (is_one && says ? testing::AssertionSuccess() : testing::AssertionFailure()) << text;
}

}  // namespace loupe
