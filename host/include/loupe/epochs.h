#ifndef LOUPE_EPOCHS_H
#define LOUPE_EPOCHS_H

#include "loupe/version.h"

namespace loupe {

class Inspector;

/// What Inspector::epochs returns: `for (int epoch : inspector.epochs(20))` counts from 1 and ticks after each turn.
class LOUPE_API Epochs {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    Iterator(Inspector* inspector, int epoch, int count) : inspector_(inspector), epoch_(epoch), count_(count) {}
    int operator*() const { return epoch_; }
    LOUPE_API Iterator& operator++();
    bool operator!=(Sentinel) const { return epoch_ <= count_; }

   private:
    Inspector* inspector_;
    int epoch_;
    int count_;
  };

  Epochs(Inspector* inspector, int count) : inspector_(inspector), count_(count) {}
  Iterator begin() const { return {inspector_, 1, count_}; }
  Sentinel end() const { return {}; }

 private:
  Inspector* inspector_;
  int count_;
};

}  // namespace loupe

#endif
