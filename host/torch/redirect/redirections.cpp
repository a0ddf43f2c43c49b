#include "torch/redirect/redirections.h"

#include <algorithm>
#include <cerrno>

#include <loupe/abi.h>

#include "core/log.h"

namespace loupe {

Redirections& Redirections::instance() {
  static auto* redirections = new Redirections();  // taps may outlive static destruction
  return *redirections;
}

void Redirections::declare(const std::string& symbol, void* tap, bool everywhere) {
  const std::lock_guard lock(mutex_);
  if (symbol.empty() || !declared_.insert_or_assign(symbol, DeclaredTap{tap, everywhere}).second) return;
  slots_.clear();
  searched_.clear();
  libraries_ = {};
}

void Redirections::know_libtorch(const void* address) {
  const std::lock_guard lock(mutex_);
  libtorch_.push_back(address);
}

void Redirections::hold() {
  follow_libraries(/*more_holders=*/1);
}

void Redirections::follow_libraries(int more_holders) {
  std::string refusal;
  {
    const std::lock_guard lock(mutex_);
    const bool is_first = holders_ == 0 && more_holders > 0;
    holders_ += more_holders;
    if (is_first || (holders_ > 0 && !(library_changes() == libraries_))) refusal = find_and_write();
  }
  if (!refusal.empty()) log(LOUPE_LOG_WARNING, refusal);
}

/// Returns a warning about slots that could not be written, for logging without a lock.
std::string Redirections::find_and_write() {
  const LibraryChanges now = library_changes();
  if (!(now == libraries_)) {
    std::vector<std::string> symbols;
    for (const auto& [symbol, declared] : declared_) symbols.push_back(symbol);
    // Another library may have been loaded at the address of an unloaded one.
    if (now.unloaded != libraries_.unloaded) {
      slots_.clear();
      searched_.clear();
    }
    for (auto& [symbol, slots] : find_slots(symbols, libtorch_, &searched_))
      slots_[symbol].insert(slots_[symbol].end(), slots.begin(), slots.end());
    libraries_ = now;
  }
  return write_slots();
}

std::string Redirections::write_slots() {
  PointerWriter writer;
  int why = 0;
  reached_.clear();
  refused_.clear();
  for (const auto& [symbol, slots] : slots_) {
    const DeclaredTap& declared = declared_.at(symbol);
    for (const Slot& slot : slots) {
      if (slot.in_libtorch && !declared.everywhere) continue;
      if (*slot.address != declared.tap) {
        void* original = *slot.address;
        if (!writer.write(slot.address, declared.tap)) {
          why = errno;
          refused_.insert(symbol);
          continue;
        }
        written_.push_back({slot.address, original, declared.tap});
      }
      reached_.insert(symbol);
    }
  }
  if (refused_.empty() || std::exchange(told_of_refusal_, true)) return "";
  return "the system refuses to redirect calls of " + std::to_string(refused_.size()) +
         " functions of LibTorch's (mprotect: " + std::strerror(why) +
         "): activation functions and modules called there are not seen; declare your modules as loupe::Tapped, or run "
         "where memory may be made writable";
}

void Redirections::release() {
  const std::lock_guard lock(mutex_);
  if (--holders_ > 0) return;
  PointerWriter writer;
  for (auto it = written_.rbegin(); it != written_.rend(); ++it) {
    // Leave slots that others have redirected after Loupe.
    if (writer.holds(it->address, it->tap)) writer.write(it->address, it->original);
  }
  written_.clear();
}

bool Redirections::redirect_entries(const std::vector<void**>& entries, void* tap) {
  const std::lock_guard lock(mutex_);
  PointerWriter writer;
  bool all = true;
  for (void** entry : entries) {
    const auto known = std::find_if(written_.begin(), written_.end(),
                                    [&](const WrittenPointer& each) { return each.address == entry; });
    if (known != written_.end() && *entry == tap) continue;
    if (known != written_.end()) written_.erase(known);  // a new library at the address of an old one
    void* original = *entry;
    const bool is_written = writer.write(entry, tap);
    if (is_written) written_.push_back({entry, original, tap});
    all = all && is_written;
  }
  return all;
}

bool Redirections::reaches(const std::string& symbol) const {
  const std::lock_guard lock(mutex_);
  return reached_.count(symbol) != 0 && refused_.count(symbol) == 0;
}

bool Redirections::refuses(const std::string& symbol) const {
  const std::lock_guard lock(mutex_);
  return refused_.count(symbol) != 0;
}

std::size_t Redirections::active_count() const {
  const std::lock_guard lock(mutex_);
  return written_.size();
}

}  // namespace loupe
