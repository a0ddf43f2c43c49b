// The sizes and offsets that sdk/rust/src/abi asserts when it is compiled, against the frozen ones that the C
// header is held to.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
namespace {

struct Layout {
  int size = 0;
  std::vector<std::pair<std::string, int>> members;
};
using Layouts = std::map<std::string, Layout>;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

template <class Use>
void each_match(const std::string& text, const std::string& pattern, Use&& use) {
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) use(*match);
}

Layouts c_layouts() {
  const std::string text = text_of(C_LAYOUT);
  Layouts layouts;
  each_match(text, R"(SIZE\((\w+), (\d+)\);)", [&](const auto& m) { layouts[m[1]].size = std::stoi(m[2]); });
  each_match(text, R"(static_assert\(sizeof\((\w+)\) == (\d+))",
             [&](const auto& m) { layouts[m[1]].size = std::stoi(m[2]); });
  each_match(text, R"(AT\((\w+), (\w+), (\d+)\);)",
             [&](const auto& m) { layouts[m[1]].members.emplace_back(m[2], std::stoi(m[3])); });
  return layouts;
}

/// All of the generated files.
std::string rust_text() {
  std::string text;
  for (const auto& file : std::filesystem::directory_iterator(RUST_ABI)) text += text_of(file.path());
  return text;
}

Layouts rust_layouts() {
  Layouts layouts;
  each_match(rust_text(), R"(layout!\((\w+), (\d+),([^;]+)\);)", [&](const auto& m) {
    Layout& layout = layouts[m[1]];
    layout.size = std::stoi(m[2]);
    each_match(m[3], R"((\w+) (\d+))",
               [&](const auto& member) { layout.members.emplace_back(member[1], std::stoi(member[2])); });
  });
  return layouts;
}

TEST(RustLayout, IsThatOfTheHeaderToTheByte) {
  const Layouts c = c_layouts(), rust = rust_layouts();
  ASSERT_GE(rust.size(), c.size());
  for (const auto& [name, layout] : rust) {
    ASSERT_TRUE(c.count(name) == 1) << name;
    // What a struct has got since then stands behind that.
    const Layout& frozen = c.at(name);
    EXPECT_GE(layout.size, frozen.size) << name;
    ASSERT_GE(layout.members.size(), frozen.members.size()) << name;
    EXPECT_TRUE(std::equal(frozen.members.begin(), frozen.members.end(), layout.members.begin())) << name;
  }
}

TEST(RustLayout, IsAssertedForEveryStruct) {
  const Layouts rust = rust_layouts();
  int declared = 0;
  each_match(rust_text(), R"(#\[repr\(C\)\]\s+#\[derive\(Clone, Copy\)\]\s+pub struct (\w+))", [&](const auto& m) {
    ++declared;
    EXPECT_EQ(rust.count(m[1]), 1u) << m[1];
  });
  EXPECT_EQ(declared, static_cast<int>(rust.size()));
}

}  // namespace
}  // namespace loupe
