#pragma once

#include <string>

#include "config/config.h"
#include "folder.h"
#include "loupe/config_error.h"
#include "says.h"

/// The text tells one fault, at this place, "line:column", with this among its words.
#define EXPECT_FAULT(TEXT, PLACE, WORDS) EXPECT_TRUE(is_fault(TEXT, PLACE, WORDS))

namespace loupe {

/// Begins every YAML of these tests: line 1.
inline std::string with_probe(const std::string& yaml) {
  return "plugins: {path: [" + test_plugin("probe") + "]}\n" + yaml;
}

/// What is said of a wrong configuration, all lines of it; empty when it is right.
inline std::string faults_of(const std::string& yaml, const std::string& folder = "/") {
  try {
    Config::from_text(yaml, "a.yaml", folder);
    return "";
  } catch (const ConfigError& e) {
    return e.what();
  }
}

/// The same for text after the line that names the probe plugin, so that it begins in line 2.
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
