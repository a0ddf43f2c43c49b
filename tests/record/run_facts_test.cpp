// The facts about a process that its record contains.

#include "record/run_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sdk/folder.h"

namespace loupe::record {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::write;

/// Writes a file, and creates its folders.
void put(const std::string& file, const std::string& text) {
  fs::create_directories(fs::path(file).parent_path());
  write(file, text);
}

TEST(RunFacts, NameTheCommitOfTheBranchAroundAFolder) {
  const Folder folder;
  put(folder / ".git/HEAD", "ref: refs/heads/main\n");
  put(folder / ".git/refs/heads/main", "1f2e\n");
  put(folder / "build/bin/train", "");
  EXPECT_EQ(git_commit(folder / "build/bin"), "1f2e");
}

TEST(RunFacts, NameTheCommitOfABranchThatGitHasPacked) {
  const Folder folder;
  put(folder / ".git/HEAD", "ref: refs/heads/a\n");
  put(folder / ".git/packed-refs", "# pack-refs with: peeled\n33 refs/heads/a/b\n44 refs/heads/a\n");
  EXPECT_EQ(git_commit(folder / ""), "44");
}

TEST(RunFacts, NameTheCommitOfAHeadWithoutABranch) {
  const Folder folder;
  put(folder / ".git/HEAD", "55aa\n");
  EXPECT_EQ(git_commit(folder / ""), "55aa");
}

TEST(RunFacts, NameTheCommitOfAWorktree) {
  const Folder folder;
  put(folder / "tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
  put(folder / "main/.git/worktrees/tree/HEAD", "ref: refs/heads/work\n");
  put(folder / "main/.git/worktrees/tree/commondir", "../..\n");
  put(folder / "main/.git/refs/heads/work", "66\n");
  EXPECT_EQ(git_commit(folder / "tree"), "66");
}

TEST(RunFacts, NameNoCommitOutsideOfARepositoryOrBeforeTheFirstOne) {
  const Folder folder;
  EXPECT_EQ(git_commit(folder / ""), "");
  put(folder / ".git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(git_commit(folder / ""), "");
}

TEST(RunFacts, QuoteArgumentsAsAShellTakesThem) {
  EXPECT_EQ(command_line({"./train", "lr=0.1", "two words", "it's", ""}), "./train lr=0.1 'two words' 'it'\\''s' ''");
}

}  // namespace
}  // namespace loupe::record
