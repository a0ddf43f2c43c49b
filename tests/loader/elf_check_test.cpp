// Whatever is wrong with a plugin's headers, opening it tells so, or works; it never kills the process.

#include "loader/elf_file.h"

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
#include "loader/component_instance.h"
#include "says.h"

namespace loupe {
namespace {

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// One number in a file.
struct Field {
  std::string name;
  std::size_t offset, size;
};

#define FIELD(NAME, BASE, STRUCT, MEMBER) \
  fields.push_back({NAME + std::string("." #MEMBER), (BASE) + offsetof(STRUCT, MEMBER), sizeof(STRUCT::MEMBER)})

/// Every field of the header, of the segments' headers and of the dynamic section.
std::vector<Field> fields_of(const std::string& path) {
  const PluginFile file(path);
  const ElfFile elf(file);
  std::vector<Field> fields;
  for (std::size_t i = 0; i < EI_NIDENT; ++i) fields.push_back({"ident", i, 1});
  FIELD("header", 0, ElfW(Ehdr), e_type);
  FIELD("header", 0, ElfW(Ehdr), e_machine);
  FIELD("header", 0, ElfW(Ehdr), e_version);
  FIELD("header", 0, ElfW(Ehdr), e_entry);
  FIELD("header", 0, ElfW(Ehdr), e_phoff);
  FIELD("header", 0, ElfW(Ehdr), e_shoff);
  FIELD("header", 0, ElfW(Ehdr), e_flags);
  FIELD("header", 0, ElfW(Ehdr), e_ehsize);
  FIELD("header", 0, ElfW(Ehdr), e_phentsize);
  FIELD("header", 0, ElfW(Ehdr), e_phnum);
  FIELD("header", 0, ElfW(Ehdr), e_shentsize);
  FIELD("header", 0, ElfW(Ehdr), e_shnum);
  FIELD("header", 0, ElfW(Ehdr), e_shstrndx);
  std::size_t dynamic_offset = 0;
  for (std::size_t i = 0; i < elf.segments.size(); ++i) {
    const std::size_t at = elf.header.e_phoff + i * sizeof(ElfW(Phdr));
    const std::string name = "segment" + std::to_string(i);
    FIELD(name, at, ElfW(Phdr), p_type);
    FIELD(name, at, ElfW(Phdr), p_flags);
    FIELD(name, at, ElfW(Phdr), p_offset);
    FIELD(name, at, ElfW(Phdr), p_vaddr);
    FIELD(name, at, ElfW(Phdr), p_paddr);
    FIELD(name, at, ElfW(Phdr), p_filesz);
    FIELD(name, at, ElfW(Phdr), p_memsz);
    FIELD(name, at, ElfW(Phdr), p_align);
    if (elf.segments[i].p_type == PT_DYNAMIC) dynamic_offset = elf.segments[i].p_offset;
  }
  for (std::size_t i = 0; i <= elf.dynamic.size(); ++i) {  // with the end mark
    const std::string name = "dynamic" + std::to_string(i);
    FIELD(name, dynamic_offset + i * sizeof(ElfW(Dyn)), ElfW(Dyn), d_tag);
    FIELD(name, dynamic_offset + i * sizeof(ElfW(Dyn)), ElfW(Dyn), d_un.d_val);
  }
  return fields;
}

std::vector<std::uint64_t> wrong_values(std::uint64_t right) {
  return {0,
          1,
          right + 1,
          right - 1,
          right + 8,
          right - 8,
          right + 0x1000,
          right - 0x1000,
          right * 2,
          right / 2,
          right ^ 4,
          right ^ 2,
          right ^ 0x100000,
          right ^ (std::uint64_t{1} << 40),
          0x7fffffffffffffff,
          0xffffffffffffffff};
}

/// Opens a file in a process of its own and uses what it finds there. The signal that killed that process, or 0.
int signal_of_opening(const std::string& file) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
    Catalogue catalogue;
    catalogue.add_path(file);
    for (const CatalogueEntry& entry : catalogue.entries()) {
      // Throws and catches inside of the plugin: exceptions need what the headers say.
      const loupe_options none{sizeof(loupe_options), 0, nullptr, 0};
      if (entry.kind != Kind::lens) continue;
      try {
        const ComponentInstance instance(entry, &none, "the lens", nullptr);
      } catch (const Error&) {
        continue;  // as it should: it is given none of its options
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// Breaks each field in many ways, one at a time.
void break_each_field_of(const std::string& plugin) {
  const Folder folder;
  const std::string file = folder.add_plugin(plugin, "broken"), whole = content_of(file);
  ASSERT_EQ(signal_of_opening(file), 0);
  int tried = 0;
  for (const Field& field : fields_of(file)) {
    std::uint64_t right = 0;
    std::memcpy(&right, whole.data() + field.offset, field.size);
    for (const std::uint64_t wrong : wrong_values(right)) {
      std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
      stream.seekp(static_cast<std::streamoff>(field.offset));
      stream.write(reinterpret_cast<const char*>(&wrong), static_cast<std::streamsize>(field.size));
      stream.close();
      EXPECT_EQ(signal_of_opening(file), 0) << field.name << " was " << right << " and became " << wrong;
      stream.open(file, std::ios::binary | std::ios::in | std::ios::out);
      stream.seekp(static_cast<std::streamoff>(field.offset));
      stream.write(whole.data() + field.offset, static_cast<std::streamsize>(field.size));
      stream.close();
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
  EXPECT_EQ(content_of(file), whole);
}

TEST(ElfCheck, NoBrokenFieldOfAPluginInCKills) {
  break_each_field_of("sound");
}

TEST(ElfCheck, NoBrokenFieldOfAPluginInCppKills) {
  break_each_field_of("probe");
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

TEST(ElfCheck, SaysWhatIsDamaged) {
  const Folder folder;
  const std::string file = folder.add_plugin("sound", "damaged");
  const Field* field = nullptr;
  const std::vector<Field> fields = fields_of(file);
  for (const Field& each : fields) {
    if (each.name == "segment0.p_align") field = &each;
  }
  ASSERT_NE(field, nullptr);
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(field->offset));
  stream.put(3);
  stream.close();
  const PluginFile bytes(file);
  try {
    check_elf(ElfFile(bytes));
    ADD_FAILURE() << "it was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(),
              "the plugin '" + file +
                  "' is damaged: a segment does not fit the file, or another segment; copy or build it again");
  }
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
  for (const std::string& library : libraries) {
    const PluginFile file(library);
    EXPECT_NO_THROW(check_elf(ElfFile(file))) << library;
  }
}

}  // namespace
}  // namespace loupe
