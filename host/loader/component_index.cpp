#include "loader/component_index.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace loupe {
namespace {

// As in loupe/detail/plugin_note.h, which brings more than the host should know.
constexpr char section_name[] = ".note.loupe";
constexpr char note_name[8] = "Loupe";
constexpr std::uint64_t largest_note = 1 << 20;

struct NoteHead {
  uint32_t name_size, description_size, type;
  char name[8];
  uint32_t abi_major, abi_minor;
};

}  // namespace

bool ComponentIndex::names(Kind kind, const std::string& name) const {
  return std::any_of(components.begin(), components.end(),
                     [&](const auto& each) { return each.kind == kind && each.name == name; });
}

bool ComponentIndex::has_aliases(Kind kind) const {
  return std::any_of(components.begin(), components.end(),
                     [&](const auto& each) { return each.kind == kind && each.has_aliases; });
}

ComponentIndex read_index(const ElfFile& elf) {
  const ElfW(Shdr)* section = elf.section_named(section_name);
  if (section == nullptr || section->sh_size < sizeof(NoteHead) || section->sh_size > largest_note) return {};
  const std::vector<char> bytes = elf.file.read(section->sh_offset, section->sh_size);
  NoteHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t words = 2 * sizeof(uint32_t);
  if (head.name_size != sizeof "Loupe" || head.type != 1 || std::memcmp(head.name, note_name, sizeof head.name) != 0 ||
      head.description_size < words || head.description_size - words > bytes.size() - sizeof head)
    return {};
  ComponentIndex index{true, head.abi_major, head.abi_minor, {}};
  std::istringstream text(std::string(bytes.data() + sizeof head, head.description_size - words));
  for (std::string line; std::getline(text, line);) {
    std::istringstream parts(line);
    std::string id, name, ending;
    parts >> id >> name >> ending;
    // A kind that this host does not know is told of when something opens the file.
    if (const auto kind = kind_of(id)) index.components.push_back({*kind, name, ending == "+"});
  }
  return index;
}

}  // namespace loupe
