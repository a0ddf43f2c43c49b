// The error for a wrong command line says what is wrong and what to do.

#include <gtest/gtest.h>

#include <filesystem>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

std::string refused(const std::string& arguments) {
  const Finished finished = run(LOUPE_COMMAND + " " + arguments, fresh_folder());
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  return finished.output;
}

TEST(CommandLine, SuggestsTheNearestNameForAnUnknownCommand) {
  EXPECT_EQ(refused("diagnos"),
            "loupe: error: there is no command 'diagnos'; did you mean 'diagnose'?; run 'loupe --help' for a list\n");
  const std::string far = refused("frobnicate record.jsonl");
  EXPECT_EQ(far.rfind("loupe: error: there is no command 'frobnicate'; known are: list, ", 0), 0u) << far;
}

TEST(CommandLine, WithoutACommandSaysHowToListCommands) {
  const std::string expected = "loupe: error: no command is given; run 'loupe --help' for a list\n";
  EXPECT_EQ(refused(""), expected);
  EXPECT_EQ(refused("--frobnicate"), expected);
}

TEST(CommandLine, WithMissingOrExtraArgumentsNamesTheCommandsHelp) {
  EXPECT_EQ(refused("diagnose"), "loupe: error: records is required; run 'loupe diagnose --help' for its arguments\n");
  EXPECT_EQ(refused("list --frobnicate"),
            "loupe: error: the following argument was not expected: --frobnicate; run 'loupe list --help' for its "
            "arguments\n");
}

TEST(CommandLine, HelpWithACommandPrintsTheHelpOfThatCommand) {
  const std::filesystem::path folder = fresh_folder();
  for (const std::string command : {"run", "compare", "check", ""}) {
    const Finished finished = run(LOUPE_COMMAND + " help " + command, folder);
    EXPECT_EQ(finished.exit_code, 0) << command;
    EXPECT_EQ(finished.output, run(LOUPE_COMMAND + " " + command + " --help", folder).output);
    EXPECT_NE(finished.output, "") << command;
  }
  const std::string unknown = refused("help diagnos");
  EXPECT_EQ(unknown.rfind("loupe: error: there is no command 'diagnos'; did you mean 'diagnose'?", 0), 0u) << unknown;
}

TEST(CommandLine, NewSaysThatAndWhyItCannotCreateAFolder) {
  EXPECT_EQ(refused("new lens mine --out " + LOUPE_COMMAND + "/mine"),
            "loupe: error: '" + LOUPE_COMMAND + "/mine' cannot be created: Not a directory; name another with --out\n");
}

TEST(Tool, IsFoundBesideTheCommandOrInLibexecOrReportedMissing) {
  namespace fs = std::filesystem;
  const fs::path folder = fresh_folder(), command = LOUPE_COMMAND, tool = command.parent_path() / "loupe-check";
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "libexec/loupe");
  fs::copy_file(command, folder / "bin/loupe");
  const auto list_rules = [&] { return run((folder / "bin/loupe check --rules").string(), folder); };
  const Finished missing = list_rules();
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.output,
            "loupe: error: this Loupe has no loupe-check; install the package loupe-tools, or build Loupe with 'check' "
            "in LOUPE_TOOLS\n");
  for (const char* place : {"libexec/loupe/loupe-check", "bin/loupe-check"}) {
    fs::copy_file(tool, folder / place);
    EXPECT_EQ(list_rules().exit_code, 0) << place;
    EXPECT_NE(list_rules().output.find("no exception comes out"), std::string::npos) << place;
    fs::remove(folder / place);
  }
  EXPECT_EQ(run(tool.string() + " --rules", folder).exit_code, 0) << "called directly";
}

}  // namespace
}  // namespace loupe::test
