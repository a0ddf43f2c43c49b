#include "show/last_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace loupe {
namespace {

void tell(LastValues& values, const std::vector<std::string>& lines, double value) {
  values.begin_tick();
  for (const std::string& line : lines) values.put("tag", "layer", line, value);
}
double value_of(const LastValues& values, const std::string& line) {
  return values.find("tag", "layer", line).value_or(-1);
}

TEST(LastValuesByName, AreFoundWhateverTheOrderTheyCameIn) {
  LastValues values;
  tell(values, {"a", "b", "c"}, 1);
  tell(values, {"a", "b", "c"}, 2);
  for (const char* line : {"a", "b", "c"}) EXPECT_EQ(value_of(values, line), 2) << line;
  tell(values, {"c", "a", "b"}, 3);
  for (const char* line : {"a", "b", "c"}) EXPECT_EQ(value_of(values, line), 3) << line;
}

TEST(LastValuesByName, StayWhereALaterTickHasNone) {
  LastValues values;
  tell(values, {"a", "b", "c"}, 1);
  tell(values, {"a", "c"}, 2);
  EXPECT_EQ(value_of(values, "a"), 2);
  EXPECT_EQ(value_of(values, "b"), 1);
  EXPECT_EQ(value_of(values, "c"), 2);
}

TEST(LastValuesByName, MayBecomeMore) {
  LastValues values;
  tell(values, {"a", "c"}, 1);
  tell(values, {"a", "b", "c", "d"}, 2);
  for (const char* line : {"a", "b", "c", "d"}) EXPECT_EQ(value_of(values, line), 2) << line;
}

TEST(LastValuesByName, AreToldApartByEachPartOfTheirName) {
  LastValues values;
  values.put("tag", "layer", "line", 1);
  values.put("tag", "layerl", "ine", 2);
  values.put("tagl", "ayer", "line", 3);
  EXPECT_EQ(values.find("tag", "layer", "line"), 1);
  EXPECT_EQ(values.find("tag", "layerl", "ine"), 2);
  EXPECT_EQ(values.find("tagl", "ayer", "line"), 3);
  EXPECT_EQ(values.find("tag", "layer", "lines"), std::nullopt);
}

TEST(LastValuesByName, SayWhetherOneWasPutInThisTickAlready) {
  using Put = LastValues::Put;
  LastValues values;
  for (const double value : {1.0, 2.0}) {
    values.begin_tick();
    EXPECT_EQ(values.put("tag", "layer", "a", value), Put::first);
    EXPECT_EQ(values.put("tag", "layer", "b", NAN), Put::first);
    EXPECT_EQ(values.put("tag", "layer", "a", value), Put::same);
    EXPECT_EQ(values.put("tag", "layer", "b", NAN), Put::same);
    EXPECT_EQ(values.put("tag", "layer", "a", value + 1), Put::other);
    EXPECT_EQ(value_of(values, "a"), value);
    values.replace(value + 1);
    EXPECT_EQ(value_of(values, "a"), value + 1);
  }
}

}  // namespace
}  // namespace loupe
