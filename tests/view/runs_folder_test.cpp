// Which runs `loupe view` finds under the given folders.

#include "view/runs_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "examples/process.h"
#include "made_records.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// The folders of the runs, relative to `root`, in order.
std::vector<std::string> names(const view::FoundRuns& found, const fs::path& root) {
  std::vector<std::string> names;
  for (const view::FoundRun& run : found.runs) names.push_back(run.folder.lexically_relative(root).string());
  std::sort(names.begin(), names.end());
  return names;
}
using Names = std::vector<std::string>;

TEST(RunsFolder, AreFoundAtAnyDepthIncludingSavedOnes) {
  const fs::path root = fs::canonical(fresh_folder());
  for (const char* run : {"a", "a/older-1", "deep/er/still/b"}) put(root / run / "record.jsonl", "");
  put(root / "long/record.jsonl.gz", "");
  put(root / "no-run/report.html", "");
  const view::FoundRuns found = view::find_runs({root.string()});
  EXPECT_EQ(names(found, root), (Names{"a", "a/older-1", "deep/er/still/b", "long"}));
  EXPECT_EQ(found.left_out, "");
}

TEST(RunsFolder, MayBeTheRunItselfAndKeepsItsGivenName) {
  const fs::path root = fresh_folder();
  put(root / "a/record.jsonl", "");
  put(root / "a/older-1/record.jsonl", "");
  const view::FoundRuns found = view::find_runs({(root / "a").string()});
  ASSERT_EQ(found.runs.size(), 2u);
  EXPECT_EQ(found.runs[0].shown, (root / "a").string());
  EXPECT_EQ(found.runs[1].shown, (root / "a/older-1").string());
}

TEST(RunsFolder, OfARunOfManyProcessesAreOneRun) {
  const fs::path root = fs::canonical(fresh_folder());
  for (const char* run : {"a", "a/rank-1", "a/rank-2", "b/rank-1"}) put(root / run / "record.jsonl", "");
  EXPECT_EQ(names(view::find_runs({root.string()}), root), (Names{"a", "b/rank-1"}))
      << "without a record of rank 0, the other ranks are listed";
  put(root / "a/merged/record.jsonl", "");
  const view::FoundRuns found = view::find_runs({root.string()});
  EXPECT_EQ(names(found, root), (Names{"a/merged", "b/rank-1"})) << "the merged record stands for all ranks";
  EXPECT_EQ(found.runs.front().shown, (root / "a").string());
}

TEST(RunsFolder, OfMergedProcessesAreDistinguishedFromOthersOfThatName) {
  const fs::path root = fs::canonical(fresh_folder());
  for (const char* run : {"merged", "a", "a/merged"}) put(root / run / "record.jsonl", "");
  const view::FoundRuns found = view::find_runs({root.string()});
  ASSERT_EQ(names(found, root), (Names{"a/merged", "merged"}));
  for (const view::FoundRun& run : found.runs) EXPECT_EQ(run.is_merged, run.folder == root / "a/merged") << run.folder;
  EXPECT_TRUE(view::find_runs({(root / "a/merged").string()}).runs.at(0).is_merged)
      << "also if the folder is given directly";
  EXPECT_FALSE(view::find_runs({(root / "merged").string()}).runs.at(0).is_merged);
}

TEST(RunsFolder, AreListedOnceWhereFoldersOverlap) {
  const fs::path root = fs::canonical(fresh_folder());
  put(root / "a/b/record.jsonl", "");
  const std::vector<std::string> folders = {root.string(), (root / "a").string(), (root / "a/../a/b/").string()};
  EXPECT_EQ(names(view::find_runs(folders), root), (Names{"a/b"}));
}

TEST(RunsFolder, LeadsNowhereByLinks) {
  const fs::path root = fs::canonical(fresh_folder());
  put(root / "outside/secret/record.jsonl", "");
  put(root / "inside/run/record.jsonl", "");
  fs::create_directory_symlink(root / "outside", root / "inside/linked");
  fs::create_directory(root / "inside/faked");
  fs::create_symlink(root / "outside/secret/record.jsonl", root / "inside/faked/record.jsonl");
  fs::create_directory_symlink(root / "inside", root / "inside/loop");
  EXPECT_EQ(names(view::find_runs({(root / "inside").string()}), root), (Names{"inside/run"}));
}

TEST(RunsFolder, ThatIsALinkItselfIsFollowed) {
  const fs::path root = fs::canonical(fresh_folder());
  put(root / "real/run/record.jsonl", "");
  fs::create_directory_symlink(root / "real", root / "link");
  const view::FoundRuns found = view::find_runs({(root / "link").string()});
  EXPECT_EQ(names(found, root), (Names{"real/run"}));
  EXPECT_EQ(found.runs[0].shown, (root / "link/run").string());
}

TEST(RunsFolder, AcceptsNoPipeOrFolderAsARecord) {
  const fs::path root = fresh_folder();
  fs::create_directories(root / "pipe");
  fs::create_directories(root / "folder/record.jsonl");
  ASSERT_EQ(::mkfifo((root / "pipe/record.jsonl").c_str(), 0600), 0);
  EXPECT_TRUE(view::find_runs({root.string()}).runs.empty());
}

TEST(RunsFolder, ReportsWhatItsLimitsLeaveOut) {
  const fs::path root = fs::canonical(fresh_folder());
  for (const char* run : {"a", "b", "c/d/e"}) put(root / run / "record.jsonl", "");
  const view::FoundRuns flat = view::find_runs({root.string()}, {1, 100, 100});
  EXPECT_EQ(names(flat, root), (Names{"a", "b"}));
  EXPECT_NE(flat.left_out.find("folders more than 1 deep"), std::string::npos) << flat.left_out;
  const view::FoundRuns few = view::find_runs({root.string()}, {16, 100, 2});
  EXPECT_EQ(names(few, root), (Names{"a", "b"}));
  EXPECT_NE(few.left_out.find("only the first 2 runs"), std::string::npos) << few.left_out;
  const view::FoundRuns narrow = view::find_runs({root.string()}, {16, 2, 100});
  EXPECT_EQ(names(narrow, root), (Names{"a"}));
  EXPECT_NE(narrow.left_out.find("only the first 2 folders"), std::string::npos) << narrow.left_out;
}

}  // namespace
}  // namespace loupe::test
