#pragma once

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <sstream>
#include <string>
#include <vector>

#include "paths.h"

// A tap cannot see a forward that the compiler inlines. Trainers call theirs from several places, so it is not inlined.
#if defined(__clang__)
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED __attribute__((noinline, noclone))
#endif

namespace loupe::testing {

using Lines = std::vector<std::string>;

/// The lines that the probe lens has sent in this process since they were last cleared.
inline Lines& told() {
  static Lines lines;
  return lines;
}
inline void listen(const char* line) {
  told().emplace_back(line);
}

/// An inspector with the probe lens. `options` are options of the lens, `more` is further top-level YAML.
inline Inspector probed(const std::string& options = "", const std::string& more = "") {
  std::ostringstream yaml;
  yaml << "loupe: 1\nplugins: {path: " << LOUPE_PROBE_FOLDER << "}\nlenses:\n  - probe: {listener: '" << std::hex
       << reinterpret_cast<std::uintptr_t>(&listen) << "'" << (options.empty() ? "" : ", ") << options << "}\n"
       << more;
  told().clear();
  return Inspector::from_text(yaml.str());
}

/// The lines that begin with `head`. Clears all lines.
inline Lines take(const std::string& head) {
  Lines found;
  for (const std::string& line : told()) {
    if (line.compare(0, head.size(), head) == 0) found.push_back(line);
  }
  told().clear();
  return found;
}

/// The first `count` fields of a line.
inline std::string fields(const std::string& line, int count) {
  std::size_t end = 0;
  for (int i = 0; i < count && end != std::string::npos; ++i) end = line.find('|', end + (i > 0));
  return line.substr(0, end);
}
inline Lines fields(const Lines& lines, int count) {
  Lines cut;
  for (const std::string& line : lines) cut.push_back(fields(line, count));
  return cut;
}
/// Field number `index` as a number.
inline double number(const std::string& line, int index) {
  std::istringstream stream(line);
  std::string field;
  for (int i = 0; i <= index; ++i) std::getline(stream, field, '|');
  return std::stod(field);
}

}  // namespace loupe::testing
