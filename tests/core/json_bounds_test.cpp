#include "core/bounds.h"

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <nlohmann/json.hpp>
#include <string>

#include "says.h"

namespace loupe {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonBounds, AreWiderThanWhatLoupeWrites) {
  for (const std::string& text :
       {std::string(R"({"a":[1,2,{"b":"[[[[{{{{::::,,,,"}]})"), "[" + repeated(R"({"a":1,"b":[]},)", 100'000) + "0]",
        repeated("[", 100) + repeated("]", 100), R"(["\"[\\",")" + repeated("[", 500) + "\"]"})
    EXPECT_NO_THROW(parse_bounded<nlohmann::json>(text)) << text.substr(0, 60);
  EXPECT_THROW(parse_bounded<nlohmann::json>("]["), nlohmann::json::exception) << "is no JSON";
}

TEST(JsonBounds, RefuseWhatTakesMemoryOrTimeWithoutEnd) {
  std::string members;
  for (int i = 0; i <= 1000; ++i) members += (i == 0 ? "{" : ",") + ("\"" + std::to_string(i) + "\":0");
  for (const auto& [text, what] : {std::pair(repeated("[", 101), "more levels than 100"),
                                   std::pair(repeated(R"({"":)", 101), "more levels than 100"),
                                   std::pair("[" + repeated("{},", 2'100'000), "more values than 4000000"),
                                   std::pair(members, "more members in one object than 1000")}) {
    try {
      check_json_bounds(text);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_SAYS(error.what(), what);
    }
  }
}

}  // namespace
}  // namespace loupe
