#include "loader/component_index.h"

#include <elf.h>
#include <loupe/abi.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace loupe {
namespace {

constexpr std::uint64_t largest_note = 1 << 20;

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
  const ElfW(Shdr)* section = elf.section_named(LOUPE_ELF_SECTION);
  loupe_elf_note head{};
  if (section == nullptr || section->sh_size <= sizeof head || section->sh_size > largest_note) return {};
  const std::vector<char> bytes = elf.file.read(section->sh_offset, section->sh_size);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.name_size != sizeof LOUPE_ELF_NAME || head.version != LOUPE_ELF_VERSION ||
      std::memcmp(head.name, LOUPE_ELF_NAME, sizeof LOUPE_ELF_NAME) != 0 || head.text_size == 0 ||
      head.text_size > bytes.size() - sizeof head || bytes[sizeof head + head.text_size - 1] != '\0')
    return {};
  ComponentIndex index{true, {}};
  std::istringstream text(std::string(bytes.data() + sizeof head, head.text_size - 1));
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
