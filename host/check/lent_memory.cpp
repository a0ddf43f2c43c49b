#include "check/lent_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace loupe::check {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t capacity = 64 * page;
constexpr std::size_t guarded_capacity = 64 * page;
constexpr int senseless = 0xA5;  // as a pointer it is none

char* map(std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

std::size_t round_up(std::size_t size) {
  return (size + 7) & ~std::size_t{7};
}

}  // namespace

std::optional<LentMemory::Resized> LentMemory::resized_;

LentMemory::LentMemory() : base_(map(capacity)) {}

LentMemory::~LentMemory() {
  ::munmap(base_, capacity);
  for (char* each : guarded_) ::munmap(each, guarded_capacity + page);
}

void* LentMemory::allocate(std::size_t size) {
  if (size > capacity - used_) throw std::bad_alloc();
  void* memory = base_ + used_;
  used_ += round_up(size);
  return memory;
}

const char* LentMemory::text(std::string_view text) {
  auto* memory = static_cast<char*>(allocate(text.size() + 1));
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = '\0';
  return memory;
}

void* LentMemory::guarded(std::size_t size) {
  if (size > guarded_capacity) throw std::bad_alloc();
  if (next_guarded_ == guarded_.size()) {
    guarded_.push_back(map(guarded_capacity + page));
    ::mprotect(guarded_.back() + guarded_capacity, page, PROT_NONE);
  }
  return guarded_[next_guarded_++] + guarded_capacity - size;
}

void* LentMemory::at_the_end(const void* value, std::size_t known, std::size_t size) {
  // `struct_size` itself is always there; and a struct begins where its members may lie.
  const std::size_t there = round_up(std::max(size, sizeof(uint32_t)));
  auto* memory = static_cast<char*>(guarded(there));
  std::memset(memory, senseless, there);
  std::memcpy(memory, value, std::max(std::min(known, size), sizeof(uint32_t)));
  return memory;
}

const void* LentMemory::out_of_reach() {
  static const char* const memory = [] {
    char* mapped = map(guarded_capacity);
    ::mprotect(mapped, guarded_capacity, PROT_NONE);
    return mapped;
  }();
  return memory;
}

void LentMemory::scribble() {
  std::memset(base_, senseless, used_);
  used_ = 0;
  for (std::size_t i = 0; i < next_guarded_; ++i) {
    std::memset(guarded_[i] + guarded_capacity - page, senseless, page);
  }
  next_guarded_ = 0;
}

void LentMemory::take_away() {
  ::mprotect(base_, capacity, PROT_NONE);
  for (char* each : guarded_) ::mprotect(each, guarded_capacity, PROT_NONE);
}

}  // namespace loupe::check
