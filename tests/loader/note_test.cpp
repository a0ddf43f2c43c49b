// Plugins with a wrong note are refused with a message, if possible before any of their code runs.

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <loupe/abi.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "folder.h"
#include "loader/catalogue.h"
#include "loader/plugin_file.h"
#include "paths.h"
#include "says.h"

namespace loupe {
namespace {

/// A copy of the plugin that sets an environment variable when its code runs. Each test changes some bytes of the
/// copy.
class WrongNote : public testing::Test {
 protected:
  WrongNote() {
    std::ifstream from(STRANGER_PLUGIN, std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(from), {}};
    const PluginFile file(STRANGER_PLUGIN);
    const ElfFile elf(file);
    for (std::size_t i = 0; i < elf.sections.size(); ++i) {
      const std::string name = elf.section_names.data() + elf.sections[i].sh_name;
      const std::size_t header = elf.header.e_shoff + i * sizeof(ElfW(Shdr));
      if (name == LOUPE_ELF_SECTION) note_ = header, note_bytes_ = elf.sections[i].sh_offset;
      if (name == ".comment") other_ = header;
    }
  }

  ElfW(Shdr) section(std::size_t header) const {
    ElfW(Shdr) found{};
    std::memcpy(&found, bytes_.data() + header, sizeof found);
    return found;
  }
  void put(std::size_t header, const ElfW(Shdr) & section) { std::memcpy(&bytes_[header], &section, sizeof section); }
  loupe_elf_note head() const {
    loupe_elf_note found{};
    std::memcpy(&found, bytes_.data() + note_bytes_, sizeof found);
    return found;
  }
  void put(const loupe_elf_note& head) { std::memcpy(&bytes_[note_bytes_], &head, sizeof head); }

  /// The problem that a catalogue reports for the file, when its folder is added or one of its components is requested.
  std::string problem(const std::string& asked = "strange") {
    std::ofstream(file_, std::ios::binary) << bytes_;
    ::unsetenv("LOUPE_STRANGER_RAN");
    Catalogue catalogue;
    catalogue.add_path(folder_.path());
    EXPECT_EQ(catalogue.find(Kind::lens, asked), nullptr);
    return only(catalogue.problems());
  }
  static bool has_run() { return std::getenv("LOUPE_STRANGER_RAN") != nullptr; }
  std::string damaged(const std::string& what) const {
    return "the plugin '" + file_ + "' is damaged: " + what + "; copy or build it again";
  }

  const Folder folder_;
  const std::string file_ = folder_.path("stranger.so");
  std::string bytes_;
  std::size_t note_ = 0, note_bytes_ = 0, other_ = 0;
};

TEST_F(WrongNote, CutShort) {
  ElfW(Shdr) note = section(note_);
  note.sh_size -= 8;
  put(note_, note);
  EXPECT_EQ(problem(), damaged("the note of its components is cut short"));
  note.sh_size = sizeof(loupe_elf_note) - 4;
  put(note_, note);
  EXPECT_EQ(problem(), damaged("the note of its components is cut short"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, BeyondTheEndOfTheFile) {
  ElfW(Shdr) note = section(note_);
  note.sh_offset = bytes_.size() - 8;
  put(note_, note);
  EXPECT_SAYS(problem(),
              "is cut short: its " + std::to_string(bytes_.size()) + " bytes are fewer than its header says");
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, TwoSections) {
  ASSERT_NE(other_, 0u);
  ElfW(Shdr) other = section(other_);
  other.sh_name = section(note_).sh_name;
  put(other_, other);
  EXPECT_EQ(problem(), damaged("it has 2 notes of its components"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, TwoInOneSection) {
  loupe_elf_note first = head();
  first.text_size -= 8;  // the rest then looks like another note
  bytes_[note_bytes_ + sizeof first + first.text_size - 1] = '\0';
  put(first);
  EXPECT_EQ(problem(), damaged("another note follows the note of its components"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, TooLarge) {
  bytes_.resize(bytes_.size() + (2 << 20), 'x');
  ElfW(Shdr) note = section(note_);
  note.sh_size = 2 << 20;
  put(note_, note);
  EXPECT_EQ(problem(), damaged("the note of its components has 2097152 bytes"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, WithAWrongLength) {
  loupe_elf_note claim = head();
  claim.text_size = 0xFFFFFFFFu;
  put(claim);
  EXPECT_EQ(problem(), damaged("the note of its components is cut short"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, OfAnotherKind) {
  loupe_elf_note other = head();
  std::memcpy(other.name, "GNU", 4);
  put(other);
  EXPECT_EQ(problem(), damaged("the note of its components has a wrong beginning"));
  EXPECT_FALSE(has_run());
}

TEST_F(WrongNote, WithAWrongComponent) {
  const std::size_t name = bytes_.find(LOUPE_LENS_ID " strange\n");
  ASSERT_NE(name, std::string::npos);
  bytes_.replace(name, std::strlen(LOUPE_LENS_ID " strange"), LOUPE_LENS_ID " unknown");
  EXPECT_EQ(problem("unknown"),
            "the plugin '" + file_ +
                "' does not match its note: the note in its file lacks the lens 'strange'; build it "
                "again");
}

TEST_F(WrongNote, WithAComponentThatDoesNotExist) {
  loupe_elf_note head_of_more = head();
  const std::string more =
      std::string(LOUPE_LENS_ID " strange\n" LOUPE_LENS_ID " stranger +\n" LOUPE_LENS_ID " x\n") + '\0';
  ElfW(Shdr) note = section(note_);
  note.sh_offset = (bytes_.size() + 3) / 4 * 4;
  note.sh_size = (sizeof head_of_more + more.size() + 3) / 4 * 4;
  put(note_, note);
  head_of_more.text_size = static_cast<uint32_t>(more.size());
  bytes_.resize(note.sh_offset + note.sh_size);
  std::memcpy(&bytes_[note.sh_offset], &head_of_more, sizeof head_of_more);
  more.copy(&bytes_[note.sh_offset + sizeof head_of_more], more.size());
  EXPECT_SAYS(problem("x"), "the note in its file has a lens 'x', which it does not offer; build it again");
}

TEST_F(WrongNote, OfAnotherVersionIsIgnored) {
  loupe_elf_note later = head();
  later.version = LOUPE_ELF_VERSION + 1;
  put(later);
  std::ofstream(file_, std::ios::binary) << bytes_;
  Catalogue catalogue;
  catalogue.add_path(folder_.path());
  EXPECT_EQ(catalogue.names(Kind::lens), Texts{});
  EXPECT_NE(catalogue.find(Kind::lens, "strange"), nullptr);
  EXPECT_EQ(catalogue.problems(), Texts{});
}

TEST_F(WrongNote, OfAnotherMajorVersionIsRefusedBeforeItRuns) {
  const loupe_entry own = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, nullptr};
  const std::size_t begin =
      bytes_.find(std::string(reinterpret_cast<const char*>(&own), offsetof(loupe_entry, get_extension)));
  ASSERT_NE(begin, std::string::npos);
  ++bytes_[begin + offsetof(loupe_entry, abi_major)];
  EXPECT_SAYS(problem(), "was built for ABI 2.0, this host has 1.0; update Loupe, or rebuild the plugin");
  EXPECT_FALSE(has_run());
  EXPECT_EQ(::dlopen(file_.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace loupe
