// What a plugin brings of its own: libraries with the names of yaml-cpp and nlohmann-json, which the host uses, too,
// but of another version. Their objects are laid out otherwise, and their functions give other answers.
#pragma once

#include <exception>
#include <string>

namespace YAML {

struct Node {
  explicit Node(int number) : answer(number) {}
  char other[32] = "";
  int answer;
};
/// yaml-cpp's is a std::runtime_error.
class Exception : public std::exception {
 public:
  explicit Exception(int line) : line(line) {}
  ~Exception() noexcept override;
  const char* what() const noexcept override { return "another library's"; }
  int line;
};

// These two have the names, for the linker, of functions that yaml-cpp exports.
Node Load(const std::string& input);
std::string Dump(const Node& node);

}  // namespace YAML

namespace nlohmann {

/// Of inline functions alone, as the real one.
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

/// What each plugin of these tests defines, with a value of its own: ANSWER.
int shared_answer();
/// Of such a variable there is one in a process, unless it is hidden.
inline int shared_state = 0;
