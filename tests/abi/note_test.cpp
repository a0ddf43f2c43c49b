// The note in a plugin's file that describes the plugin, as loupe/abi/entry.h declares it.

#include <gtest/gtest.h>
#include <loupe/abi.h>
#include <loupe/error.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loader/plugin_file.h"
#include "paths.h"

namespace loupe {
namespace {

ComponentIndex index_of(const std::string& path) {
  const PluginFile file(path);
  return read_index(ElfFile(file));
}

/// The index of a plugin in C whose note was changed.
template <class Change>
ComponentIndex index_after(const Change& change) {
  std::ifstream from(LOUPE_TEST_PLUGINS + "/wide.so", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(from), {}};
  const std::size_t name =
      bytes.find(std::string(LOUPE_ELF_NAME, sizeof LOUPE_ELF_NAME) + std::string(2, '\0') + LOUPE_GATHERER_ID);
  EXPECT_NE(name, std::string::npos);
  const std::size_t at = name - offsetof(loupe_elf_note, name);
  loupe_elf_note head{};
  std::memcpy(&head, bytes.data() + at, sizeof head);
  change(head);
  std::memcpy(bytes.data() + at, &head, sizeof head);
  const std::string path = std::filesystem::path(testing::TempDir()) / "loupe_changed_note.so";
  std::ofstream(path, std::ios::binary) << bytes;
  return index_of(path);
}

TEST(Note, OfAPluginInCNamesItsComponents) {
  const ComponentIndex index = index_of(LOUPE_TEST_PLUGINS + "/wide.so");
  EXPECT_EQ(index.components.size(), 2u);
  EXPECT_TRUE(index.names(Kind::lens, "wide"));
  EXPECT_TRUE(index.names(Kind::gatherer, "wide_forward"));
  EXPECT_TRUE(index_after([](loupe_elf_note&) {}).names(Kind::lens, "wide"));
}

TEST(Note, OfAnotherVersionIsNone) {
  EXPECT_FALSE(index_after([](loupe_elf_note& head) { head.version = LOUPE_ELF_VERSION + 1; }).noted);
}

TEST(Note, ThatIsMalformedIsRefused) {
  EXPECT_THROW(index_after([](loupe_elf_note& head) { head.name[0] = 'G'; }), Error);
  EXPECT_THROW(index_after([](loupe_elf_note& head) { head.name_size = 8; }), Error);
  EXPECT_THROW(index_after([](loupe_elf_note& head) { head.text_size = 0; }), Error);
  EXPECT_THROW(index_after([](loupe_elf_note& head) { head.text_size = 0xFFFFFFF0u; }), Error);
  EXPECT_THROW(index_after([](loupe_elf_note& head) { --head.text_size; }), Error) << "no closing zero";
}

}  // namespace
}  // namespace loupe
