#pragma once

#include <string>

#include "config/config.h"
#include "folder.h"
#include "loupe/config_error.h"
#include "says.h"

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

}  // namespace loupe
