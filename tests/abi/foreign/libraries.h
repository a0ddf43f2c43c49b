// The plugin's own libraries, with the names of yaml-cpp and nlohmann-json, which the host also uses in different
// versions. Their objects have different layouts, and their functions return different values.
#pragma once

#include <exception>
#include <string>

namespace YAML {

struct Node {
  explicit Node(int number) : answer(number) {}
  char other[32] = "";
  int answer;
};
/// The real class derives from std::runtime_error.
class Exception : public std::exception {
 public:
  explicit Exception(int line) : line(line) {}
  ~Exception() noexcept override;
  const char* what() const noexcept override { return "another library's"; }
  int line;
};

// The linker sees the same names as those of functions that yaml-cpp exports.
Node Load(const std::string& input);
std::string Dump(const Node& node);

}  // namespace YAML

namespace nlohmann {

/// A class with only inline functions, like the real one.
template <class Number>
class basic_json {
 public:
  static basic_json parse(const std::string& text) { return basic_json(static_cast<Number>(text.size()) * 100); }
  Number number() const { return number_; }

 private:
  explicit basic_json(Number number) : number_(number) {}
  Number number_;
};
using json = basic_json<double>;

}  // namespace nlohmann

/// Each plugin of these tests defines this function, with a different value: ANSWER.
int shared_answer();
/// A process has one instance of such a variable, unless it is hidden.
inline int shared_state = 0;
