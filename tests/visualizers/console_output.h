#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../holds.h"
#include "capture.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {

using Item = OptionValues::Item;

/// Sets the option `detail` to `all`, unless a test sets it.
inline std::vector<Item> with_tables(std::vector<Item> options) {
  const auto is_detail = [](const Item& each) { return each.name == "detail"; };
  if (std::none_of(options.begin(), options.end(), is_detail)) options.emplace_back("detail", "all");
  return options;
}

/// The console's output to a stream that is not a terminal.
inline std::string printed(const std::function<void(Driver&)>& run, const std::vector<Item>& options = {},
                           const char* columns = nullptr, FILE* stream = stdout) {
  const Environment width("COLUMNS", columns), locale("LC_ALL", nullptr);
  const Sink sink;
  {
    const Redirected redirected(stream, sink.writer());
    Driver console(CONSOLE_PLUGIN, with_tables(options));
    console.begin("");
    run(console);
  }
  return sink.read();
}

inline std::string printed_on_terminal(const std::function<void(Driver&)>& run, const std::vector<Item>& options = {},
                                       unsigned short columns = 80, unsigned short rows = 24) {
  const Environment terminal("TERM", "xterm-256color"), width("COLUMNS", "30"), locale("LC_ALL", nullptr);
  const PseudoTerminal output(columns, rows);
  std::string text;
  {
    const Redirected redirected(stdout, output.writer());
    // A terminal that is not read accepts at most 4 KiB.
    std::atomic<bool> ends{false};
    std::thread reader([&] {
      while (!ends) text += output.read();
    });
    Driver console(CONSOLE_PLUGIN, with_tables(options));
    console.begin("");
    run(console);
    fflush(stdout);
    ends = true;
    reader.join();
  }
  return text + output.read();
}

inline std::size_t columns_of(const std::string& line) {
  // Every character of these tests is one column wide.
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// The first words of the indented lines: the names of the rows, in their order.
inline std::vector<std::string> row_names(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(text)) {
    if (line.rfind("  ", 0) == 0) names.push_back(line.substr(2, line.find("  ", 2) - 2));
  }
  return names;
}

inline void one_tick(Driver& console, const std::string& tag,
                     const std::vector<std::pair<std::string, double>>& layers) {
  console.begin_tick(1);
  for (const auto& [layer, value] : layers) console.value(tag, layer, "mean", value);
  console.end_tick();
}

}  // namespace loupe::test
