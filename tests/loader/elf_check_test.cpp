// A plugin's file is read without running it: one that was cut short or changed is refused, and kills nobody.

#include "loader/plugin_file.h"

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "folder.h"
#include "loader/catalogue.h"

namespace loupe {
namespace {

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::string& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

/// What reading a file's note is refused with; empty when it is not.
std::string refusal(const std::string& path) {
  try {
    const PluginFile file(path);
    read_index(ElfFile(file));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// Opens a file in a process of its own. The signal that killed that process, or 0.
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

TEST(ElfCheck, SaysWhatIsDamaged) {
  const Folder folder;
  const std::string path = folder.add_plugin("sound", "damaged");
  std::string content = content_of(path);
  content[offsetof(ElfW(Ehdr), e_phentsize)] = 3;
  write(path, content);
  EXPECT_EQ(refusal(path),
            "the plugin '" + path + "' is damaged: its header is not one that linkers write; copy or build it again");
}

TEST(ElfCheck, TakesEveryLibraryThatThisProgramUses) {
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(
      [](::dl_phdr_info* library, std::size_t, void* list) {
        // The program itself has no name here, and the kernel's own library no file.
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
