// What is not a plain file of one's own is not opened.

#include "loader/plugin_file.h"

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "folder.h"
#include "loader/catalogue.h"
#include "says.h"

namespace loupe {
namespace {

/// What is said of one path; empty where it could be opened.
std::string fault_of(const std::string& path) {
  try {
    const PluginFile file(path);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

/// What is said of a folder as a plugin path.
std::string only_problem(const std::string& path) {
  Catalogue catalogue;
  catalogue.add_path(path);
  return only(catalogue.problems());
}

TEST(PluginFile, APipeBlocksNobody) {
  const Folder folder;
  ASSERT_EQ(::mkfifo(folder.path("x.so").c_str(), 0600), 0);
  EXPECT_EQ(only_problem(folder.path()),
            "'" + folder.path("x.so") + "' is no plugin: it is no regular file; take it out of the plugin path");
}

TEST(PluginFile, DevicesFoldersAndSocketsAreNoPlugins) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("y.so"));
  EXPECT_SAYS(only_problem(folder.path()), "y.so' is no plugin: it is no regular file");
  EXPECT_SAYS(fault_of("/dev/zero"), "'/dev/zero' is no plugin: it is no regular file");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());  // such an address is short
  std::snprintf(address.sun_path, sizeof address.sun_path, "s.so");
  ASSERT_EQ(::bind(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0);
  std::filesystem::current_path(before);
  EXPECT_SAYS(fault_of(folder.path("s.so")), "s.so' cannot be read: ");
  ::close(socket);
}

TEST(PluginFile, ALinkToItselfIsNoPlugin) {
  const Folder folder;
  std::filesystem::create_symlink("loop.so", folder.path("loop.so"));
  EXPECT_SAYS(only_problem(folder.path()), "loop.so' cannot be read: ");
}

TEST(FileTrust, WhatEveryoneMayChangeIsRefused) {
  const Folder folder;
  const std::string file = folder.add_plugin("sound");
  ASSERT_EQ(::chmod(file.c_str(), 0757), 0);
  EXPECT_EQ(only_problem(folder.path()), "the plugin '" + file +
                                             "' may be changed by everyone, who could have the trainer run anything; "
                                             "'chmod o-w' it");
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0757), 0);
  EXPECT_SAYS(only_problem(folder.path()), "' may be changed by everyone, who could have the trainer run anything");
  EXPECT_SAYS(only_problem(file), "the plugin folder '") << "also where the file itself is named";
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  Catalogue sticky;
  sticky.add_path(folder.path());
  EXPECT_EQ(sticky.problems(), Texts{}) << "in a sticky folder, as /tmp is, others change nothing of mine";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

TEST(FileTrust, AFileOfAnotherUserIsRefused) {
  struct ::stat status {};
  ASSERT_EQ(::stat("/proc/self/exe", &status), 0);
  status.st_mode = S_IFREG | 0755;
  EXPECT_EQ(trust_fault("x.so", status), "");
  status.st_uid = 0;
  EXPECT_EQ(trust_fault("x.so", status), "") << "root's";
  status.st_uid = 54321;
  EXPECT_EQ(trust_fault("x.so", status),
            "the plugin 'x.so' belongs to another user (54321), who could have the trainer run anything; make it your "
            "own ('chown'), or copy it to a folder of yours");
  status.st_mode = S_IFDIR | 01777;
  EXPECT_SAYS(trust_fault("x", status), "the plugin folder 'x' belongs to another user");
}

TEST(FileTrust, AGroupMayWriteWhereItIsTheOwnersAlone) {
  struct ::stat status {};
  status.st_mode = S_IFREG | 0775;
  status.st_uid = 0;
  status.st_gid = 0;
  EXPECT_EQ(trust_fault("x.so", status), "");
  status.st_gid = 100;  // users
  EXPECT_EQ(trust_fault("x.so", status),
            "the plugin 'x.so' may be changed by a whole group, who could have the trainer run anything; 'chmod g-w' "
            "it");
  status.st_mode = S_IFREG | 0755;
  EXPECT_EQ(trust_fault("x.so", status), "");
}

}  // namespace
}  // namespace loupe
