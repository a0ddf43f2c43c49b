#include "ranks/rank_store.h"

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "paths.h"
#include "says.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

class FolderStoreTest : public testing::Test {
 protected:
  FolderStoreTest() {
    fs::remove_all(parent);
    fs::create_directories(parent);
  }
  std::unique_ptr<RankStore> open() const { return store_in_folder(parent.string(), "meeting")(); }
  std::string why_not() const {
    try {
      open();
    } catch (const std::exception& reason) {
      return reason.what();
    }
    return "";
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  const fs::path parent = fs::path(LOUPE_TEST_FOLDER) / "folder_store" /
                          testing::UnitTest::GetInstance()->current_test_info()->name(),
                 folder = parent / "meeting";
};

TEST_F(FolderStoreTest, ReturnsAMessageUntilItIsRemoved) {
  const auto one = open(), other = open();
  EXPECT_EQ(one->read("box", "1"), std::nullopt);
  const std::string bytes("a\0b", 3);
  other->put("box", "1", bytes);
  EXPECT_EQ(one->read("box", "1"), bytes);
  EXPECT_EQ(one->read("box", "2"), std::nullopt);
  other->put("box", "1", "");
  EXPECT_EQ(one->read("box", "1"), "");
  one->remove("box", "1");
  one->remove("box", "1");
  EXPECT_EQ(other->read("box", "1"), std::nullopt);
}

TEST_F(FolderStoreTest, IsReadableOnlyForItsUser) {
  const mode_t before = ::umask(0);
  open()->put("box", "1", "bytes");
  ::umask(before);
  EXPECT_EQ(mode_of(folder), 0700u);
  EXPECT_EQ(mode_of(folder / "box,1"), 0600u);
}

TEST_F(FolderStoreTest, RefusesAFolderThatOthersCanRead) {
  fs::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_SAYS(why_not(), "must be a private folder of this user");
  EXPECT_SAYS(why_not(), "the mode 0755");
}

TEST_F(FolderStoreTest, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change the owner of a folder";
  fs::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  EXPECT_SAYS(why_not(), "has the owner 65534");
}

TEST_F(FolderStoreTest, RefusesALinkOrAFileInPlaceOfItsFolder) {
  fs::create_directories(parent / "elsewhere");
  fs::create_directory_symlink(parent / "elsewhere", folder);
  EXPECT_NE(why_not(), "");
  EXPECT_TRUE(fs::is_empty(parent / "elsewhere"));
  fs::remove(folder);
  std::ofstream(folder) << "a file";
  EXPECT_NE(why_not(), "");
}

TEST_F(FolderStoreTest, NeitherFollowsALinkNorWaitsForAPipeInPlaceOfAFile) {
  const auto store = open();
  std::ofstream(parent / "precious") << "precious";
  fs::create_symlink(parent / "precious", folder / "box,link");
  ASSERT_EQ(::mkfifo((folder / "box,pipe").c_str(), 0600), 0);
  fs::create_directories(folder / "box,folder");
  for (const char* key : {"link", "pipe", "folder"}) EXPECT_THROW(store->read("box", key), Error) << key;
  store->put("box", "link", "bytes");
  store->put("box", "pipe", "bytes");
  EXPECT_THROW(store->put("box", "folder", "bytes"), Error);
  EXPECT_EQ(store->read("box", "link"), "bytes");
  EXPECT_EQ(store->read("box", "pipe"), "bytes");
  EXPECT_EQ(fs::file_size(parent / "precious"), 8u);
}

TEST_F(FolderStoreTest, RefusesAFileThatIsLongerThanAMessage) {
  const auto store = open();
  std::ofstream(folder / "box,1") << "x";
  fs::resize_file(folder / "box,1", longest_rank_message + 1);
  EXPECT_THROW(store->read("box", "1"), Error);
}

TEST_F(FolderStoreTest, FailsToWriteIfFilesMayNotGrow) {
  const auto store = open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  std::string why;
  try {
    store->put("box", "1", "bytes");
  } catch (const std::exception& reason) {
    why = reason.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_SAYS(why, "cannot be written to: File too large");
  EXPECT_TRUE(fs::is_empty(folder)) << "no partial file stays";
}

TEST_F(FolderStoreTest, IsRemovedByRankZeroWhichTheOthersNotice) {
  const auto first = open(), other = open();
  other->put("box", "1", "bytes");
  first->remove_all();
  EXPECT_TRUE(fs::is_empty(parent));
  EXPECT_EQ(other->read("box", "1"), std::nullopt);
  std::string why;
  try {
    other->put("box", "1", "bytes");
  } catch (const std::exception& reason) {
    why = reason.what();
  }
  EXPECT_EQ(why, "rank 0 has ended");
}

TEST(MeetingFolder, IsTheRuntimeFolderIfItIsPrivate) {
  const fs::path own = fs::path(LOUPE_TEST_FOLDER) / "runtime";
  fs::create_directories(own);
  ASSERT_EQ(::chmod(own.c_str(), 0700), 0);
  const char* const set = std::getenv("XDG_RUNTIME_DIR");
  const std::string before = set != nullptr ? set : "";
  ::setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
  EXPECT_EQ(parent_of_meeting_folder(), own.string());
  ASSERT_EQ(::chmod(own.c_str(), 0777), 0);
  EXPECT_EQ(parent_of_meeting_folder(), fs::temp_directory_path().string());
  ::setenv("XDG_RUNTIME_DIR", (own / "none").c_str(), 1);
  EXPECT_EQ(parent_of_meeting_folder(), fs::temp_directory_path().string());
  set != nullptr ? ::setenv("XDG_RUNTIME_DIR", before.c_str(), 1) : ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace loupe
