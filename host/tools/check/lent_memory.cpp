#include "check/lent_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>

#include "loader/catalogue.h"
#include "preload/boundary.h"
#include "torch/tensor/services.h"

namespace loupe::check {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t capacity = 64 * page;
constexpr int senseless = 0xA5;  // not a valid pointer

char* map(std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

std::size_t round_up(std::size_t size) {
  return (size + 7) & ~std::size_t{7};
}

const TensorLending* lending = nullptr;

bool has_libtorch() {
  const auto is_libtorch = [](dl_phdr_info* library, std::size_t, void*) {
    return std::strstr(library->dlpi_name, "/libc10.so") != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(is_libtorch, nullptr) != 0;
}

}  // namespace

std::optional<LentMemory::Resized> LentMemory::resized_;

/// One mapping followed by a guard page. The objects are never freed, and are reused.
struct LentMemory::Area {
  std::atomic<char*> base{nullptr};  // null: not in use
  const char* what = "";
  bool is_sealed = false;
  Area* next = nullptr;

  static std::atomic<Area*>& first() {
    static std::atomic<Area*> area{nullptr};
    return area;
  }
  static Area* take() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    Area* area = first();
    while (area != nullptr && area->base != nullptr) area = area->next;
    if (area == nullptr) {
      area = new Area;
      area->next = first();
      first() = area;
    }
    char* mapped = map(capacity + page);
    ::mprotect(mapped + capacity, page, PROT_NONE);
    area->base = mapped;
    return area;
  }
  static std::shared_ptr<Area> take_shared() {
    return {take(), [](Area* area) { area->give_back(); }};
  }
  void give_back() {
    ::munmap(base, capacity + page);
    is_sealed = false;
    base = nullptr;
  }
  void take_away() {
    what = "memory lent for an earlier call";
    is_sealed = false;
    protect(PROT_NONE);
  }
  void protect(int protection) { ::mprotect(base, capacity, protection); }
  char* end() const { return base + capacity; }
};

LentMemory::LentMemory() : shared_(Area::take()) {
  shared_->what = "the lent memory";
}

LentMemory::~LentMemory() {
  destroy_natives();
  shared_->give_back();
}

void* LentMemory::allocate(std::size_t size) {
  if (size > capacity - used_) throw std::bad_alloc();
  void* memory = shared_->base + used_;
  used_ += round_up(size);
  return memory;
}

const char* LentMemory::text(std::string_view text) {
  auto* memory = static_cast<char*>(allocate(text.size() + 1));
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = '\0';
  return memory;
}

void* LentMemory::guarded(std::size_t size, const char* what) {
  if (size > capacity) throw std::bad_alloc();
  if (next_guarded_ == guarded_.size()) guarded_.push_back(Area::take_shared());
  Area& area = *guarded_[next_guarded_++];
  area.what = what;
  return area.end() - size;
}

void LentMemory::add_native_tensor(loupe_tensor& view) {
  const bool has_elements = view.data != nullptr && next_guarded_ > 0;
  add_native(view, allocate(TensorLending::size), has_elements ? guarded_[next_guarded_ - 1] : nullptr);
  if (view.native != nullptr) natives_.push_back(view.native);
}

void LentMemory::destroy_natives() {
  for (const void* each : natives_) destroy_native(each);
  natives_.clear();
}

void LentMemory::seal() {
  Area& area = *guarded_[next_guarded_ - 1];
  area.protect(PROT_READ);
  area.is_sealed = true;
}

void* LentMemory::at_the_end(std::size_t size) {
  // `struct_size` itself is always there, and the struct is aligned.
  const std::size_t there = round_up(std::max(size, sizeof(uint32_t)));
  void* memory = guarded(there, "a struct");
  std::memset(memory, senseless, there);
  return memory;
}

const void* LentMemory::out_of_reach() {
  static Area* const area = [] {
    Area* taken = Area::take();
    taken->what = "the memory of a device, which the processor cannot read";
    taken->protect(PROT_NONE);
    return taken;
  }();
  return area->base;
}

void LentMemory::scribble() {
  destroy_natives();
  std::memset(shared_->base, senseless, used_);
  used_ = 0;
  for (std::size_t i = 0; i < next_guarded_; ++i) {
    if (guarded_[i].use_count() > 1) {  // a copy of LibTorch's tensor was kept
      guarded_[i] = Area::take_shared();
      continue;
    }
    Area& area = *guarded_[i];
    if (std::exchange(area.is_sealed, false)) area.protect(PROT_READ | PROT_WRITE);
    std::memset(area.end() - page, senseless, page);
  }
  next_guarded_ = 0;
}

void LentMemory::take_away() {
  destroy_natives();
  for (const auto& each : guarded_) {
    if (each.use_count() == 1) each->take_away();  // otherwise a copy of LibTorch's tensor was kept
  }
  shared_->take_away();
}

LentMemory::Misuse LentMemory::misuse_at(const void* address) {
  const auto* at = static_cast<const char*>(address);
  for (const Area* area = Area::first(); area != nullptr; area = area->next) {
    const char* base = area->base;
    if (base == nullptr || at < base || at >= area->end() + page) continue;
    if (at >= area->end()) return {"it reached beyond the end of ", area->what};
    if (area->is_sealed) return {"it wrote to ", "a tensor that it was lent to read"};
    return {"it reached for ", area->what};
  }
  return {nullptr, nullptr};
}

std::string load_tensor_lending() {
  if (lending != nullptr || !has_libtorch()) return "";
  const std::string plugins = own_plugin_folder();
  const std::string file = plugins.empty() ? run_host_name : plugins + "/../../" + run_host_name;
  // The part needs the host's library, not the core that is linked into this program.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map* loaded = nullptr;
  std::string part;
  if (library != nullptr && ::dlinfo(library, RTLD_DI_LINKMAP, &loaded) == 0) {
    part = std::filesystem::path(loaded->l_name).parent_path() / "loupe/optional/services.so";
    library = ::dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  void* function = library != nullptr ? ::dlsym(library, part_entry) : nullptr;
  if (function == nullptr) {
    const char* words = ::dlerror();
    return words != nullptr ? words : part + " gives no tensors";
  }
  const void* const table = reinterpret_cast<const void* (*)()>(function)();
  lending = &static_cast<const ServicesTable*>(table)->lending();
  return "";
}

const TensorLending* tensor_lending() {
  return lending;
}

void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory) {
  if (lending == nullptr || !lending->make(place, view, memory)) return;
  view.native = place;
  view.native_library = lending->library;
}

void destroy_native(const void* native) {
  if (native != nullptr) lending->destroy(const_cast<void*>(native));
}

}  // namespace loupe::check
