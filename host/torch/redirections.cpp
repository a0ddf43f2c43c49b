#include "torch/redirections.h"

#include <algorithm>

namespace loupe {

Redirections& Redirections::instance() {
  static auto* redirections = new Redirections();  // taps may outlive static destruction
  return *redirections;
}

void Redirections::declare(const std::string& symbol, void* tap, bool everywhere) {
  const std::lock_guard lock(mutex_);
  if (!symbol.empty()) declared_[symbol] = {tap, everywhere};
}

void Redirections::hold() {
  const std::lock_guard lock(mutex_);
  ++holders_;
  const unsigned long long now = library_changes();
  if (now != libraries_) {
    std::vector<std::string> symbols;
    for (const auto& [symbol, declared] : declared_) symbols.push_back(symbol);
    slots_ = find_slots(symbols);
    libraries_ = now;
  } else if (holders_ > 1) {
    return;
  }
  write_slots();
}

void Redirections::write_slots() {
  PointerWriter writer;
  for (const auto& [symbol, slots] : slots_) {
    const Declared& declared = declared_.at(symbol);
    for (const Slot& slot : slots) {
      if ((slot.in_libtorch && !declared.everywhere) || *slot.address == declared.tap) continue;
      void* original = *slot.address;
      if (writer.write(slot.address, declared.tap)) written_.push_back({slot.address, original, declared.tap});
    }
  }
}

void Redirections::release() {
  const std::lock_guard lock(mutex_);
  if (--holders_ > 0) return;
  PointerWriter writer;
  for (auto it = written_.rbegin(); it != written_.rend(); ++it) {
    // Whoever redirected after Loupe keeps its slot.
    if (writer.holds(it->address, it->tap)) writer.write(it->address, it->original);
  }
  written_.clear();
}

void* Redirections::redirect_entry(void** entry, void* tap) {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(written_.begin(), written_.end(), [&](const Written& each) { return each.address == entry; });
  if (known != written_.end() && *entry == tap) return known->original;
  if (known != written_.end()) written_.erase(known);  // a library that came where another had been
  void* original = *entry;
  PointerWriter writer;
  if (writer.write(entry, tap)) written_.push_back({entry, original, tap});
  return original;
}

bool Redirections::reaches(const std::string& symbol) const {
  const std::lock_guard lock(mutex_);
  return slots_.count(symbol) != 0;
}

std::size_t Redirections::active_count() const {
  const std::lock_guard lock(mutex_);
  return written_.size();
}

}  // namespace loupe
