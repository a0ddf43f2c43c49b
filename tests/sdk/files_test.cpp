#include <gtest/gtest.h>
#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/text/number_text.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <set>

#include "folder.h"

namespace loupe::test {
namespace {

TEST(Replacement, ReplacesTheOldFileAtItsCommitAndLeavesNothingElse) {
  const Folder folder;
  write(folder / "report", "old");
  {
    Replacement file(folder / "report");
    file.write("new");
    EXPECT_EQ(text_of(folder / "report"), "old");
    EXPECT_EQ(folder.names().size(), 2u);
    file.commit(true);
  }
  EXPECT_EQ(text_of(folder / "report"), "new");
  { Replacement(folder / "report").write("given up"); }
  EXPECT_EQ(text_of(folder / "report"), "new");
  EXPECT_EQ(folder.names(), std::set<std::string>{"report"});
}

TEST(Replacement, WritesUnderARandomNameAndNotThroughALink) {
  const Folder folder;
  write(folder / "anothers", "precious");
  for (const char* guess : {"report.tmp", ".report.tmp"}) {
    std::filesystem::create_symlink(folder / "anothers", folder / guess);
  }
  std::set<std::string> names;
  for (int i = 0; i < 2; ++i) {
    Replacement file(folder / "report");
    file.write("new");
    for (const std::string& name : folder.names()) names.insert(name);
    file.commit(false);
  }
  EXPECT_EQ(text_of(folder / "anothers"), "precious");
  EXPECT_EQ(text_of(folder / "report"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "report"));
  EXPECT_EQ(names.size(), 6u) << "a name for each replacement, and four that stay";
}

TEST(Replacement, KeepsAFilesPermissionsExceptSetuid) {
  const Folder folder;
  write(folder / "report", "old");
  ASSERT_EQ(::chmod((folder / "report").c_str(), 06750), 0);
  Replacement file(folder / "report");
  file.commit(false);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "report").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0750u);
}

TEST(Replacement, StaysInItsFolderIfTheWorkingDirectoryChanges) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  Replacement file("report");
  file.write("new");
  std::filesystem::current_path("/");
  file.commit(false);
  std::filesystem::current_path(before);
  EXPECT_EQ(text_of(folder / "report"), "new");
}

TEST(Replacement, WritesADeviceDirectlyAndRefusesAFolder) {
  EXPECT_NO_THROW({
    Replacement file("/dev/null");
    file.write("x");
    file.commit(true);
  });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const Folder folder;
  EXPECT_THROW(Replacement(folder / ""), std::system_error);
}

TEST(Replacement, RefusesALinkAtItsFilesPlace) {
  const Folder folder;
  write(folder / "precious", "precious");
  std::filesystem::create_symlink(folder / "precious", folder / "report");
  EXPECT_THROW(Replacement(folder / "report"), std::system_error);
  EXPECT_EQ(text_of(folder / "precious"), "precious");
}

TEST(OutputPath, FollowsALinkThatExistsWhenARunBegins) {
  const Folder folder;
  write(folder / "real", "");
  std::filesystem::create_symlink(folder / "real", folder / "report");
  EXPECT_EQ(OutputPath("report").in(folder / ""), std::filesystem::canonical(folder / "real"));
  EXPECT_EQ(OutputPath("/dev/stdout").in(folder / ""), "/dev/stdout") << "it may be a pipe, which has no other name";
}

TEST(OutputPath, IsRelativeToTheWorkingDirectoryAtItsCreation) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  const auto start = std::filesystem::current_path();
  const OutputPath path("a/../values.csv"), absolute("/x/values.csv");
  std::filesystem::current_path("/");
  EXPECT_EQ(path.in(""), start / "values.csv");
  EXPECT_EQ(path.in("runs/one"), start / "runs/one/values.csv");
  EXPECT_EQ(path.in("/runs"), "/runs/values.csv");
  EXPECT_EQ(absolute.in("runs"), "/x/values.csv");
  std::filesystem::current_path(before);
}

TEST(KeepOlder, PutsFilesOfOneRunTogetherAndTheNextRunsApart) {
  const Folder folder;
  for (const char* run : {"older-1", "older-2"}) {
    for (const char* name : {"a", "b"}) {
      write(folder / name, run);
      EXPECT_EQ(keep_older(folder / name), folder / run / name);
      EXPECT_EQ(text_of(folder / run / name), run);
    }
  }
  EXPECT_EQ(folder.names(), (std::set<std::string>{"older-1", "older-2"}));
  EXPECT_THROW(keep_older(folder / "missing"), std::system_error);
}

TEST(KeepOlder, AddsNothingToTheFolderOfAnEarlierRun) {
  const Folder folder;
  write(folder / "a", "of the first");
  EXPECT_EQ(keep_older(folder / "a"), folder / "older-1/a");
  const double later = static_cast<double>(std::time(nullptr)) + 60;
  write(folder / "b", "of the second");
  EXPECT_EQ(keep_replaced(folder / "b", later), folder / "older-2/b");
  EXPECT_EQ(text_of(folder / "b"), "of the second");
}

TEST(NumberText, ReadsBackAsTheSameNumber) {
  for (const double number : {0.1, 1e300, -1.5, 16777217.0, std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(std::strtod(number_text(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(NAN), "NaN");
  EXPECT_EQ(number_text(-INFINITY), "-Infinity");
}

}  // namespace
}  // namespace loupe::test
