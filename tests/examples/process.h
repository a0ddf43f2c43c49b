#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace loupe::test {

/// What a finished program left.
struct Finished {
  int exit_code;  ///< 128 and more: a signal ended it
  std::string output;
};

/// The program ended with this code, and its output holds the part.
#define EXPECT_ENDS(FINISHED, CODE, PART)                                             \
  do {                                                                                \
    const ::loupe::test::Finished finished_ = FINISHED;                               \
    EXPECT_EQ(finished_.exit_code, CODE) << finished_.output;                         \
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, std::string(PART), finished_.output); \
  } while (false)

/// Runs a shell command in `folder` and waits for it; standard output and error come together.
Finished run(const std::string& command, const std::filesystem::path& folder);

/// All that is in a file; empty where it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// A fresh folder under the build's, named after the running test.
std::filesystem::path fresh_folder();

/// What the visualizer `record` wrote: by tag, layer and line, each epoch's value. Fails the test when the file cannot
/// be read.
struct Recorded {
  std::map<std::string, std::map<std::string, std::map<std::string, std::map<int, double>>>> values;

  std::set<std::string> tags() const;
  std::set<std::string> layers(const std::string& tag) const;
};
Recorded read_record(const std::filesystem::path& file);

}  // namespace loupe::test
