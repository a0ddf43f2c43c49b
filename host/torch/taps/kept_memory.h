#pragma once

#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <unordered_map>
#include <vector>

namespace at {
class RecordFunction;
}

namespace loupe {

/// What the operators of one forward pass make, and which layer's they are. One thread.
class KeptMemory {
 public:
  /// The memory of what an operator is given.
  using Inputs = c10::SmallVector<const c10::StorageImpl*, 6>;
  /// As it starts, which is when they may be asked for.
  static Inputs inputs_of(const at::RecordFunction& operation);
  /// An operator of a layer, or of none, -1, ran. What shares its memory with an input is nothing new.
  void note(const at::RecordFunction& operation, const Inputs& inputs, int layer);
  /// Bytes of what is still there: of layer -1, and of each of the others. Begins anew.
  std::vector<double> take();

 private:
  struct Made {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int layer;
  };
  std::unordered_map<const c10::StorageImpl*, Made> made_;
};

}  // namespace loupe
