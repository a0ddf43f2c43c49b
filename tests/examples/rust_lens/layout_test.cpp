// The sizes and offsets that examples/rust_lens/abi.rs asserts when it is compiled, against the frozen ones that the C
// header is held to.

#include <gtest/gtest.h>

#include <cctype>
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

std::string text_of(const char* file) {
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

/// Under the names that C has.
std::string c_name(const std::string& rust) {
  static const std::map<std::string, std::string> others = {
      {"DeclaredOption", "loupe_option"}, {"kind", "type"}, {"type_name", "type"}};
  if (const auto found = others.find(rust); found != others.end()) return found->second;
  if (std::islower(static_cast<unsigned char>(rust[0])) != 0) return rust;
  std::string name = "loupe";
  for (const char letter : rust) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

Layouts rust_layouts() {
  Layouts layouts;
  each_match(text_of(RUST_ABI), R"(layout!\((\w+), (\d+),([^;]+)\);)", [&](const auto& m) {
    Layout& layout = layouts[c_name(m[1])];
    layout.size = std::stoi(m[2]);
    each_match(m[3], R"((\w+) (\d+))",
               [&](const auto& member) { layout.members.emplace_back(c_name(member[1]), std::stoi(member[2])); });
  });
  return layouts;
}

TEST(RustLayout, IsThatOfTheHeaderToTheByte) {
  const Layouts c = c_layouts(), rust = rust_layouts();
  ASSERT_GE(rust.size(), 14u);
  for (const auto& [name, layout] : rust) {
    ASSERT_TRUE(c.count(name) == 1) << name;
    EXPECT_EQ(layout.size, c.at(name).size) << name;
    EXPECT_EQ(layout.members, c.at(name).members) << name;
  }
}

TEST(RustLayout, IsAssertedForEveryStructThatTheLensDeclares) {
  const Layouts rust = rust_layouts();
  int declared = 0;
  each_match(text_of(RUST_ABI), R"(#\[repr\(C\)\]\s+pub struct (\w+))", [&](const auto& m) {
    ++declared;
    EXPECT_EQ(rust.count(c_name(m[1])), 1u) << m[1];
  });
  EXPECT_EQ(declared, static_cast<int>(rust.size()));
}

}  // namespace
}  // namespace loupe
