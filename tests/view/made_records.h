#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace loupe::test {

// These functions return lines as the visualizer `record` writes them.
inline std::string run_line(const std::string& name, int start = 1000, bool resumed = false) {
  return R"({"kind":"run","format":3,"name":")" + name + R"(","resumed":)" + (resumed ? "true" : "false") +
         R"(,"start_time":)" + std::to_string(start) + "}\n";
}
inline const std::string loss_tag =
    R"({"kind":"tag","tag":"Loss","type":"numerical","log_y":true,"big":true,"annotate":false,"y_minimum":null,)"
    R"("y_maximum":null})"
    "\n";
inline std::string loss_line(int epoch, const std::string& line, const std::string& value) {
  return R"({"kind":"value","epoch":)" + std::to_string(epoch) + R"(,"tag":"Loss","layer":"Loss","line":")" + line +
         R"(","value":)" + value + "}\n";
}
inline std::string tick_line(int epoch, double elapsed = 0) {
  return R"({"kind":"tick","epoch":)" + std::to_string(epoch) + R"(,"timestamp":)" + std::to_string(2000 + epoch) +
         R"(,"elapsed":)" + std::to_string(elapsed) + R"(,"step":)" + std::to_string(10 * epoch) +
         R"(,"reason":"epoch","incomplete":false})" + "\n";
}
inline std::string epoch_of(int epoch, const std::string& loss) {
  return loss_line(epoch, "train_loss mean", loss) + tick_line(epoch);
}
/// The line of a run with the lens `health`.
inline std::string judged_run_line(const std::string& name) {
  return R"({"kind":"run","format":3,"name":")" + name + R"(","start_time":1000,"lenses":["health"]})" + "\n";
}
/// A hyperparameter; `value` is JSON.
inline std::string setting_line(const std::string& name, const std::string& type, const std::string& value) {
  return R"({"kind":"hyperparameter","name":")" + name + R"(","type":")" + type + R"(","setting":)" + value + "}\n";
}
inline std::string finding_line(const std::string& severity, const std::string& state, const std::string& rule,
                                const std::string& message) {
  return R"({"kind":"finding","epoch":1,"severity":")" + severity + R"(","state":")" + state + R"(","rule":")" + rule +
         R"(","layer":"conv1","message":")" + message + R"("})" + "\n";
}
inline std::string end_line(const std::string& how, const std::string& message = "") {
  return R"({"kind":"end","epoch":2,"how":")" + how + R"(","message":")" + message + R"("})" + "\n";
}
/// A whole record of two epochs without an end.
inline std::string two_epochs(const std::string& name, int start = 1000) {
  return run_line(name, start) + loss_tag + epoch_of(1, "0.5") + epoch_of(2, "0.25");
}

inline void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}
/// Overwrites a file, and creates its folders if needed.
inline std::filesystem::path put(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

}  // namespace loupe::test
