// The dynamic section: where the linker finds symbols, relocations and what to run.

#include <elf.h>

#include <algorithm>
#include <map>
#include <optional>

#include "loader/elf_file.h"

#ifndef DT_RELR  // glibc 2.36 has these
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#define SHT_RELR 19
#endif

namespace loupe {
namespace {

using Tag = ElfW(Sxword);
using Word = ElfW(Xword);

/// One pass over one file's dynamic section.
class DynamicCheck {
 public:
  explicit DynamicCheck(const ElfFile& elf) : elf_(elf) {}

  void run() {
    collect();
    check_symbols();
    check_hash_tables();
    check_versions();
    check_calls();
    relocatable_anywhere_ = has(DT_TEXTREL) || (value(DT_FLAGS) & DF_TEXTREL) != 0;
    check_relocations(DT_RELA, DT_RELASZ);
    check_relocations(DT_JMPREL, DT_PLTRELSZ);
    check_packed_relocations();
    check_against_sections();
  }

 private:
  bool has(Tag tag) const { return values_.count(tag) > 0; }
  Word value(Tag tag) const {
    const auto found = values_.find(tag);
    return found == values_.end() ? 0 : found->second;
  }
  void require(bool right, const char* what) const {
    if (!right) elf_.fail(what);
  }
  bool readable(ElfW(Addr) address, Word size) const {
    const ElfW(Phdr)* segment = elf_.segment_of(address, size);
    return segment != nullptr && (segment->p_flags & PF_R) != 0;
  }
  bool runs(ElfW(Addr) address) const {
    const ElfW(Phdr)* segment = elf_.segment_of(address, 1);
    return segment != nullptr && (segment->p_flags & PF_X) != 0;
  }

  void collect() {
    for (const ElfW(Dyn) & entry : elf_.dynamic) {
      switch (entry.d_tag) {
        case DT_NEEDED:
        case DT_AUXILIARY:
        case DT_FILTER:
          needed_.push_back(entry.d_un.d_val);  // these may come several times
          break;
        default:
          require(values_.emplace(entry.d_tag, entry.d_un.d_val).second, "its dynamic section says a thing twice");
      }
    }
    for (const Tag tag : {DT_SONAME, DT_RPATH, DT_RUNPATH, DT_CONFIG, DT_DEPAUDIT, DT_AUDIT}) {
      if (has(tag)) needed_.push_back(value(tag));
    }
  }

  void check_symbols() const {
    require(has(DT_STRTAB) && has(DT_SYMTAB) && value(DT_STRSZ) > 0 && value(DT_SYMENT) == sizeof(ElfW(Sym)) &&
                value(DT_SYMTAB) % alignof(ElfW(Sym)) == 0 && readable(value(DT_STRTAB), value(DT_STRSZ)) &&
                readable(value(DT_SYMTAB), sizeof(ElfW(Sym))),
            "its symbols lie in no segment");
    require(elf_.table_at<char>(value(DT_STRTAB) + value(DT_STRSZ) - 1, 1)[0] == '\0', "its texts have no end");
    for (const Word text : needed_) require(text < value(DT_STRSZ), "a text that it needs is nowhere");
  }

  void check_hash_tables() const {
    require(has(DT_GNU_HASH) || has(DT_HASH), "its symbols cannot be looked up");
    if (has(DT_GNU_HASH)) {
      const ElfW(Addr) table = value(DT_GNU_HASH);
      require(table % alignof(ElfW(Addr)) == 0 && readable(table, 4 * sizeof(uint32_t)),
              "the table of its symbols lies in no segment");
      const auto head = elf_.table_at<uint32_t>(table, 4 * sizeof(uint32_t));
      const Word buckets = head[0], filters = head[2];
      require(buckets > 0 && filters > 0 && (filters & (filters - 1)) == 0 &&
                  readable(table, 4 * sizeof(uint32_t) + filters * sizeof(ElfW(Addr)) + buckets * sizeof(uint32_t)),
              "the table of its symbols is cut short");
    }
    if (has(DT_HASH)) {
      const ElfW(Addr) table = value(DT_HASH);
      require(table % alignof(uint32_t) == 0 && readable(table, 2 * sizeof(uint32_t)),
              "the table of its symbols lies in no segment");
      const auto head = elf_.table_at<uint32_t>(table, 2 * sizeof(uint32_t));
      require(head[0] > 0 && readable(table, (Word{2} + head[0] + head[1]) * sizeof(uint32_t)),
              "the table of its symbols is cut short");
    }
  }

  void check_versions() const {
    require(has(DT_VERNEED) == has(DT_VERNEEDNUM) && has(DT_VERDEF) == has(DT_VERDEFNUM),
            "the versions that it needs are misstated");
    if (has(DT_VERSYM)) {
      require(value(DT_VERSYM) % alignof(ElfW(Half)) == 0 && readable(value(DT_VERSYM), sizeof(ElfW(Half))),
              "the versions that it needs lie in no segment");
    }
    ElfW(Addr) at = value(DT_VERNEED);
    for (Word i = 0; i < value(DT_VERNEEDNUM); ++i) {
      require(at % alignof(uint32_t) == 0 && readable(at, sizeof(ElfW(Verneed))),
              "the versions that it needs lie in no segment");
      const auto entry = elf_.table_at<ElfW(Verneed)>(at, sizeof(ElfW(Verneed)))[0];
      const bool last = i + 1 == value(DT_VERNEEDNUM);
      require(entry.vn_version == VER_NEED_CURRENT && entry.vn_file < value(DT_STRSZ) && last == (entry.vn_next == 0),
              "the versions that it needs are misstated");
      ElfW(Addr) name_at = at + entry.vn_aux;
      for (int j = 0; j < entry.vn_cnt; ++j) {
        require(readable(name_at, sizeof(ElfW(Vernaux))), "the versions that it needs lie in no segment");
        const auto name = elf_.table_at<ElfW(Vernaux)>(name_at, sizeof(ElfW(Vernaux)))[0];
        require(name.vna_name < value(DT_STRSZ) && (j + 1 == entry.vn_cnt) == (name.vna_next == 0),
                "the versions that it needs are misstated");
        name_at += name.vna_next;
      }
      at += entry.vn_next;
    }
    at = value(DT_VERDEF);
    for (Word i = 0; i < value(DT_VERDEFNUM); ++i) {
      require(at % alignof(uint32_t) == 0 && readable(at, sizeof(ElfW(Verdef))),
              "the versions that it offers lie in no segment");
      const auto entry = elf_.table_at<ElfW(Verdef)>(at, sizeof(ElfW(Verdef)))[0];
      require(
          (i + 1 == value(DT_VERDEFNUM)) == (entry.vd_next == 0) && readable(at + entry.vd_aux, sizeof(ElfW(Verdaux))),
          "the versions that it offers are misstated");
      at += entry.vd_next;
    }
  }

  /// What runs when the file is loaded.
  void check_calls() const {
    for (const Tag tag : {DT_INIT, DT_FINI})
      require(!has(tag) || runs(value(tag)), "what it runs at its start is no code");
    for (const auto& [tag, size] : {std::pair<Tag, Tag>{DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                    {DT_FINI_ARRAY, DT_FINI_ARRAYSZ},
                                    {DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ}}) {
      require(has(tag) == has(size) && value(tag) % sizeof(ElfW(Addr)) == 0 && value(size) % sizeof(ElfW(Addr)) == 0 &&
                  (!has(tag) || readable(value(tag), value(size))),
              "the list of what it runs at its start is misstated");
    }
    require(!has(DT_PLTGOT) || elf_.segment_of(value(DT_PLTGOT), 0, false) != nullptr,
            "the table of its calls lies in no segment");
  }

  bool in_call_list(ElfW(Addr) address) const {
    const auto in = [&](Tag tag, Tag size) { return address - value(tag) < value(size); };
    return in(DT_INIT_ARRAY, DT_INIT_ARRAYSZ) || in(DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
  }

  /// Relocations are written without looking where.
  void check_place(ElfW(Addr) place) const {
    const ElfW(Phdr)* segment = elf_.segment_of(place, sizeof(ElfW(Addr)), false);
    require(segment != nullptr && (relocatable_anywhere_ || (segment->p_flags & PF_W) != 0),
            "a relocation points where nothing can be written");
  }

  void check_relocations(Tag tag, Tag size_tag) const {
    require(has(tag) == has(size_tag), "its relocations are misstated");
    if (!has(tag)) return;
    const Word size = value(size_tag);
    if (tag == DT_RELA) require(value(DT_RELAENT) == sizeof(ElfW(Rela)), "its relocations are misstated");
    if (tag == DT_JMPREL) {
      require(value(DT_PLTREL) == DT_RELA || value(DT_PLTREL) == DT_REL, "its relocations are misstated");
      if (value(DT_PLTREL) == DT_REL) return;
    }
    require(value(tag) % alignof(ElfW(Rela)) == 0 && size % sizeof(ElfW(Rela)) == 0 && readable(value(tag), size),
            "its relocations lie in no segment");
    const auto relocations = elf_.table_at<ElfW(Rela)>(value(tag), size);
    const ElfW(Shdr)* symbols = elf_.section_of_type(SHT_DYNSYM);
    const Word relative = tag == DT_RELA ? value(DT_RELACOUNT) : 0;
    require(relative <= relocations.size(), "its relocations are misstated");
    for (std::size_t i = 0; i < relocations.size(); ++i) {
      const ElfW(Rela)& relocation = relocations[i];
      const Word symbol = symbol_of(relocation);
      if (relocation.r_info != 0) check_place(relocation.r_offset);  // type 0 does nothing
      require(symbols == nullptr || symbol < symbols->sh_size / sizeof(ElfW(Sym)), "a relocation names no symbol");
      // Of so many at the beginning the linker takes for granted that they are of the first one's kind.
      require(i >= relative || relocation.r_info == relocations[0].r_info, "its relocations are misstated");
      require(symbol != 0 || !in_call_list(relocation.r_offset) || runs(static_cast<ElfW(Addr)>(relocation.r_addend)),
              "what it runs at its start is no code");
    }
  }

  static Word symbol_of(const ElfW(Rela) & relocation) {
    return sizeof(void*) == 8 ? ELF64_R_SYM(relocation.r_info) : relocation.r_info >> 8;
  }

  /// The short form of those that only add where the file was loaded: an address, then bits for the words after it.
  void check_packed_relocations() const {
    require(has(DT_RELR) == has(DT_RELRSZ) && has(DT_RELR) == has(DT_RELRENT), "its relocations are misstated");
    if (!has(DT_RELR)) return;
    require(value(DT_RELRENT) == sizeof(ElfW(Addr)) && value(DT_RELR) % sizeof(ElfW(Addr)) == 0 &&
                value(DT_RELRSZ) % sizeof(ElfW(Addr)) == 0 && readable(value(DT_RELR), value(DT_RELRSZ)),
            "its relocations lie in no segment");
    std::optional<ElfW(Addr)> next;
    for (const ElfW(Addr) entry : elf_.table_at<ElfW(Addr)>(value(DT_RELR), value(DT_RELRSZ))) {
      if ((entry & 1) == 0) {
        check_place(entry);
        next = entry + sizeof(ElfW(Addr));
        continue;
      }
      require(next.has_value(), "its relocations are misstated");
      for (std::size_t bit = 1; bit < 8 * sizeof entry; ++bit) {
        if ((entry >> bit & 1) != 0) check_place(*next + (bit - 1) * sizeof(ElfW(Addr)));
      }
      *next += (8 * sizeof entry - 1) * sizeof(ElfW(Addr));
    }
  }

  /// A section that the dynamic section must point at, with its size where there is a tag for it.
  void check_section(const ElfW(Shdr) * section, Tag tag, Tag size = DT_NULL) const {
    if (section == nullptr || section->sh_size == 0) return;
    require(has(tag) && value(tag) == section->sh_addr && (size == DT_NULL || value(size) == section->sh_size),
            "its dynamic section and its sections contradict each other");
  }

  void check_against_sections() const {
    if (elf_.sections.empty()) return;
    const ElfW(Shdr)* symbols = elf_.section_of_type(SHT_DYNSYM);
    check_section(symbols, DT_SYMTAB);
    if (symbols != nullptr && symbols->sh_link < elf_.sections.size())
      check_section(&elf_.sections[symbols->sh_link], DT_STRTAB, DT_STRSZ);
    check_section(elf_.section_of_type(SHT_GNU_HASH), DT_GNU_HASH);
    check_section(elf_.section_of_type(SHT_HASH), DT_HASH);
    check_section(elf_.section_of_type(SHT_GNU_versym), DT_VERSYM);
    check_section(elf_.section_of_type(SHT_GNU_verneed), DT_VERNEED);
    check_section(elf_.section_of_type(SHT_GNU_verdef), DT_VERDEF);
    check_section(elf_.section_of_type(SHT_INIT_ARRAY), DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
    check_section(elf_.section_of_type(SHT_FINI_ARRAY), DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
    check_section(elf_.section_of_type(SHT_RELR), DT_RELR, DT_RELRSZ);
    // A library linked with -init= has another, and is no plugin that LOUPE_PLUGIN made.
    check_section(elf_.section_named(".init"), DT_INIT);
    check_section(elf_.section_named(".fini"), DT_FINI);
    const auto held = [&](const ElfW(Shdr) & section, Tag tag, Tag size) {
      return has(tag) && section.sh_addr >= value(tag) && section.sh_addr - value(tag) <= value(size) &&
             section.sh_size <= value(size) - (section.sh_addr - value(tag));
    };
    Word relocations = 0;
    for (const ElfW(Shdr) & section : elf_.sections) {
      if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0) continue;
      const bool twice = held(section, DT_RELA, DT_RELASZ) && held(section, DT_JMPREL, DT_PLTRELSZ);
      require(held(section, DT_RELA, DT_RELASZ) || held(section, DT_JMPREL, DT_PLTRELSZ),
              "its dynamic section and its sections contradict each other");
      relocations += section.sh_size * (twice ? 2 : 1);
    }
    if (value(DT_PLTREL) != DT_REL) {
      require(relocations == value(DT_RELASZ) + value(DT_PLTRELSZ),
              "its dynamic section and its sections contradict each other");
    }
  }

  const ElfFile& elf_;
  std::map<Tag, Word> values_;
  std::vector<Word> needed_;
  bool relocatable_anywhere_ = false;
};

}  // namespace

void check_dynamic(const ElfFile& elf) {
  DynamicCheck(elf).run();
}

}  // namespace loupe
