// Which components a catalogue has, which one a name means, and that no plugin runs before it is needed.

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <cstdlib>
#include <utility>

#include "core/log.h"
#include "folder.h"
#include "loader/catalogue.h"
#include "paths.h"
#include "says.h"

namespace loupe {
namespace {

/// The problem of a plugin file, which must be unusable.
std::string problem_of(const std::string& file) {
  Catalogue catalogue;
  catalogue.add_path(file);
  EXPECT_TRUE(catalogue.entries().empty());
  if (catalogue.problems().size() == 1) return catalogue.problems()[0];
  ADD_FAILURE() << catalogue.problems().size() << " problems of " << file;
  return "";
}

/// The problem of one component of a test plugin. The other component must still be usable.
std::string problem_beside(const std::string& name) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin(name));
  EXPECT_EQ(catalogue.names(Kind::visualizer), (Texts{name + "_beside"}));
  if (catalogue.problems().size() == 1) return catalogue.problems()[0];
  ADD_FAILURE() << catalogue.problems().size() << " problems of " << name;
  return "";
}

TEST(Catalogue, KnowsComponentsByKindNameAndAlias) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin("probe"));
  EXPECT_TRUE(catalogue.problems().empty());
  EXPECT_EQ(catalogue.names(Kind::gatherer),
            (Texts{"probe_forward", "probe_gradient", "probe_loss_input", "probe_plain", "probe_push"}));
  ASSERT_NE(catalogue.find(Kind::lens, "probe"), nullptr);
  EXPECT_EQ(catalogue.find(Kind::lens, "probe"), catalogue.find(Kind::lens, "probe_lens"));
  EXPECT_EQ(catalogue.find(Kind::gatherer, "probe_lens"), nullptr);
  const PluginLibrary& library = *catalogue.find(Kind::lens, "probe")->library;
  EXPECT_EQ(library.file, test_plugin("probe"));
  EXPECT_STREQ(library.plugin->version, "1.2.3");
}

TEST(Catalogue, AcceptsAPluginOfANewerMinorVersion) {
  Catalogue catalogue;
  catalogue.add_path(test_plugin("newer_minor"));
  EXPECT_TRUE(catalogue.problems().empty());
  EXPECT_EQ(catalogue.entries()[0].library->abi_minor, LOUPE_ABI_MINOR + 7);
}

TEST(Catalogue, AMissingPathIsAProblem) {
  EXPECT_EQ(problem_of("/nowhere/at_all.so"),
            "the plugin path '/nowhere/at_all.so' does not exist; correct it, or build the plugin");
}

TEST(Catalogue, AFileThatIsNotALibraryIsAProblem) {
  const Folder folder;
  const std::string file = folder.write("poem.so", "roses are red\n");
  EXPECT_SAYS(problem_of(file), "the plugin '" + file + "' cannot be loaded: ");
  EXPECT_SAYS(problem_of(file), "; check that it is a shared library for this system");
  EXPECT_EQ(problem_of(file).find("descriptor"), std::string::npos);
  const std::string empty = folder.write("empty.so", "");
  EXPECT_SAYS(problem_of(empty), "the plugin '" + empty + "' cannot be loaded: ");
}

TEST(Catalogue, AnIncompleteLibraryIsAProblem) {
  const Folder folder;
  const std::string file = folder.add_plugin("probe", "cut");
  std::filesystem::resize_file(file, 20000);
  EXPECT_SAYS(problem_of(file), "the plugin '" + file + "' is cut short: its 20000 bytes are fewer than its header");
}

TEST(Catalogue, APluginThatCannotBeUsedIsAProblemThatSaysWhyAndTheRemedy) {
  const std::pair<const char*, const char*> told[] = {
      {"no_entry",
       " is not a Loupe plugin: it does not export loupe_plugin_entry; close the plugin's source with LOUPE_PL"},
      {"newer_major", " was built for ABI 2.3, this host has 1.0; update Loupe, or rebuild the plugin against this "},
      {"older_major", " was built for ABI 0.9, this host has 1.0; rebuild the plugin against this Loupe's SDK"},
      {"wrong_magic", " exports loupe_plugin_entry without Loupe's mark; rebuild it against loupe/plugin.h"},
      {"no_interface", " (ABI 1.0, host 1.0) does not offer loupe.plugin/1; "},
      {"short_plugin", " (ABI 1.0, host 1.0) does not offer loupe.plugin/1; "}};
  for (const auto& [name, why] : told) EXPECT_SAYS(problem_of(test_plugin(name)), "'" + test_plugin(name) + "'" + why);
}

TEST(Catalogue, AnUnusableComponentDoesNotAffectOthers) {
  const std::pair<const char*, const char*> told[] = {
      {"short_component", " (ABI 1.0, this host 1.0) offers a component that is cut short; rebuild it against this "},
      {"null_table", " (ABI 1.0, this host 1.0) offers a component that is cut short; rebuild it against this "},
      {"short_table", " (ABI 1.0, this host 1.0) lacks 'begin_tick', which every visualizer has; rebuild it against "},
      {"null_function", " lacks 'row', which every visualizer has; "},
      {"wrong_default", " an invalid default: wrong_default.ratio must be between 0 and 1, not 7; correct "},
      {"broken_default", "broken_default.ratio has a default that is not a number"}};
  for (const auto& [name, why] : told) EXPECT_SAYS(problem_beside(name), why);
}

TEST(Catalogue, AKindOfANewerLoupeCausesAWarningButNoProblem) {
  Texts warnings;
  set_log_sink([&](int, const std::string& line) { warnings.push_back(line); });
  Catalogue catalogue;
  catalogue.add_path(test_plugin("unknown_kind"));
  set_log_sink({});
  EXPECT_EQ(catalogue.problems(), Texts{});
  EXPECT_EQ(catalogue.names(Kind::visualizer), Texts{"unknown_kind_beside"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_SAYS(warnings[0], "'loupe.oracle/1'");
  EXPECT_SAYS(warnings[0], "newer Loupe");
}

TEST(Catalogue, AnOptionOfANewerTypeCannotBeSet) {
  Texts warnings;
  set_log_sink([&](int, const std::string& line) { warnings.push_back(line); });
  Catalogue catalogue;
  catalogue.add_path(test_plugin("newer_option"));
  set_log_sink({});
  EXPECT_EQ(catalogue.problems(), Texts{});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_SAYS(warnings[0], "'ratio'");
  EXPECT_SAYS(warnings[0], "newer Loupe");
  const CatalogueEntry* entry = catalogue.find(Kind::visualizer, "newer_option");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(OptionSet::from_values(entry->options(), nullptr, "it")->get()->value_count, 0u);
  const loupe_option_value value{.struct_size = sizeof value, .type = LOUPE_TYPE_NUMBER, .name = "ratio"};
  const loupe_option_value* const values[] = {&value};
  const loupe_options given{.struct_size = sizeof given, .values = values, .value_count = 1};
  EXPECT_THROW(OptionSet::from_values(entry->options(), &given, "it"), Error);
}

TEST(Catalogue, TheFirstComponentWithANameWins) {
  const Folder folder;
  const std::string first = folder.add_plugin("sound", "a");
  const std::string second = folder.add_plugin("same_name", "b");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  catalogue.open_all();
  ASSERT_EQ(catalogue.problems().size(), 2u);  // the other one is about sound_beside
  EXPECT_EQ(catalogue.problems()[0],
            "the visualizer 'sound' of '" + second + "' is ignored: '" + first +
                "' defines the same name and comes first; rename one, or remove one file from the plugin path");
  EXPECT_EQ(catalogue.find(Kind::visualizer, "sound")->library->file, first);
}

TEST(Catalogue, TheSameFileOnTwoPathsIsLoadedOnce) {
  const Folder folder;
  folder.add_plugin("sound", "deep/sound");
  Catalogue catalogue;
  catalogue.add_path(folder.path("deep"));
  catalogue.add_path(folder.path("deep/../deep/sound.so"));
  catalogue.open_all();
  EXPECT_TRUE(catalogue.problems().empty());
  EXPECT_EQ(catalogue.entries().size(), 2u);
}

TEST(Catalogue, AFileIsLoadedOncePerProcess) {
  Catalogue first, second;
  first.add_path(test_plugin("sound"));
  second.add_path(test_plugin("sound"));
  EXPECT_EQ(first.entries()[0].library, second.entries()[0].library);
}

TEST(Catalogue, OneFaultyFileInAFolderLeavesTheOthers) {
  const Folder folder;
  folder.add_plugin("newer_major", "a");
  folder.write("b.so", "no library");
  folder.add_plugin("sound", "c");
  folder.write("d.txt", "no plugin, and not looked at");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  catalogue.open_all();
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_SAYS(catalogue.problems()[0], "b.so'");  // reported before any file is opened
  EXPECT_SAYS(catalogue.problems()[1], "a.so'");
  EXPECT_EQ(catalogue.names(Kind::visualizer), (Texts{"sound", "sound_beside"}));
}

/// A catalogue of a folder with variants of plugins/pair.c, each in a file "NAME.so".
class Order : public testing::Test {
 protected:
  std::string add(const std::string& variant, const std::string& name) {
    const std::string target = folder_.path(name + ".so");
    std::filesystem::copy_file(PAIR_PLUGINS + "/pair_" + variant + ".so", target);
    return target;
  }
  std::string owner(const std::string& name) {
    if (catalogue_.entries().empty()) catalogue_.add_path(folder_.path());
    const CatalogueEntry* entry = catalogue_.find(Kind::visualizer, name);
    return entry != nullptr ? entry->library->file : "nobody";
  }

  Folder folder_;
  Catalogue catalogue_;
};

TEST_F(Order, TheFirstFileHasANameWhateverWasAskedForBefore) {
  const std::string first = add("one", "a"), last = add("two", "b");
  EXPECT_EQ(owner("two"), last);
  EXPECT_EQ(owner("shared"), first);
  EXPECT_EQ(catalogue_.entries().size(), 3u);
}

TEST_F(Order, ANameGoesBeforeAnAlias) {
  const std::string first = add("one", "a");  // its alias is "two"
  EXPECT_EQ(owner("two"), first);
  const std::string last = add("two", "b");
  catalogue_.add_path(last);
  EXPECT_EQ(owner("one"), first);
  EXPECT_EQ(owner("two"), last);
}

TEST_F(Order, AFileWithoutANoteComesLast) {
  const std::string first = add("silent", "a"), last = add("two", "b");
  EXPECT_EQ(owner("silent"), first);
  EXPECT_EQ(owner("shared"), last);
}

TEST_F(Order, ANamedFileComesInItsOrderEvenWithoutANote) {
  const std::string named = PAIR_PLUGINS + "/pair_silent.so";
  catalogue_.add_path(named);
  add("two", "a");
  catalogue_.add_path(folder_.path());
  EXPECT_EQ(owner("shared"), named);
}

TEST_F(Order, ListsTheComponentsThatItFinds) {
  const std::string silent = add("silent", "a"), first = add("one", "b");
  add("two", "c");
  EXPECT_EQ(owner("silent"), silent);
  catalogue_.open_all();
  for (const CatalogueEntry& entry : catalogue_.entries()) {
    EXPECT_EQ(catalogue_.find(entry.kind, entry.component->name), &entry) << entry.component->name;
  }
  EXPECT_EQ(owner("shared"), first);
}

std::string with_stranger(const Folder& folder) {
  const std::string target = folder.path("stranger.so");
  std::filesystem::copy_file(STRANGER_PLUGIN, target);
  ::unsetenv("LOUPE_STRANGER_RAN");
  return target;
}

bool stranger_ran() {
  return std::getenv("LOUPE_STRANGER_RAN") != nullptr;
}

TEST(ComponentIndex, ReadsThePluginsComponentsFromItsNote) {
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

TEST(ComponentIndex, OfAFileWithoutANoteIsEmpty) {
  const PluginFile file(test_plugin("sound"));
  EXPECT_FALSE(read_index(ElfFile(file)).noted);
}

TEST(ComponentIndex, OnlyWhatIsAskedForRuns) {
  const Folder folder;
  with_stranger(folder);
  folder.add_plugin("probe");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  EXPECT_EQ(catalogue.names(Kind::lens), (Texts{"probe_hearer", "probe_judge", "probe_lens", "strange", "stranger"}));
  EXPECT_TRUE(catalogue.entries().empty());
  EXPECT_NE(catalogue.find(Kind::lens, "probe_lens"), nullptr);
  EXPECT_NE(catalogue.find(Kind::gatherer, "probe_forward"), nullptr);
  EXPECT_EQ(catalogue.find(Kind::visualizer, "strange"), nullptr);
  EXPECT_FALSE(stranger_ran());
  EXPECT_NE(catalogue.find(Kind::lens, "strange"), nullptr);
  EXPECT_TRUE(stranger_ran());
}

TEST(ComponentIndex, FindsAnAliasInAPluginWithAliases) {
  const Folder folder;
  with_stranger(folder);
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  ASSERT_NE(catalogue.find(Kind::lens, "strangest"), nullptr);
  EXPECT_STREQ(catalogue.find(Kind::lens, "strangest")->component->name, "stranger");
}

TEST(ComponentIndex, OpensAFileWithoutANoteIfANameIsNotFoundElsewhere) {
  const Folder folder;
  folder.add_plugin("sound");
  folder.add_plugin("probe");
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  EXPECT_NE(catalogue.find(Kind::visualizer, "probe_visualizer"), nullptr);
  EXPECT_EQ(catalogue.names(Kind::visualizer), (Texts{"probe_visualizer"}));
  EXPECT_NE(catalogue.find(Kind::visualizer, "sound"), nullptr);
}

TEST(ComponentIndex, ReportsDuplicatesWithoutOpeningEither) {
  const Folder folder;
  const std::string first = with_stranger(folder);
  std::filesystem::copy_file(first, folder.path("twin.so"));
  Catalogue catalogue;
  catalogue.add_path(folder.path());
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_EQ(catalogue.problems()[0],
            "the lens 'strange' of '" + folder.path("twin.so") + "' is ignored: '" + first +
                "' defines the same name and comes first; rename one, or remove one file from the plugin path");
  EXPECT_FALSE(stranger_ran());
  EXPECT_EQ(catalogue.find(Kind::lens, "strange")->library->file, first);
}

TEST(LoadPlugin, TellsOfALibraryThatThePluginBringsAndTheProcessHas) {
  const LogCapture log;
  load_plugin(MIXED_PLUGINS + "/mixed_not.so");
  load_plugin(test_plugin("probe"));
  EXPECT_EQ(log.messages, Texts{});
  load_plugin(MIXED_PLUGINS + "/mixed.so");
  EXPECT_SAYS(only(log.messages), "the plugin '" + MIXED_PLUGINS + "/mixed.so' exports 'YAML::Load(");
  EXPECT_SAYS(only(log.messages), "libyaml-cpp.so");
  EXPECT_SAYS(only(log.messages), "the plugin uses the process's copy, so two versions of a library may be mixed");
  load_plugin(MIXED_PLUGINS + "/mixed.so");
  EXPECT_EQ(log.messages.size(), 1u) << "the message comes once";
}

}  // namespace
}  // namespace loupe
