#include "core/log.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>

namespace loupe {
namespace {

TEST(Log, ShowsNoNameThatWouldSteerTheTerminal) {
  testing::internal::CaptureStderr();
  log(LOUPE_LOG_WARNING, "the module '\x1b[2J\xe9' is not seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "loupe: warning: the module '?[2J\xEF\xBF\xBD' is not seen\n");
}

}  // namespace
}  // namespace loupe
