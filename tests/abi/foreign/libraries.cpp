#include "libraries.h"

namespace YAML {

Exception::~Exception() noexcept = default;

Node Load(const std::string& input) {
  if (input.empty()) throw Exception(17);
  return Node(static_cast<int>(input.size()));
}
std::string Dump(const Node& node) {
  return "another library has " + std::to_string(node.answer);
}

}  // namespace YAML

int shared_answer() {
  return ANSWER;
}
