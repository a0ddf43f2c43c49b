#include "core/part.h"

#include <dlfcn.h>
#include <loupe/abi.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>

#include "core/log.h"
#include "core/own_code.h"

namespace loupe {
namespace {

constexpr std::array names = {"run", "script", "timing", "ranks", "services", "lines"};
static_assert(names.size() == static_cast<std::size_t>(Part::lines) + 1);

// There is no lock, because a fork could leave it held: two threads that open the same part get the same table.
std::array<std::atomic<const void*>, names.size()> tables{};
std::array<std::atomic<bool>, names.size()> unusable{};  // a warning was logged
std::atomic<const std::string*> folder{nullptr};         // never destroyed
std::atomic<bool> process_ends{false};

/// Returns the table of the part in this file; null, with the reason in `why`, if the file cannot be opened.
const void* opened_from(const std::string& file, std::string& why) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0) {
    why = "everybody may write to it";
    return nullptr;
  }
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const auto get = library != nullptr ? reinterpret_cast<const void* (*)()>(::dlsym(library, part_entry)) : nullptr;
  if (get != nullptr) return get();
  why = linker_words(file);
  return nullptr;
}

}  // namespace

std::string linker_words(const std::string& file) {
  const char* const words = ::dlerror();
  std::string text = words != nullptr ? words : "the linker gives no reason";
  if (text.rfind(file + ": ", 0) == 0) text.erase(0, file.size() + 2);
  return text;
}

const void* table_of(Part part, const char* without) noexcept try {
  if (const void* table = opened_table(part)) return table;
  const auto index = static_cast<std::size_t>(part);
  const std::string* const where = folder.load(std::memory_order_acquire);
  if (where == nullptr || unusable[index] || process_ends) return nullptr;
  const std::string file = *where + "/" + names[index] + ".so";
  std::string why;
  const void* const table = opened_from(file, why);
  if (table == nullptr) {
    if (!unusable[index].exchange(true))
      log(LOUPE_LOG_WARNING, "'" + file + "' cannot be used (" + why + "); " + without + "; install all of Loupe");
    return nullptr;
  }
  read_own_code();
  tables[index].store(table, std::memory_order_release);
  return table;
} catch (...) {  // out of memory
  return nullptr;
}

const void* opened_table(Part part) noexcept {
  return tables[static_cast<std::size_t>(part)].load(std::memory_order_acquire);
}

void link_part(Part part, const void* table) noexcept {
  tables[static_cast<std::size_t>(part)].store(table, std::memory_order_release);
}

void look_for_parts() noexcept try {
  Dl_info own{};
  if (folder.load() != nullptr || ::dladdr(reinterpret_cast<const void*>(&opened_from), &own) == 0) return;
  std::error_code unreachable;
  std::filesystem::path file = std::filesystem::canonical(own.dli_fname, unreachable);
  if (unreachable) file = own.dli_fname;
  auto* const found = new std::string(file.parent_path() / "loupe/optional");
  const std::string* none = nullptr;
  if (!folder.compare_exchange_strong(none, found)) delete found;
} catch (...) {  // out of memory
}

void open_no_more_parts() noexcept {
  process_ends = true;
}

const void* of_this_build(const void* table) noexcept {
  return table;
}

}  // namespace loupe
