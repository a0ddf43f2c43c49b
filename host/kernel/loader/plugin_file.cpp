#include "loader/plugin_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <loupe/error.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

namespace loupe {
namespace {

/// The running program, and the library or program with this code: users who can change these do not need a plugin.
std::vector<struct ::stat> own_code() {
  static const char here = 0;
  std::vector<struct ::stat> files;
  struct ::stat status {};
  if (::stat("/proc/self/exe", &status) == 0) files.push_back(status);
  ::Dl_info library{};
  const bool known = ::dladdr(&here, &library) != 0 && library.dli_fname != nullptr;
  if (known && ::stat(library.dli_fname, &status) == 0) files.push_back(status);
  return files;
}

bool is_trusted_user(::uid_t user) {
  if (user == 0 || user == ::geteuid()) return true;
  const auto code = own_code();
  return std::any_of(code.begin(), code.end(), [&](const auto& file) { return file.st_uid == user; });
}

/// Whether the group is private to the owner, as most systems create one for each user: it has the user's name and no
/// other members. A group without a name has no members.
bool is_private(::gid_t group, ::uid_t owner) {
  if (group == 0) return true;
  std::array<char, 16384> group_text{}, user_text{};
  struct ::group group_entry {};
  struct ::passwd user_entry {};
  struct ::group* found_group = nullptr;
  struct ::passwd* found_user = nullptr;
  ::getgrgid_r(group, &group_entry, group_text.data(), group_text.size(), &found_group);
  ::getpwuid_r(owner, &user_entry, user_text.data(), user_text.size(), &found_user);
  if (found_group == nullptr || found_user == nullptr) return found_group == nullptr && found_user == nullptr;
  if (std::strcmp(found_group->gr_name, found_user->pw_name) != 0) return false;
  for (char** member = found_group->gr_mem; member != nullptr && *member != nullptr; ++member) {
    if (std::strcmp(*member, found_user->pw_name) != 0) return false;
  }
  return true;
}

bool is_trusted_group(::gid_t group, ::uid_t owner) {
  if (is_private(group, owner)) return true;
  const auto code = own_code();
  return std::any_of(code.begin(), code.end(),
                     [&](const auto& file) { return file.st_gid == group && (file.st_mode & S_IWGRP) != 0; });
}

constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char own_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
// The linker puts the table on its stack. Tools create a few dozen segments at most.
constexpr int max_segments = 128;

constexpr std::uint64_t largest_note = 1 << 20;

}  // namespace

std::string trust_fault(const std::string& path, const struct ::stat& status) {
  const bool folder = S_ISDIR(status.st_mode);
  const std::string what = folder ? "the plugin folder '" + path + "'" : "the plugin '" + path + "'";
  if (!is_trusted_user(status.st_uid)) {
    return what + " belongs to another user (" + std::to_string(status.st_uid) +
           "), who could make the trainer run anything; take ownership ('chown'), or copy it to your own folder";
  }
  // In a sticky folder, such as /tmp, others may add their own files but change none.
  if (folder && (status.st_mode & S_ISVTX) != 0) return "";
  if ((status.st_mode & S_IWOTH) != 0)
    return what + " may be changed by everyone, who could make the trainer run anything; 'chmod o-w' it";
  if ((status.st_mode & S_IWGRP) != 0 && !is_trusted_group(status.st_gid, status.st_uid))
    return what + " may be changed by a whole group, who could make the trainer run anything; 'chmod g-w' it";
  return "";
}

std::string trust_fault(const std::string& path) {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 ? trust_fault(path, status) : "";
}

PluginFile::PluginFile(std::string path) : path_(std::move(path)) {
  struct ::stat status {};
  try {
    file_.emplace(path_, O_RDONLY);
    status = file_->status();
  } catch (const std::system_error& reason) {
    throw Error("the plugin '" + path_ + "' cannot be read: " + reason.code().message() + "; correct its rights");
  }
  if (!S_ISREG(status.st_mode))
    throw Error("'" + path_ + "' is not a plugin: it is not a regular file; remove it from the plugin path");
  if (const std::string fault = trust_fault(path_, status); !fault.empty()) throw Error(fault);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void PluginFile::need(std::uint64_t offset, std::uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw Error("the plugin '" + path_ + "' is cut short: its " + std::to_string(size_) +
                " bytes are fewer than its header says; copy or build it again");
  }
}

std::vector<char> PluginFile::read(std::uint64_t offset, std::uint64_t size) const {
  need(offset, size);
  std::vector<char> bytes(size);
  for (std::size_t done = 0; done < bytes.size();) {
    const ::ssize_t count =
        ::pread(file_->get(), bytes.data() + done, bytes.size() - done, static_cast<::off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const std::string reason = count < 0 ? std::generic_category().message(errno) : "it became shorter meanwhile";
      throw Error("the plugin '" + path_ + "' cannot be read: " + reason);
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

ElfFile::ElfFile(const PluginFile& library) : file(library) {
  const bool begins_so = file.size() >= sizeof header && [&] {
    header = table<ElfW(Ehdr)>(0, 1)[0];
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == own_class &&
           header.e_ident[EI_DATA] == own_order && header.e_type == ET_DYN;
  }();
  if (!begins_so) {
    throw Error("the plugin '" + file.path() +
                "' cannot be loaded: it does not begin as a shared library does; check that it is a shared library for "
                "this system");
  }
  read_segments();
  read_sections();
}

void ElfFile::fail(const std::string& what) const {
  throw Error("the plugin '" + file.path() + "' is damaged: " + what + "; copy or build it again");
}

void ElfFile::read_segments() {
  const bool right = header.e_version == EV_CURRENT && header.e_ehsize == sizeof header &&
                     header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phoff % alignof(ElfW(Phdr)) == 0 &&
                     header.e_phoff >= sizeof header && header.e_phnum > 0 && header.e_phnum <= max_segments;
  if (!right) fail("its ELF header is invalid");
  segments = table<ElfW(Phdr)>(header.e_phoff, header.e_phnum);
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type == PT_LOAD) file.need(segment.p_offset, segment.p_filesz);
  }
}

void ElfFile::read_sections() {
  const bool none = header.e_shoff == 0 && header.e_shnum == 0 && header.e_shstrndx == SHN_UNDEF;
  if (none) return;
  const bool right = header.e_shentsize == sizeof(ElfW(Shdr)) && header.e_shoff % alignof(ElfW(Shdr)) == 0 &&
                     header.e_shnum > 0 && header.e_shstrndx < header.e_shnum;
  if (!right) fail("its header misstates the table of sections");
  sections = table<ElfW(Shdr)>(header.e_shoff, header.e_shnum);
  const ElfW(Shdr)& names = sections[header.e_shstrndx];
  if (sections[0].sh_type != SHT_NULL || names.sh_type != SHT_STRTAB || names.sh_size == 0)
    fail("its header misstates the table of sections");
  section_names = file.read(names.sh_offset, names.sh_size);
  if (section_names.back() != '\0') fail("the names of its sections have no end");
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_name >= section_names.size()) fail("the name of a section is missing");
  }
}

const ElfW(Shdr) * ElfFile::section_of_type(ElfW(Word) type) const {
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type == type) return &section;
  }
  return nullptr;
}

std::vector<const ElfW(Shdr) *> ElfFile::sections_named(const char* name) const {
  std::vector<const ElfW(Shdr)*> named;
  for (const ElfW(Shdr) & section : sections) {
    if (std::strcmp(section_names.data() + section.sh_name, name) == 0) named.push_back(&section);
  }
  return named;
}

const ElfW(Phdr) * ElfFile::segment_of(ElfW(Addr) address, ElfW(Xword) size) const {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const ElfW(Xword) before = address - segment.p_vaddr;
    if (before <= segment.p_filesz && size <= segment.p_filesz - before) return &segment;
  }
  return nullptr;
}

std::vector<ExportedSymbol> exported_symbols(const ElfFile& elf) {
  const ElfW(Shdr)* table = elf.section_of_type(SHT_DYNSYM);
  if (table == nullptr || table->sh_link >= elf.sections.size() || table->sh_entsize != sizeof(ElfW(Sym))) return {};
  const ElfW(Shdr)& texts = elf.sections[table->sh_link];
  for (const ElfW(Shdr) * section : {table, &texts}) {
    if (section->sh_offset > elf.file.size() || section->sh_size > elf.file.size() - section->sh_offset) return {};
  }
  const std::vector<char> names = elf.file.read(texts.sh_offset, texts.sh_size);
  const std::vector<char> bytes = elf.file.read(table->sh_offset, table->sh_size);
  std::vector<ExportedSymbol> symbols;
  for (std::size_t at = sizeof(ElfW(Sym)); at + sizeof(ElfW(Sym)) <= bytes.size(); at += sizeof(ElfW(Sym))) {
    ExportedSymbol symbol{};
    std::memcpy(&symbol.entry, bytes.data() + at, sizeof symbol.entry);
    if (symbol.entry.st_shndx == SHN_UNDEF || symbol.entry.st_shndx == SHN_ABS) continue;
    if (ELF64_ST_BIND(symbol.entry.st_info) == STB_LOCAL || symbol.entry.st_name >= names.size()) continue;
    const char* name = names.data() + symbol.entry.st_name;
    symbol.name.assign(name, ::strnlen(name, names.size() - symbol.entry.st_name));
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

bool ComponentIndex::names(Kind kind, const std::string& name) const {
  return std::any_of(components.begin(), components.end(),
                     [&](const auto& each) { return each.kind == kind && each.name == name; });
}

bool ComponentIndex::has_aliases(Kind kind) const {
  return std::any_of(components.begin(), components.end(),
                     [&](const auto& each) { return each.kind == kind && each.has_aliases; });
}

ComponentIndex read_index(const ElfFile& elf) {
  const auto sections = elf.sections_named(LOUPE_ELF_SECTION);
  if (sections.empty()) return {};
  if (sections.size() > 1) elf.fail("it has " + std::to_string(sections.size()) + " notes of its components");
  const ElfW(Xword) size = sections[0]->sh_size;
  loupe_elf_note head{};
  if (size > largest_note) elf.fail("the note of its components has " + std::to_string(size) + " bytes");
  if (size < sizeof head) elf.fail("the note of its components is cut short");
  const std::vector<char> bytes = elf.file.read(sections[0]->sh_offset, size);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.name_size != sizeof LOUPE_ELF_NAME || std::memcmp(head.name, LOUPE_ELF_NAME, sizeof LOUPE_ELF_NAME) != 0)
    elf.fail("the note of its components has a wrong beginning");
  if (head.version != LOUPE_ELF_VERSION) return {};
  if (head.text_size > size - sizeof head) elf.fail("the note of its components is cut short");
  const auto end = bytes.begin() + sizeof head + head.text_size;
  if (head.text_size == 0 || end[-1] != '\0') elf.fail("the note of its components has no end");
  if (std::any_of(end, bytes.end(), [](char byte) { return byte != '\0'; }))
    elf.fail("another note follows the note of its components");
  ComponentIndex index{true, {}};
  std::istringstream text(std::string(bytes.data() + sizeof head, head.text_size - 1));
  for (std::string line; std::getline(text, line);) {
    std::istringstream parts(line);
    std::string id, name, ending;
    parts >> id >> name >> ending;
    // A kind that this host does not know is reported when the file is opened.
    if (const auto kind = kind_of(id)) index.components.push_back({*kind, name, ending == "+"});
  }
  return index;
}

std::optional<loupe_entry> read_exported_entry(const ElfFile& elf) {
  for (const ExportedSymbol& symbol : exported_symbols(elf)) {
    if (symbol.name != LOUPE_ENTRY_SYMBOL) continue;
    if (elf.segment_of(symbol.entry.st_value, sizeof(loupe_entry)) == nullptr) return std::nullopt;
    const auto bytes = elf.table_at<char>(symbol.entry.st_value, sizeof(loupe_entry));
    loupe_entry entry{};
    std::memcpy(&entry, bytes.data(), offsetof(loupe_entry, get_extension));
    return entry;
  }
  return std::nullopt;
}

}  // namespace loupe
