#ifndef LOUPE_TORCH_REDIRECTIONS_H
#define LOUPE_TORCH_REDIRECTIONS_H

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/slots.h"

namespace loupe {

/// The functions of LibTorch that are redirected to taps, and the slots and vtable entries that were rewritten for it.
/// Nothing is redirected while nobody holds it; releasing writes everything back. Any thread.
class Redirections {
 public:
  static Redirections& instance();

  /// Declares a function and its tap; before the first hold. `everywhere`: also where LibTorch calls it itself.
  void declare(const std::string& symbol, void* tap, bool everywhere);
  /// Redirects what is declared; looks again for slots when libraries came since. Counted.
  void hold();
  void release();
  /// Redirects one entry of a virtual table until the last release; returns what stood there, also when it was done
  /// before.
  void* redirect_entry(void** entry, void* tap);

  /// Whether calls to a symbol can be seen: some object outside LibTorch, or LibTorch itself, calls it through a slot.
  bool reaches(const std::string& symbol) const;
  /// Rewritten slots and entries right now; 0 when detached.
  std::size_t active_count() const;

 private:
  struct Declared {
    void* tap;
    bool everywhere;
  };
  struct Written {
    void** address;
    void* original;
    void* tap;
  };
  void write_slots();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Declared> declared_;
  std::unordered_map<std::string, std::vector<Slot>> slots_;
  std::vector<Written> written_;
  unsigned long long libraries_ = 0;
  int holders_ = 0;
};

}  // namespace loupe

#endif
