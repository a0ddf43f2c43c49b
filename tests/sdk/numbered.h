#pragma once

#include <loupe/files/epoch_file.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "fake.h"
#include "folder.h"

namespace loupe::test {

/// Reads a line that closes an epoch, like "3 text", or the line "over", which belongs to no epoch.
inline bool read_numbered(std::istream& input, OldLine& line) {
  line = {};
  if (!std::getline(input, line.text) || input.eof()) return false;
  double epoch = 0;
  if (std::from_chars(line.text.data(), line.text.data() + line.text.size(), epoch).ec == std::errc()) {
    line.epoch = epoch;
    line.closes_epoch = true;
  }
  line.stands_alone = line.text == "over";
  line.text += '\n';
  return true;
}

/// A visualizer's file of such lines, for one run.
class Numbered {
 public:
  Numbered(const Folder& folder, bool resumed, const std::optional<Compression>& compression = std::nullopt,
           const char* name = "lines")
      : file_(OutputPath(name), false, &read_numbered, host_.host(), compression) {
    const std::string directory = folder / "";
    loupe_run run{};
    run.struct_size = sizeof run;
    run.flags = resumed ? LOUPE_RUN_RESUMED : 0;
    run.directory = directory.c_str();
    file_.begin(run);
  }
  void epoch(double number) { file_.write(number, number_text(number) + " text\n", preamble()); }
  /// Writes a line that is longer than others and hard to compress.
  void long_epoch(double number) { file_.write(number, long_text(number), preamble()); }
  static std::string long_text(double number) {
    std::string text = number_text(number);
    for (unsigned i = 0; i < 20; ++i)
      text += " " + std::to_string((static_cast<unsigned>(number) * 20 + i) * 2654435761U);
    return text + "\n";
  }
  /// Writes an epoch so large that only three of them fit into the queue.
  void huge_epoch(double number) {
    file_.write(number, number_text(number) + std::string(20 << 20, ' ') + "\n", preamble());
  }
  void end() { file_.end(preamble()); }
  void over() { file_.write(INFINITY, "over\n", preamble()); }
  const Strings& said() const { return host_.said; }

 private:
  static Preamble preamble() {
    return {"fresh\n", "joined\n", "", [](const std::string& lost, double) { return lost + " is lost\n"; }};
  }

  FakeHost host_;
  EpochFile file_;
};

}  // namespace loupe::test
