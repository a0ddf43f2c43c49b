// A crash is told with the name of the component that ran.

#include "loader/running_component.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "loader/component_host.h"

namespace loupe {
namespace {

TEST(RunningComponentDeathTest, IsNamedInACrash) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const RunningComponent running("the lens 'x'");
        std::abort();
      },
      "a fault inside the lens 'x'");
}

TEST(RunningComponentDeathTest, IsNamedInACrashOfAThreadOfItsOwnThatHasAskedTheHostForSomething) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const ComponentHost host("the visualizer 'x'", nullptr);
        std::thread([&] {
          host.get()->get_interface(host.get()->context, LOUPE_RUN_ID);
          std::abort();
        }).join();
      },
      "a fault inside the visualizer 'x'");
}

TEST(RunningComponentDeathTest, IsNotNamedInACrashAfterItHasRun) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        {
          const RunningComponent running("the lens 'x'");
          const ComponentHost host("the lens 'x'", nullptr);
          host.get()->get_interface(host.get()->context, LOUPE_RUN_ID);
        }
        std::abort();
      },
      "^$");
}

}  // namespace
}  // namespace loupe
