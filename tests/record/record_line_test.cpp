// Reading lines of a record, and JSON from other programs.

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <loupe/internal/bounds.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "record/reader/record_line.h"

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
  EXPECT_THROW(parse_bounded<nlohmann::json>("]["), nlohmann::json::exception) << "it is not JSON";
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
      ADD_FAILURE() << "this is not refused: " << what;
    } catch (const Error& reason) {
      EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(what), std::string(reason.what()));
    }
  }
}

/// The content of a line as text, or the error.
std::string read_back(const std::string& text) {
  replay::RecordLine line;
  try {
    replay::parse_record_line(text, line);
  } catch (const Error& e) {
    const std::string what = e.what();
    return what.substr(0, what.find(", from character"));  // for an unterminated text the position is its end
  }
  nlohmann::json all = {line.kind, line.tag,  line.layer, line.line,   line.epoch,  line.value,
                        line.low,  line.high, line.edges, line.counts, line.events, line.message};
  return all.dump() + (std::signbit(line.value) ? "-" : "+");
}

TEST(RecordLines, AreReadTheSameOnTheFastPathAndTheSlowOne) {
  const std::vector<std::string> values = {"0",
                                           "-0",
                                           "-0.0",
                                           "7",
                                           "-7",
                                           "01",
                                           "-",
                                           "+1",
                                           "1.",
                                           ".5",
                                           "1.5",
                                           "1e5",
                                           "1E+5",
                                           "1e-5",
                                           "1e",
                                           "1e+",
                                           "1.5e400",
                                           "1e-400",
                                           "5e-324",
                                           "0.1",
                                           "123456789012345678",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "-9223372036854775808",
                                           "-9223372036854775809",
                                           "0.30000000000000004",
                                           "2.2250738585072011e-308",
                                           "nan",
                                           "inf",
                                           "0x1",
                                           "1 ",
                                           "true",
                                           "false",
                                           "null",
                                           "tru",
                                           "\"NaN\"",
                                           "\"-Infinity\"",
                                           "\"x\"",
                                           "[1]",
                                           "[]",
                                           "{}",
                                           "",
                                           "\"",
                                           "\"\\u0041\"",
                                           "\"a\tb\"",
                                           "\"\xc3\x9c\"",
                                           "\"\xc3\"",
                                           "\"\xed\xa0\x80\""};
  // A blank after the line turns off the fast path for plain lines.
  const auto expect_same = [](const std::string& text) { EXPECT_EQ(read_back(text), read_back(text + " ")) << text; };
  for (const std::string& value : values) {
    expect_same(R"({"kind":"value","epoch":1,"tag":"Loss","layer":"Loss","line":"mean","value":)" + value + "}");
    expect_same(R"({"kind":"value","epoch":)" + value +
                R"(,"tag":"Loss","layer":"Loss","line":"mean","value":1,"events":2})");
    expect_same(R"({"kind":"value","epoch":1,"tag":)" + value + R"(,"layer":"a","line":"b","value":1})");
    expect_same(R"({"kind":"value","epoch":1,"tag":"a","layer":"a","line":"b","value":1,"events":)" + value + "}");
    expect_same(R"({"kind":"histogram","epoch":1,"tag":"a","layer":"b","line":"c","edges":["-Infinity",0,)" + value +
                R"(],"counts":[1,2]})");
    expect_same(R"({"kind":"value","epoch":1,"new":)" + value + R"(,"tag":"a","layer":"b","line":"c","value":1})");
    expect_same(value);
    expect_same(R"({"kind":)" + value + "}");
  }
  for (const char* each :
       {"{}", "{", "{\"kind\":\"tick\",}", "{\"kind\":\"tick\" ,\"epoch\":1}", "{\"kind\":\"tick\"}x",
        "{\"\":1,\"kind\":\"tick\",\"epoch\":1}", "{\"kind\":\"tick\",\"epoch\":1,\"epoch\":2}"})
    expect_same(each);
}

}  // namespace
}  // namespace loupe
