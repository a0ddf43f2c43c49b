#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace loupe::test {

/// The result of a finished program.
struct Finished {
  int exit_code;  ///< 128 or more if a signal ended the program
  std::string output;
};

/// Expects that the program ended with this code, and that its output contains the part.
#define EXPECT_ENDS(FINISHED, CODE, PART)                                             \
  do {                                                                                \
    const ::loupe::test::Finished finished_ = FINISHED;                               \
    EXPECT_EQ(finished_.exit_code, CODE) << finished_.output;                         \
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, std::string(PART), finished_.output); \
  } while (false)

/// Runs a shell command in `folder` and waits for its end; the output has both standard output and error.
Finished run(const std::string& command, const std::filesystem::path& folder);

/// The content of a file; empty if it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// A new empty folder in the build folder, named after the running test.
std::filesystem::path fresh_folder();

/// The values that the visualizer `record` wrote: by tag, layer, line and epoch. Fails the test if the file cannot
/// be read.
struct Recorded {
  std::map<std::string, std::map<std::string, std::map<std::string, std::map<int, double>>>> values;

  std::set<std::string> tags() const;
  std::set<std::string> layers(const std::string& tag) const;
};
Recorded read_record(const std::filesystem::path& file);

}  // namespace loupe::test
