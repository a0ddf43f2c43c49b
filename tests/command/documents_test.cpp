// The manual's pages and the shell completions name every command and option of --help, and
// groff, mandoc and the shells accept them.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// The options of a help text, for example "--config", and the commands below "Subcommands:".
std::vector<std::string> options_of(const std::string& help) {
  std::vector<std::string> found;
  const std::regex option("^  (?:-[a-z],)?(--[a-z-]+)");
  for (const std::string& line : lines_of(help)) {
    std::smatch match;
    if (std::regex_search(line, match, option)) found.push_back(match[1]);
  }
  return found;
}
std::vector<std::string> commands_of(const std::string& help) {
  std::vector<std::string> found;
  std::istringstream list(help.substr(help.find("Subcommands:\n")));
  std::string line;
  std::getline(list, line);
  while (std::getline(list, line) && line.rfind("  ", 0) == 0) found.push_back(line.substr(2, line.find(' ', 2) - 2));
  return found;
}

class Documents : public testing::Test {
 protected:
  Documents() : folder_(fresh_folder()) {
    const Finished made = run(LOUPE_COMMAND + " document . --date 2026-01-31", folder_);
    EXPECT_EQ(made.exit_code, 0) << made.output;
  }
  std::string told_by(const std::string& command) const { return said(LOUPE_COMMAND + " " + command); }
  std::string read(const std::string& file) const { return text_of(folder_ / file); }
  /// The output of a shell command.
  std::string said(const std::string& command) const { return run(command, folder_).output; }
  bool has(const std::string& program) const { return run("command -v " + program, folder_).exit_code == 0; }
  /// The completions that bash offers for a line, sorted, one per line; the last word may be empty.
  std::string in_bash(const std::string& words) const {
    return said("bash -uc '. ./loupe.bash; COMP_WORDS=(" + words +
                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _loupe loupe; printf \"%s\\n\" \"${COMPREPLY[@]}\" | sort'");
  }

  fs::path folder_;
};

TEST_F(Documents, EndWithExamplesFilesAndEnvironment) {
  for (const std::string& command : commands_of(told_by("--help"))) {
    const std::string page = read("man1/loupe-" + command + ".1");
    EXPECT_NE(page.find("\n.SH EXAMPLES\n.TP\n\\fBloupe " + command), std::string::npos) << page;
    EXPECT_NE(page.find("\n.SH ENVIRONMENT\n"), std::string::npos) << command;
  }
  EXPECT_NE(read("man1/loupe-run.1").find("\n.SH FILES\n"), std::string::npos);
}

TEST_F(Documents, HaveAPageWithEveryOptionOfTheConfiguration) {
  const std::string page = read("man5/loupe.yaml.5");
  const std::regex option("^  ([a-z_]+)  ");
  std::size_t options = 0;
  for (const std::string& line : lines_of(told_by("describe config"))) {
    std::smatch match;
    if (std::regex_search(line, match, option)) {
      ++options;
      EXPECT_NE(page.find(".TP\n\\fB" + match[1].str() + "\\fR ("), std::string::npos) << line;
    } else if (line.rfind(' ', 0) != 0) {
      EXPECT_NE(page.find(".SH THE MAP \\fB" + line + "\\fR\n"), std::string::npos) << line;
    }
  }
  EXPECT_GT(options, 20U);
  for (const char* heading : {"EXAMPLES", "FILES", "ENVIRONMENT"})
    EXPECT_NE(page.find(std::string("\n.SH ") + heading + "\n"), std::string::npos) << heading;
}

TEST_F(Documents, CompleteTheRulesThatCanBeExplained) {
  if (!has("bash")) GTEST_SKIP() << "there is no bash";
  EXPECT_EQ(in_bash("loupe explain dead_"), "dead_units\n");
  EXPECT_EQ(in_bash("loupe explain replica"), "replica_drift\n") << "a rule of another lens";
}

TEST_F(Documents, HaveEveryCommandAndOptionThatHelpTellsOf) {
  const std::string bash = read("loupe.bash"), zsh = read("_loupe");
  const std::string own_page = read("man1/loupe.1");
  const std::vector<std::string> commands = commands_of(told_by("--help"));
  ASSERT_GT(commands.size(), 10U);
  for (const std::string& command : commands) {
    const std::string page = read("man1/loupe-" + command + ".1");
    EXPECT_NE(own_page.find(".TP\n\\fB" + command + "\\fR\n"), std::string::npos) << command;
    EXPECT_NE(page.find(".SH NAME\nloupe\\-" + command + " \\- "), std::string::npos) << page;
    const std::string of_bash = bash.substr(bash.find("\n    " + command + ")\n"));
    const std::string of_zsh = zsh.substr(zsh.find("\n    " + command + ")\n"));
    const std::vector<std::string> options = options_of(told_by(command + " --help"));
    ASSERT_FALSE(options.empty()) << command;
    for (const std::string& option : options) {
      std::string escaped = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_NE(page.find("\\fB" + escaped + "\\fR"), std::string::npos) << command << option;
      EXPECT_NE((" " + of_bash.substr(0, of_bash.find(";;"))).find(option), std::string::npos) << command << option;
      EXPECT_TRUE(std::regex_search(of_zsh.substr(0, of_zsh.find(";;")), std::regex(option + "=?\\[")))
          << command << option;
    }
  }
}

TEST_F(Documents, DoNotMentionTheCommandThatWritesThem) {
  EXPECT_EQ(told_by("--help").find("document"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "man1/loupe-document.1"));
}

TEST_F(Documents, HavePagesThatTheirReadersDoNotWarnOf) {
  if (!has("groff")) GTEST_SKIP() << "there is no groff here";
  for (const char* section : {"man1", "man5"})
    for (const auto& page : fs::directory_iterator(folder_ / section))
      EXPECT_EQ(said("groff -ww -man -K utf8 -T utf8 -z " + page.path().string()), "");
  if (!has("mandoc")) GTEST_SKIP() << "there is no mandoc here";
  EXPECT_EQ(said("mandoc -T lint -W warning man1/* man5/*"), "");
}

TEST_F(Documents, CompleteInBash) {
  EXPECT_EQ(in_bash("loupe re"), "replay\n");
  EXPECT_EQ(in_bash("loupe run --f"), "--follow\n");
  EXPECT_EQ(in_bash("loupe run --follow \"\""), "no\nyes\n");
  EXPECT_EQ(in_bash("loupe run --follow = n"), "no\n");
  EXPECT_EQ(in_bash("loupe new \"\""), "gatherer\nlens\npreprocessor\nvisualizer\n");
  EXPECT_EQ(in_bash("loupe new lens \"\""), "\n");  // a new name has no completions
  EXPECT_EQ(in_bash("loupe new --c vis"), "visualizer\n");
  // Arguments for files complete to files, arguments for folders only to folders.
  run("mkdir sub && touch sub.yaml", folder_);
  EXPECT_EQ(in_bash("loupe validate su"), "sub\nsub.yaml\n");
  EXPECT_EQ(in_bash("loupe replay --out su"), "sub\n");
  EXPECT_EQ(in_bash("loupe run --config su"), "sub\nsub.yaml\n");
  // Arguments after a program belong to the program.
  EXPECT_EQ(in_bash("loupe run ./trainer --f"), "\n");
}

TEST_F(Documents, CompleteComponentsThatThereAre) {
  const std::string path = "PATH=" + fs::path(LOUPE_COMMAND).parent_path().string() + ":$PATH; ";
  const auto with_loupe = [&](const std::string& words) {
    return said("bash -uc '" + path + ". ./loupe.bash; COMP_WORDS=(" + words +
                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _loupe loupe; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  };
  EXPECT_EQ(with_loupe("loupe describe heal"), "health\n");
  EXPECT_EQ(with_loupe("loupe describe conf"), "config\n");
  EXPECT_EQ(with_loupe("loupe replay --visualizer t"), "tensorboard\n");
}

TEST_F(Documents, CompleteInZsh) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh here";
  EXPECT_EQ(said("zsh -fn _loupe"), "");
  // Start a zsh on a separate terminal; it echoes the completed line.
  const auto in_zsh = [&](const std::string& line) {
    return said(
        "HOME=$PWD timeout 60 zsh -fc 'zmodload zsh/zpty; zpty shell zsh -fi; zpty -w shell \"PS1=; fpath=($PWD "
        "\\$fpath);"
        " autoload -Uz compinit; compinit -uD; PS1=rea\\\"\\\"dy\"; zpty -r shell said \"*ready*\";"
        " zpty -n -w shell \"" +
        line + "\"$'\\''\\t'\\''\"X\"; zpty -r shell said \"*X*\"; print -r -- $said'");
  };
  // The typed text is shorter than the expected text.
  EXPECT_NE(in_zsh("loupe rep").find("loupe replay"), std::string::npos) << in_zsh("loupe rep");
  EXPECT_NE(in_zsh("loupe run --foll").find("loupe run --follow"), std::string::npos) << in_zsh("loupe run --foll");
}

}  // namespace
}  // namespace loupe::test
