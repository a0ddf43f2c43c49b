// A file in a plugin folder runs nothing before one of its components is asked for.

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <cstdlib>

#include "folder.h"
#include "loader/catalogue.h"
#include "says.h"

namespace loupe {
namespace {

std::string with_stranger(const Folder& folder) {
  const std::string target = folder.path("stranger.so");
  std::filesystem::copy_file(STRANGER_PLUGIN, target);
  ::unsetenv("LOUPE_STRANGER_RAN");
  return target;
}

bool stranger_ran() {
  return std::getenv("LOUPE_STRANGER_RAN") != nullptr;
}

TEST(ComponentIndex, ReadsWhatAPluginBringsFromItsNote) {
  const PluginFile file(STRANGER_PLUGIN);
  const ComponentIndex index = read_index(ElfFile(file));
  ASSERT_TRUE(index.noted);
  ASSERT_EQ(index.components.size(), 2u);
  EXPECT_TRUE(index.names(Kind::lens, "strange"));
  EXPECT_TRUE(index.names(Kind::lens, "stranger"));
  EXPECT_FALSE(index.names(Kind::visualizer, "strange"));
  EXPECT_FALSE(index.components[0].has_aliases);
  EXPECT_TRUE(index.components[1].has_aliases);
}

TEST(ComponentIndex, OfAFileWithoutNoteIsNone) {
  const PluginFile file(test_plugin("sound"));
  EXPECT_FALSE(read_index(ElfFile(file)).noted);
}

TEST(ComponentIndex, OnlyWhatIsAskedForRuns) {
  const Folder folder;
  with_stranger(folder);
  folder.add_plugin("probe");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  EXPECT_EQ(catalogue.names(Kind::lens), (Texts{"probe_lens", "strange", "stranger"}));
  EXPECT_TRUE(catalogue.entries().empty());
  EXPECT_NE(catalogue.find(Kind::lens, "probe_lens"), nullptr);
  EXPECT_NE(catalogue.find(Kind::gatherer, "probe_forward"), nullptr);
  EXPECT_EQ(catalogue.find(Kind::visualizer, "strange"), nullptr);
  EXPECT_FALSE(stranger_ran());
  EXPECT_NE(catalogue.find(Kind::lens, "strange"), nullptr);
  EXPECT_TRUE(stranger_ran());
}

TEST(ComponentIndex, AnAliasIsFoundInAPluginThatHasSome) {
  const Folder folder;
  with_stranger(folder);
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  ASSERT_NE(catalogue.find(Kind::lens, "strangest"), nullptr);
  EXPECT_STREQ(catalogue.find(Kind::lens, "strangest")->component->name, "stranger");
}

TEST(ComponentIndex, AFileWithoutNoteIsOpenedWhereANameIsFoundNowhereElse) {
  const Folder folder;
  folder.add_plugin("sound");
  folder.add_plugin("probe");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  EXPECT_NE(catalogue.find(Kind::visualizer, "probe_visualizer"), nullptr);
  EXPECT_EQ(catalogue.names(Kind::visualizer), (Texts{"probe_visualizer"}));
  EXPECT_NE(catalogue.find(Kind::visualizer, "sound"), nullptr);
}

TEST(ComponentIndex, TellsDoublesWithoutOpeningEither) {
  const Folder folder;
  const std::string first = with_stranger(folder);
  std::filesystem::copy_file(first, folder.path("twin.so"));
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_EQ(catalogue.problems()[0],
            "the lens 'strange' of '" + folder.path("twin.so") + "' is left out: '" + first +
                "' comes before it and has one of that name; rename one, or take one file out of the "
                "plugin path");
  EXPECT_FALSE(stranger_ran());
  EXPECT_EQ(catalogue.find(Kind::lens, "strange")->library->file, first);
}

}  // namespace
}  // namespace loupe
