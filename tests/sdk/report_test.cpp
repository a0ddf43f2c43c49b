// The report that a lens writes to.

#include <gtest/gtest.h>
#include <loupe/report.h>

namespace loupe {
namespace {

TEST(Report, HasAnEpochOnlyAtATick) {
  const loupe_sink sink{.struct_size = sizeof(loupe_sink)};
  const loupe_tick tick{.struct_size = sizeof(loupe_tick), .at = {.epoch = 3}};
  EXPECT_EQ(Report(&sink, &tick).epoch(), 3);
  EXPECT_THROW(Report(&sink).epoch(), Error);
}

}  // namespace
}  // namespace loupe
