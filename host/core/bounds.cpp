#include "core/bounds.h"

#include <loupe/error.h>

#include <cstddef>
#include <string>
#include <vector>

namespace loupe {
namespace {

constexpr std::size_t deepest = 100, most_values = 4'000'000, most_members = 1000;

[[noreturn]] void fail(const char* what, std::size_t most) {
  throw Error("this is JSON with " + std::string(what) + " than " + std::to_string(most) + ", which nothing of " +
                  "Loupe's has; was the file changed by hand?",
              LOUPE_INVALID);
}

}  // namespace

void check_json_bounds(std::string_view text) {
  std::vector<std::size_t> members;  // of each object and list that is open
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string && letter == '\\') {
      ++i;
    } else if (letter == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (letter == '{' || letter == '[') {
      members.push_back(0);
      if (members.size() > deepest) fail("more levels", deepest);
      ++values;
    } else if (letter == '}' || letter == ']') {
      if (members.empty()) return;
      members.pop_back();
    } else if (letter == ':' && !members.empty()) {
      // One member has a colon; a list has none of its own.
      if (++members.back() > most_members) fail("more members in one object", most_members);
      ++values;
    } else if (letter == ',') {
      ++values;
    }
    if (values > most_values) fail("more values", most_values);
  }
}

}  // namespace loupe
