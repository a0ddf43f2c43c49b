// Only regular, complete files that no other user can change are opened as plugins.

#include <elf.h>
#include <gtest/gtest.h>
#include <loupe/error.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "folder.h"
#include "loader/catalogue.h"
#include "loader/plugin_file.h"
#include "says.h"

namespace loupe {
namespace {

/// The error message for a path, or "" if it can be opened.
std::string fault_of(const std::string& path) {
  try {
    const PluginFile file(path);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

/// The only problem of a folder in the plugin path.
std::string only_problem(const std::string& path) {
  Catalogue catalogue;
  catalogue.add_path(path);
  return only(catalogue.problems());
}

TEST(PluginFile, APipeBlocksNobody) {
  const Folder folder;
  ASSERT_EQ(::mkfifo(folder.path("x.so").c_str(), 0600), 0);
  EXPECT_EQ(only_problem(folder.path()),
            "'" + folder.path("x.so") + "' is not a plugin: it is not a regular file; remove it from the plugin path");
}

TEST(PluginFile, DevicesFoldersAndSocketsAreNotPlugins) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("y.so"));
  EXPECT_SAYS(only_problem(folder.path()), "y.so' is not a plugin: it is not a regular file");
  EXPECT_SAYS(fault_of("/dev/zero"), "'/dev/zero' is not a plugin: it is not a regular file");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());  // keeps the socket's path short, as its length is limited
  std::snprintf(address.sun_path, sizeof address.sun_path, "s.so");
  ASSERT_EQ(::bind(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0);
  std::filesystem::current_path(before);
  EXPECT_SAYS(fault_of(folder.path("s.so")), "s.so' cannot be read: ");
  ::close(socket);
}

TEST(PluginFile, ALinkToItselfIsNotAPlugin) {
  const Folder folder;
  std::filesystem::create_symlink("loop.so", folder.path("loop.so"));
  EXPECT_SAYS(only_problem(folder.path()), "loop.so' cannot be read: ");
}

TEST(FileTrust, AFileThatEveryoneMayChangeIsRefused) {
  const Folder folder;
  const std::string file = folder.add_plugin("sound");
  ASSERT_EQ(::chmod(file.c_str(), 0757), 0);
  EXPECT_EQ(
      only_problem(folder.path()),
      "the plugin '" + file + "' may be changed by everyone, who could make the trainer run anything; 'chmod o-w' it");
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0757), 0);
  EXPECT_SAYS(only_problem(folder.path()), "' may be changed by everyone, who could make the trainer run anything");
  EXPECT_SAYS(only_problem(file), "the plugin folder '") << "the folder counts even if the path names the file";
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  Catalogue sticky;
  sticky.add_path(folder.path());
  EXPECT_EQ(sticky.problems(), Texts{}) << "in a sticky folder like /tmp, others cannot change my files";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

TEST(FileTrust, AFileOfAnotherUserIsRefused) {
  struct ::stat status {};
  ASSERT_EQ(::stat("/proc/self/exe", &status), 0);
  status.st_mode = S_IFREG | 0755;
  EXPECT_EQ(trust_fault("x.so", status), "");
  status.st_uid = 0;
  EXPECT_EQ(trust_fault("x.so", status), "") << "root owns the file";
  status.st_uid = 54321;
  EXPECT_EQ(trust_fault("x.so", status),
            "the plugin 'x.so' belongs to another user (54321), who could make the trainer run anything; take "
            "ownership ('chown'), or copy it to your own folder");
  status.st_mode = S_IFDIR | 01777;
  EXPECT_SAYS(trust_fault("x", status), "the plugin folder 'x' belongs to another user");
}

TEST(FileTrust, AGroupMayWriteIfItIsTheOwnersOwnGroup) {
  struct ::stat status {};
  status.st_mode = S_IFREG | 0775;
  status.st_uid = 0;
  status.st_gid = 0;
  EXPECT_EQ(trust_fault("x.so", status), "");
  status.st_gid = 100;  // the group "users"
  EXPECT_EQ(
      trust_fault("x.so", status),
      "the plugin 'x.so' may be changed by a whole group, who could make the trainer run anything; 'chmod g-w' it");
  status.st_mode = S_IFREG | 0755;
  EXPECT_EQ(trust_fault("x.so", status), "");
}

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::string& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

/// The error message for a file's note, or "" if it is valid.
std::string refusal(const std::string& path) {
  try {
    const PluginFile file(path);
    read_index(ElfFile(file));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// Opens a file in a separate process. Returns the signal that killed this process, or 0.
int signal_of_opening(const std::string& file) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
    Catalogue catalogue;
    catalogue.add_path(file);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(ElfCheck, NoBrokenFieldKillsTheReaderOfTheNote) {
  const Folder folder;
  const std::string path = folder.add_plugin("sound", "broken"), whole = content_of(path);
  ASSERT_EQ(refusal(path), "");
  struct Table {
    std::size_t begin, end;
  };
  std::vector<Table> tables;
  {
    const PluginFile file(path);
    const ElfFile elf(file);
    tables = {{0, sizeof elf.header},
              {elf.header.e_phoff, elf.header.e_phoff + elf.segments.size() * sizeof elf.segments[0]},
              {elf.header.e_shoff, elf.header.e_shoff + elf.sections.size() * sizeof elf.sections[0]}};
  }
  int refused = 0;
  for (const Table& table : tables) {
    for (std::size_t at = table.begin; at + 4 <= table.end; at += 4) {
      for (const std::uint32_t wrong : {0u, 1u, 0x1000u, 0x7fffffffu, 0xffffffffu}) {
        std::string content = whole;
        std::memcpy(content.data() + at, &wrong, sizeof wrong);
        write(path, content);
        refused += refusal(path).empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(ElfCheck, NoShorterFileKills) {
  const Folder folder;
  const std::string file = folder.add_plugin("sound", "short");
  const auto size = std::filesystem::file_size(file);
  for (std::uintmax_t shorter = size; shorter > 97; shorter -= 97) {
    std::filesystem::resize_file(file, shorter);
    ASSERT_EQ(signal_of_opening(file), 0) << shorter << " of " << size << " bytes";
  }
}

TEST(ElfCheck, RefusesASegmentBeyondTheEndOfTheFile) {
  const Folder folder;
  const std::string path = folder.add_plugin("sound", "beyond");
  std::string content = content_of(path);
  const std::uint64_t wrong = content.size() + 1;
  const std::size_t segments = reinterpret_cast<const ElfW(Ehdr)*>(content.data())->e_phoff;
  std::memcpy(content.data() + segments + offsetof(ElfW(Phdr), p_filesz), &wrong, sizeof wrong);
  write(path, content);
  EXPECT_EQ(refusal(path), "the plugin '" + path + "' is cut short: its " + std::to_string(content.size()) +
                               " bytes are fewer than its header says; copy or build it again");
}

TEST(ElfCheck, ReportsTheDamage) {
  const Folder folder;
  const std::string path = folder.add_plugin("sound", "damaged");
  std::string content = content_of(path);
  content[offsetof(ElfW(Ehdr), e_phentsize)] = 3;
  write(path, content);
  EXPECT_EQ(refusal(path), "the plugin '" + path + "' is damaged: its ELF header is invalid; copy or build it again");
}

TEST(ElfCheck, AcceptsEveryLibraryOfThisProgram) {
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(
      [](::dl_phdr_info* library, std::size_t, void* list) {
        // The program itself has no name here, and the kernel's library is not a file.
        if (std::strchr(library->dlpi_name, '/') != nullptr)
          static_cast<std::vector<std::string>*>(list)->emplace_back(library->dlpi_name);
        return 0;
      },
      &libraries);
  EXPECT_GT(libraries.size(), 4u);
  for (const std::string& library : libraries) EXPECT_EQ(refusal(library), "");
}

}  // namespace
}  // namespace loupe
