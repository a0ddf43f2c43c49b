#include <gtest/gtest.h>
#include <loupe/draft/abi/flags.h>

#include <loupe/plugin.h>
#include <loupe/register_plugin.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "core/log.h"
#include "loader/catalogue.h"
#include "loader/component_instance.h"
#include "loader/plugin_library.h"
#include "loader/running_component.h"

namespace loupe {
namespace {

constexpr int extension = 7;

/// Stores the path of its plugin, and offers an extension.
class Extended : public Lens {
 public:
  static constexpr const char* name = "extended";
  static constexpr const char* help = "offers an extension";
  Extended(const Options&, const Host& host) {
    path = host.plugin_path();
    own_name = host.name();
  }
  void visit(const Module&) override {}
  void report(Report&) override {}
  const void* get_extension(const char* id) override {
    if (std::strcmp(id, "test.throws/1") == 0) throw Error("no");
    return std::strcmp(id, "test.seven/1") == 0 ? &extension : nullptr;
  }
  static std::string path, own_name;
};
std::string Extended::path, Extended::own_name;

LOUPE_STATIC_PLUGIN(extended_plugin, "extended", "1.0", Extended);

ComponentInstance instance_of(const std::string& path) {
  PluginLibrary library = read_entry(extended_plugin, "linked into this program");
  EXPECT_EQ(library.path, "");
  library.path = path;
  return {{Kind::lens, library.plugin->components[0], &library}, nullptr, "the lens 'extended'", nullptr};
}

TEST(ComponentInstance, KnowsTheFileOfItsPlugin) {
  instance_of("/opt/lenses/extended.so");
  EXPECT_EQ(Extended::path, "/opt/lenses/extended.so");
}

TEST(ComponentInstance, KnowsTheNameThatTheUserGaveIt) {
  PluginLibrary library = read_entry(extended_plugin, "linked into this program");
  const CatalogueEntry entry{Kind::lens, library.plugin->components[0], &library};
  const ComponentInstance plain(entry, nullptr, "the lens 'extended'", nullptr);
  EXPECT_EQ(Extended::own_name, "extended");
  const ComponentInstance named(entry, nullptr, "the lens 'mine'", nullptr, "mine");
  EXPECT_EQ(Extended::own_name, "mine");
}

/// The log messages when a component requests an interface.
std::vector<std::string> logged_for(const char* id) {
  std::vector<std::string> lines;
  set_log_sink([&](int, const std::string& line) { lines.push_back(line); });
  const ComponentHost host("the lens 'x'", nullptr);
  host.get()->get_extension(host.get()->context, id);
  set_log_sink({});
  return lines;
}

TEST(ComponentInstance, ReportsTheCurrentInterfaceInsteadOfAnOldDraft) {
  EXPECT_EQ(logged_for(LOUPE_DRAFT_FLAGS_ID), std::vector<std::string>{});
  EXPECT_EQ(logged_for("loupe.flags/1"), std::vector<std::string>{}) << "this is not a draft";
  const auto other = logged_for("loupe.flags/draft-0"), unknown = logged_for("loupe.none_such/draft-1");
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NE(other[0].find(LOUPE_DRAFT_FLAGS_ID), std::string::npos) << other[0];
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_NE(unknown[0].find("nothing"), std::string::npos) << unknown[0];
}

TEST(ComponentInstance, OffersExtensionsByTheirFullId) {
  const ComponentInstance instance = instance_of("");
  const auto offer = [&](const char* id) { return instance.table<loupe_lens>().get_extension(instance.self(), id); };
  EXPECT_EQ(offer("test.seven/1"), &extension);
  EXPECT_EQ(offer("test.seven/2"), nullptr);
  EXPECT_EQ(offer(nullptr), nullptr);
  EXPECT_EQ(offer("test.throws/1"), nullptr) << "exceptions stay within a plugin";
}

// Loupe reports a crash with the name of the component that was running.
TEST(RunningComponentDeathTest, IsNamedInACrash) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const RunningComponent running("the lens 'x'");
        std::abort();
      },
      "a fault inside the lens 'x'");
}

TEST(RunningComponentDeathTest, IsNamedInACrashOfItsThreadThatUsedTheHost) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const ComponentHost host("the visualizer 'x'", nullptr);
        std::thread([&] {
          host.get()->get_extension(host.get()->context, LOUPE_RUN_ID);
          std::abort();
        }).join();
      },
      "a fault inside the visualizer 'x'");
}

TEST(RunningComponentDeathTest, IsNotNamedInACrashAfterItRan) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        {
          const RunningComponent running("the lens 'x'");
          const ComponentHost host("the lens 'x'", nullptr);
          host.get()->get_extension(host.get()->context, LOUPE_RUN_ID);
        }
        std::abort();
      },
      "^$");
}

}  // namespace
}  // namespace loupe
