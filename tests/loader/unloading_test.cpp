#include <gtest/gtest.h>
#include <loupe/error.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "folder.h"
#include "loader/catalogue.h"
#include "loader/component_instance.h"

namespace loupe {
namespace {

/// Each test ends a process of its own, and reads what the plugin wrote as it ended.
class Unloading : public testing::Test {
 protected:
  Unloading() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    ::setenv("LOUPE_FAREWELL", file_.c_str(), 1);
  }
  ~Unloading() override { ::unsetenv("LOUPE_FAREWELL"); }

  static ComponentInstance made() {
    static Catalogue& catalogue = *new Catalogue();  // also used while the process ends
    catalogue.add_path(FAREWELL_PLUGIN);
    const CatalogueEntry* entry = catalogue.find(Kind::lens, "farewell");
    if (entry == nullptr) std::abort();
    const loupe_options none{sizeof none, 0, nullptr, 0};
    return {*entry, &none, "the lens 'farewell'", nullptr};
  }
  std::string written() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }

  const std::string file_ =
      testing::TempDir() + "loupe_farewell_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  const bool removed_ = std::filesystem::remove(file_);
};

TEST_F(Unloading, ComesOnceAsTheProcessEnds) {
  EXPECT_EXIT(
      {
        for (int i = 0; i < 2; ++i) made();
        if (written() != "destroy\ndestroy\n") std::abort();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(written(), "destroy\ndestroy\nunload\n");
}

std::optional<ComponentInstance>& late() {
  static auto* const instance = new std::optional<ComponentInstance>();
  return *instance;
}

TEST_F(Unloading, WaitsForAnInstanceThatAStaticObjectHolds) {
  EXPECT_EXIT(
      {
        std::atexit([] { late().reset(); });  // registered before the plugin is loaded, so it runs after
        late().emplace(made());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(written(), "destroy\nunload after the static objects\n");
}

TEST_F(Unloading, DoesNotComeWhileAnInstanceIsLeft) {
  EXPECT_EXIT(
      {
        late().emplace(made());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(written(), "");
}

TEST_F(Unloading, LetsNoInstanceBeMadeAfterwards) {
  EXPECT_EXIT(
      {
        std::atexit([] {
          try {
            made();
          } catch (const Error& e) {
            std::ofstream(std::getenv("LOUPE_FAREWELL"), std::ios::app) << e.what() << "\n";
          }
        });
        made();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(written(), "destroy\nunload\nthe process is ending, and its plugins are unloaded\n");
}

}  // namespace
}  // namespace loupe
