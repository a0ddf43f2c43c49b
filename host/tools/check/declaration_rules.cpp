// Rules on the file, and on the declarations of components before an instance is made.

#include <dlfcn.h>
#include <elf.h>
#include <loupe/abi.h>

#include <cctype>
#include <cstddef>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "check/session.h"
#include "config/config.h"
#include "loader/plugin_file.h"
#include "loader/plugin_library.h"
#include "options/diagnostics.h"
#include "options/option_set.h"

namespace loupe::check {
namespace {

std::vector<ExportedSymbol> exported(const ElfFile& elf) {
  const ElfW(Shdr)* table = elf.section_of_type(SHT_DYNSYM);
  if (table == nullptr || table->sh_link >= elf.sections.size() || table->sh_entsize != sizeof(ElfW(Sym)))
    throw Broken("it has no table of dynamic symbols; build it as a shared library, and do not strip its sections");
  return exported_symbols(elf);
}

/// A handwritten note may differ from the plugin: components that it lacks are never found, further ones do not exist.
void check_note(const Subject& subject) {
  const PluginFile file(subject.file);
  const ComponentIndex index = read_index(ElfFile(file));
  if (!index.noted) return;
  std::set<std::pair<Kind, std::string>> noted, offered;
  for (const NamedComponent& each : index.components) noted.emplace(each.kind, each.name);
  for (std::size_t i = 0; i < subject.plugin->component_count; ++i) {
    const loupe_component& component = *subject.plugin->components[i];
    if (const auto kind = kind_of(component.interface_id)) offered.emplace(*kind, component.name);
  }
  for (const auto& [kind, name] : offered) {
    if (noted.count({kind, name}) == 0)
      throw Broken(std::string("its note lacks the ") + kind_name(kind) + " '" + name + "', so no host finds it");
  }
  for (const auto& [kind, name] : noted) {
    if (offered.count({kind, name}) == 0)
      throw Broken(std::string("its note has a ") + kind_name(kind) + " '" + name + "', which it does not offer");
  }
}

}  // namespace

void check_exports(const Subject& subject) {
  const PluginFile file(subject.file);
  const ElfFile elf(file);
  bool found = false;
  std::string others;
  for (const ExportedSymbol& symbol : exported(elf)) {
    if (symbol.name == LOUPE_ENTRY_SYMBOL) {
      found = true;
    } else if (symbol.name.rfind("__odr_asan", 0) == 0) {
      continue;  // AddressSanitizer's own symbols, one for each global
    } else if (others.size() < 200) {
      others += (others.empty() ? "" : ", ") + symbol.name;
    }
  }
  if (!found) {
    throw Broken("it does not export " LOUPE_ENTRY_SYMBOL "; close its source with LOUPE_PLUGIN(...)");
  }
  if (!others.empty()) {
    throw Broken("it also exports " + others +
                 "; build it with loupe_add_plugin, or link it with -Wl,--version-script=FILE, where FILE holds '{ "
                 "global: " LOUPE_ENTRY_SYMBOL
                 "; local: *; };', as -fvisibility=hidden leaves templates of std visible");
  }
}

void check_read_without_running(const Subject& subject) {
  const PluginFile file(subject.file);
  const ElfFile elf(file);
  for (const ExportedSymbol& symbol : exported(elf)) {
    if (symbol.name != LOUPE_ENTRY_SYMBOL) continue;
    if (ELF64_ST_TYPE(symbol.entry.st_info) != STT_OBJECT || symbol.entry.st_size < sizeof(loupe_entry))
      throw Broken(LOUPE_ENTRY_SYMBOL " is not a loupe_entry; it must be a constant of that type");
    if (elf.segment_of(symbol.entry.st_value, sizeof(loupe_entry)) == nullptr)
      throw Broken(LOUPE_ENTRY_SYMBOL " has no bytes in the file; give it a constant initializer");
    const auto bytes = elf.table_at<char>(symbol.entry.st_value, sizeof(loupe_entry));
    loupe_entry entry{};
    std::memcpy(&entry, bytes.data(), offsetof(loupe_entry, get_extension));
    if (entry.magic != LOUPE_MAGIC)
      throw Broken("the file's bytes of " LOUPE_ENTRY_SYMBOL " lack Loupe's mark; give it a constant initializer");
    return;
  }
  throw Broken("there is no " LOUPE_ENTRY_SYMBOL " to read");
}

void check_links(const Subject& subject) {
  if (::dlopen(subject.file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) {
    const std::string why = load_tensor_lending();
    if (why.empty()) return;
    throw Broken("it needs LibTorch, and Loupe's own library cannot be loaded beside it: " + why +
                 "; build both with one LibTorch");
  }
  const char* words = ::dlerror();
  throw Broken(std::string("it cannot be loaded: ") + (words != nullptr ? words : "the linker gives no reason") +
               "; link what it uses");
}

void check_bootstrap(const Subject& subject) {
  const loupe_entry& entry = *subject.entry;
  if (entry.magic != LOUPE_MAGIC) throw Broken("its mark is not Loupe's; set magic to LOUPE_MAGIC");
  if (entry.abi_major != LOUPE_ABI_MAJOR) {
    throw Broken("it is built for ABI " + version_text(entry.abi_major, entry.abi_minor) + " and this is " +
                 version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) + "; rebuild it against this Loupe's SDK");
  }
  if (entry.get_extension == nullptr) throw Broken("its get_extension is null");
}

void check_unknown_ids(const Subject& subject) {
  for (const char* id :
       {"", "loupe", "loupe.plugin", "loupe.plugin/2", "loupe.plugin/10", "loupe.plugin/1 ", "no.such.interface/1"}) {
    note_step(std::string("get_extension(\"") + id + "\")");
    if (subject.entry->get_extension(id) == nullptr) continue;
    throw Broken(std::string("get_extension(\"") + id + "\") is not null; compare the whole id, and answer no other");
  }
}

/// The ids of drafts in the loaded part of the file, such as "loupe.x/draft-1". They include ids that the plugin
/// requests only in code that no check reaches.
std::set<std::string> drafts_in(const PluginFile& file) {
  std::set<std::string> ids;
  for (const ElfW(Phdr) & segment : ElfFile(file).segments) {
    if (segment.p_type != PT_LOAD) continue;
    const std::vector<char> bytes = file.read(segment.p_offset, segment.p_filesz);
    const std::string_view text(bytes.data(), bytes.size());
    for (std::size_t at = 0; (at = text.find("/draft-", at)) != text.npos; ++at) {
      const std::size_t begin = text.rfind("loupe.", at), end = text.find_first_not_of("0123456789", at + 7);
      if (begin == text.npos || end == at + 7) continue;
      const std::string_view id = text.substr(begin, end - begin);
      if (id.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789.", 0) == at - begin) ids.emplace(id);
    }
  }
  return ids;
}

void check_plugin(const Subject& subject) {
  const loupe_plugin* plugin = subject.plugin;
  if (plugin == nullptr || !LOUPE_REACHES(*plugin, component_count))
    throw Broken("get_extension(\"" LOUPE_PLUGIN_ID "\") is null or too short; was a declaration refused?");
  if (plugin->name == nullptr || *plugin->name == '\0') throw Broken("it has no name; set loupe_plugin.name");
  if (plugin->version == nullptr || *plugin->version == '\0')
    throw Broken("it has no version; set loupe_plugin.version");
  if (plugin->component_count == 0 || plugin->components == nullptr) throw Broken("it offers no component");
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < plugin->component_count; ++i) {
    const loupe_component* component = plugin->components[i];
    const std::string which = "component " + std::to_string(i + 1);
    if (component == nullptr || !LOUPE_REACHES(*component, destroy)) throw Broken(which + " is null or too short");
    if (component->interface_id == nullptr || component->name == nullptr)
      throw Broken(which + " has no kind or no name");
    if (!seen.emplace(component->interface_id, component->name).second)
      throw Broken(std::string("there are two components '") + component->name + "' of one kind");
  }
  check_note(subject);
  bool takes_any = subject.options.empty();
  for (std::size_t i = 0; i < plugin->component_count; ++i)
    takes_any = takes_any || declares_any(*plugin->components[i], subject.options);
  if (!takes_any) throw Broken("no component of it has an option of those in --options " + subject.options);
  std::string named;
  for (const std::string& draft : drafts_in(PluginFile(subject.file))) named += (named.empty() ? "" : ", ") + draft;
  if (!named.empty()) note_remark("its code names " + named + ", drafts that may change or disappear without notice");
}

namespace {

bool is_snake_case(const char* name) {
  if (name == nullptr || std::islower(static_cast<unsigned char>(*name)) == 0) return false;
  for (const char* c = name; *c != '\0'; ++c) {
    const auto letter = static_cast<unsigned char>(*c);
    if (std::islower(letter) == 0 && std::isdigit(letter) == 0 && letter != '_') return false;
  }
  return true;
}

std::string shown(const char* text) {
  return text != nullptr ? "'" + std::string(text) + "'" : "null";
}

void need_line(const char* text, const std::string& what) {
  if (text == nullptr || *text == '\0') throw Broken(what + " has no help; describe it in one line");
  if (std::string(text).find('\n') != std::string::npos) throw Broken("the help of " + what + " has several lines");
}

}  // namespace

void check_functions(const Subject& subject) {
  const loupe_component& component = *subject.component;
  if (!kind_of(component.interface_id)) {
    note_remark("it is a " + shown(component.interface_id) +
                ", which needs a newer Loupe: nothing else of it is checked; update Loupe");
    return;
  }
  if (component.create == nullptr || component.destroy == nullptr) throw Broken("create or destroy is null");
  if (component.table == nullptr) throw Broken("its table is null");
  if (component.option_count > 0 && component.options == nullptr) throw Broken("its options are null");
  for (std::size_t i = 0; i < component.option_count; ++i) {
    const loupe_option* option = component.options[i];
    if (option == nullptr || !LOUPE_REACHES(*option, choice_count) || option->name == nullptr)
      throw Broken("option " + std::to_string(i + 1) + " is null, too short or without a name");
  }
  const std::string lacking = lacking_function(subject.kind, component.table);
  if (!lacking.empty())
    throw Broken("it lacks '" + lacking + "', or its table ends before; set it, and struct_size to sizeof the table");
}

void check_names(const Subject& subject) {
  const loupe_component& component = *subject.component;
  if (!is_snake_case(component.name))
    throw Broken("its name " + shown(component.name) + " is not snake_case; write it as 'my_lens'");
  for (std::size_t i = 0; i < component.alias_count; ++i) {
    if (!is_snake_case(component.aliases[i]))
      throw Broken("its alias " + shown(component.aliases[i]) + " is not snake_case");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < component.option_count; ++i) {
    const char* name = component.options[i]->name;
    if (!is_snake_case(name)) throw Broken("its option " + shown(name) + " is not snake_case; write it as 'my_option'");
    if (!seen.insert(name).second) throw Broken("it declares the option " + shown(name) + " twice; keep one");
  }
}

void check_help(const Subject& subject) {
  const loupe_component& component = *subject.component;
  need_line(component.help, "it");
  for (std::size_t i = 0; i < component.option_count; ++i)
    need_line(component.options[i]->help, "the option " + shown(component.options[i]->name));
}

void check_defaults(const Subject& subject) {
  const loupe_component& component = *subject.component;
  Diagnostics diagnostics(subject.file);
  OptionSet::check_defaults({component.options, component.option_count}, component.name, diagnostics);
  if (!diagnostics.empty()) throw Broken(diagnostics.messages());
}

void check_options(const Subject& subject) {
  read_options(*subject.component, subject.options);
}

void check_example(const Subject& subject) {
  Catalogue catalogue;
  catalogue.add_path(subject.file);
  catalogue.add_standard_paths();
  const std::string list = subject.kind == Kind::visualizer ? "visualizers" : "lenses";
  std::string example = subject.component->example;
  if (example.rfind("- ", 0) == 0) example.erase(0, 2);
  try {
    Config::from_text("loupe: 1\n" + list + ": [{" + example + "}]\n", "example", ".", std::move(catalogue));
  } catch (const std::exception& reason) {
    throw Broken("the example \"" + std::string(subject.component->example) + "\" is refused: " + reason.what());
  }
}

}  // namespace loupe::check
