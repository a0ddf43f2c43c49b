// The list of the plugins that an inspector loaded, which is written next to the record.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "folder.h"
#include "loader/component_instance.h"
#include "loader/loaded_components.h"

namespace loupe {
namespace {

using Json = nlohmann::json;

/// A context that stores the components and drafts that are used.
struct Around : ComponentContext {
  const loupe_run* run() const override { return nullptr; }
  bool lend(const loupe_module&, const std::string&, bool, const Take&) override { return false; }
  std::optional<uint32_t> parameter_flags(const loupe_module&, std::size_t) override { return std::nullopt; }
  LoadedComponents* loaded() override { return &all; }
  LoadedComponents all;
};

Json news_of(LoadedComponents& loaded) {
  Json news;
  loaded.tell_news([&](const std::string& text) { news = Json::parse(text); });
  return news;
}

TEST(LoadedComponents, NamesEachPluginWithItsVersionsComponentsAndDrafts) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin("probe"));
  catalogue.add_path(test_plugin("sound"));
  Around around;
  EXPECT_EQ(news_of(around.all), Json()) << "no component is loaded";
  around.all.add(*catalogue.find(Kind::lens, "probe"));
  around.all.add(*catalogue.find(Kind::lens, "probe_lens"));  // an alias of the same lens
  around.all.add(*catalogue.find(Kind::gatherer, "probe_forward"));
  around.all.add_draft(test_plugin("probe"), "loupe.x/draft-1");
  const Json news = news_of(around.all);
  ASSERT_EQ(news.at("plugins").size(), 1u) << "the other plugin was opened, but no component of it was created";
  const Json& plugin = news["plugins"][0];
  EXPECT_EQ(plugin.at("file"), test_plugin("probe"));
  EXPECT_EQ(plugin.at("name"), "probe");
  EXPECT_EQ(plugin.at("version"), "1.2.3");
  EXPECT_EQ(plugin.at("abi"), "1.0");
  EXPECT_EQ(plugin.at("components"), Json::parse(R"([{"kind": "gatherer", "name": "probe_forward"},
                                                     {"kind": "lens", "name": "probe_lens"}])"));
  EXPECT_EQ(plugin.at("drafts"), Json::array({"loupe.x/draft-1"}));
  EXPECT_EQ(news_of(around.all), Json()) << "no component was added since";
}

TEST(LoadedComponents, AreReportedAgainAfterAWriteFailed) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin("sound"));
  Around around;
  around.all.add(*catalogue.find(Kind::visualizer, "sound"));
  EXPECT_THROW(around.all.tell_news([](const std::string&) { throw std::runtime_error("the disk is full"); }),
               std::runtime_error);
  EXPECT_EQ(news_of(around.all).at("plugins").size(), 1u);
}

TEST(LoadedComponents, IncludeDraftsThatExistAndWereRequested) {
  static const int table = 0;
  offer_interface("loupe.there/draft-1", &table);
  offer_interface("loupe.no_draft/1", &table);
  Catalogue catalogue;
  catalogue.add_path(test_plugin("sound"));
  const CatalogueEntry& sound = *catalogue.find(Kind::visualizer, "sound");
  Around around;
  around.all.add(sound);
  const ComponentHost host("the visualizer 'sound'", &around, sound.library->path);
  for (const char* id : {"loupe.there/draft-1", "loupe.no_draft/1", "loupe.not_there/draft-1"})
    host.get()->get_extension(host.get()->context, id);
  EXPECT_EQ(news_of(around.all).at("plugins").at(0).at("drafts"), Json::array({"loupe.there/draft-1"}));
}

TEST(OfferedInterfaces, AreLoadedOnlyOnRequest) {
  static const int table = 0;
  static int loaded = 0;
  static bool is_there = false;
  offer_interface("loupe.loaded/1", [](const char* id) {
    EXPECT_STREQ(id, "loupe.loaded/1");
    ++loaded;
    // The host holds no lock during this call, as a loaded library may offer an interface.
    offer_interface("loupe.offered_meanwhile/1", &table);
    return is_there ? static_cast<const void*>(&table) : nullptr;
  });
  EXPECT_EQ(loaded, 0);
  const ComponentHost host("the lens 'x'", nullptr);
  const auto ask = [&](const char* id) { return host.get()->get_extension(host.get()->context, id); };
  EXPECT_EQ(ask("loupe.loaded/1"), nullptr);
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(ask("loupe.offered_meanwhile/1"), &table);
  is_there = true;
  EXPECT_EQ(ask("loupe.loaded/1"), &table);
}

}  // namespace
}  // namespace loupe
