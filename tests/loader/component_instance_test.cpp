// What a component learns from the host, and the host from it, beyond their tables.

#include "loader/component_instance.h"

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/register_plugin.h>

#include <cstring>
#include <string>

#include "loader/catalogue.h"
#include "loader/plugin_library.h"

namespace loupe {
namespace {

constexpr int extension = 7;

/// Keeps where its plugin lies, and offers an extension.
class Extended : public Lens {
 public:
  static constexpr const char* name = "extended";
  static constexpr const char* help = "knows more than its table";
  Extended(const Options&, const Host& host) { path = host.plugin_path(); }
  void visit(const Module&) override {}
  void report(Report&) override {}
  const void* get_extension(const char* id) override {
    if (std::strcmp(id, "test.throws/1") == 0) throw Error("no");
    return std::strcmp(id, "test.seven/1") == 0 ? &extension : nullptr;
  }
  static std::string path;
};
std::string Extended::path;

LOUPE_STATIC_PLUGIN(extended_plugin, "extended", "1.0", Extended);

ComponentInstance instance_of(const std::string& path) {
  PluginLibrary library = linked_plugin(extended_plugin);
  EXPECT_EQ(library.path, "");
  library.path = path;
  return {{Kind::lens, library.plugin->components[0], &library}, nullptr, "the lens 'extended'", nullptr};
}

TEST(ComponentInstance, KnowsTheFileOfItsPlugin) {
  instance_of("/opt/lenses/extended.so");
  EXPECT_EQ(Extended::path, "/opt/lenses/extended.so");
}

TEST(ComponentInstance, OffersExtensionsByTheirWholeId) {
  const ComponentInstance instance = instance_of("");
  const auto offer = [&](const char* id) { return instance.table<loupe_lens>().get_extension(instance.self(), id); };
  EXPECT_EQ(offer("test.seven/1"), &extension);
  EXPECT_EQ(offer("test.seven/2"), nullptr);
  EXPECT_EQ(offer(nullptr), nullptr);
  EXPECT_EQ(offer("test.throws/1"), nullptr) << "no exception leaves a plugin";
}

}  // namespace
}  // namespace loupe
