#include "loupe/register_plugin.h"

#include <gtest/gtest.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "folder.h"
#include "loader/plugin_library.h"
#include "paths.h"
#include "pipeline/monitor.h"
#include "says.h"

namespace loupe {
namespace {

class Linked : public Lens {
 public:
  static constexpr const char* name = "linked";
  static constexpr const char* help = "is linked into the program";
  static std::vector<Option> options() { return {{"number", 3.5, "what it shows"}}; }
  explicit Linked(const Options& options) : number_(options.get<double>("number")) {}
  void visit(const Module&) override {}
  void report(Report& report) override {
    report.tag("Linked", {});
    report.value("Linked", "all", "number", number_);
  }

 private:
  double number_;
};
class OtherLinked : public Linked {
 public:
  static constexpr const char* help = "is registered too late";
  using Linked::Linked;
};
/// A lens whose name a plugin file of the tests has, too.
class Strange : public Linked {
 public:
  static constexpr const char* name = "strange";
  using Linked::Linked;
};

LOUPE_STATIC_PLUGIN(linked_plugin, "mine", "1.0", Linked);
LOUPE_STATIC_PLUGIN(other_plugin, "yours", "1.0", OtherLinked);
LOUPE_STATIC_PLUGIN(strange_plugin, "ours", "1.0", Strange);

/// A new catalogue with the registered plugins.
Catalogue registered_catalogue() {
  Catalogue catalogue;
  catalogue.add_registered();
  return catalogue;
}

/// Registration applies to the whole process, so all tests start with the same plugins.
class RegisterPlugin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_plugin(linked_plugin);
    register_plugin(other_plugin);
    register_plugin(strange_plugin);
  }
};

TEST_F(RegisterPlugin, MakesAComponentAvailableByNameInYaml) {
  Monitor monitor(Config::from_text("visualizers: []\nlenses: [linked: {number: 4}]\n", "a.yaml", "/"));
  monitor.tick(std::nullopt);
  EXPECT_EQ(monitor.display().last("Linked", "all", "number"), 4);
}

TEST_F(RegisterPlugin, PrefersTheFirstOfTwoEqualNamesAndReportsTheOther) {
  const Catalogue catalogue = registered_catalogue();
  EXPECT_STREQ(catalogue.find(Kind::lens, "linked")->component->help, Linked::help);
  EXPECT_EQ(only(catalogue.problems()),
            "the lens 'linked' of 'yours (linked into this program)' is ignored: 'mine (linked into this program)' "
            "defines the same name and comes first; rename one, or remove one file from the plugin path");
}

TEST_F(RegisterPlugin, TakesPrecedenceOverAFileWhichIsReportedButNotOpened) {
  const Folder folder;
  std::filesystem::copy_file(STRANGER_PLUGIN, folder.path("stranger.so"));
  ::unsetenv("LOUPE_STRANGER_RAN");
  Catalogue catalogue = registered_catalogue();
  catalogue.add_path(folder.path());
  EXPECT_EQ(catalogue.find(Kind::lens, "strange")->library->file, "ours (linked into this program)");
  EXPECT_EQ(std::getenv("LOUPE_STRANGER_RAN"), nullptr);
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_SAYS(catalogue.problems()[1],
              "stranger.so' is ignored: 'ours (linked into this program)' defines the same name and comes first");
}

TEST_F(RegisterPlugin, DoesNothingForTheSameEntryAgain) {
  const std::size_t before = registered_plugins().size();
  register_plugin(linked_plugin);
  EXPECT_EQ(registered_plugins().size(), before);
}

std::string refusal(const loupe_entry& entry) {
  try {
    register_plugin(entry);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST_F(RegisterPlugin, RefusesAnInvalidEntry) {
  const std::size_t before = registered_plugins().size();
  loupe_entry entry = linked_plugin;
  entry.magic = 1;
  EXPECT_SAYS(refusal(entry), "a plugin linked into this program' exports loupe_plugin_entry without Loupe's mark");
  entry = linked_plugin;
  entry.abi_major = LOUPE_ABI_MAJOR + 1;
  EXPECT_SAYS(refusal(entry), "was built for ABI 2.0, this host has 1.0");
  entry = linked_plugin;
  entry.get_extension = [](const char*) -> const void* { return nullptr; };
  EXPECT_SAYS(refusal(entry), "does not offer loupe.plugin/1");
  EXPECT_EQ(registered_plugins().size(), before);
}

TEST_F(RegisterPlugin, MayBeCalledFromSeveralThreadsAtOnce) {
  static loupe_entry entries[8];
  std::fill(std::begin(entries), std::end(entries), linked_plugin);
  const std::size_t before = registered_plugins().size();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (const loupe_entry& entry : entries) register_plugin(entry);
      registered_catalogue();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registered_plugins().size(), before + 8);
}

}  // namespace
}  // namespace loupe
