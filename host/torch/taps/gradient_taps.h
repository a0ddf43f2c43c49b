#pragma once

#include <c10/util/SmallVector.h>

#include <memory>
#include <unordered_map>

#include "core/forks.h"
#include "torch/model/tap_point.h"

namespace torch::autograd {
struct AccumulateGrad;
}

namespace loupe {

/// The watchers of the gradients of leaves: parameters, and inputs that require gradients. Autograd adds up gradients
/// of all leaves in one function, which is redirected, so no hook is ever added to or removed from a graph that another
/// thread's backward pass may be using. Any thread.
class LeafGradients {
 public:
  enum class Part {
    sum,       ///< the leaf's gradient once this pass was added to it
    one_pass,  ///< only the gradient of this pass
  };

  static LeafGradients& instance();

  /// Sees every gradient that is added up in this process, while the redirections are held.
  void redirect();

  /// Sends the leaf's gradients to a stream of the point's. The leaf is not kept alive. False if it is already watched
  /// for this stream; then only `flags` are updated.
  /// @param kept  notes each sum; may be null
  bool watch(const at::Tensor& leaf, const ResultPoint& point, Stream& stream, Part part, uint32_t flags,
             std::shared_ptr<KeptGradient> kept = nullptr);
  /// Ends the watch of one leaf.
  void forget(const at::Tensor& leaf, const Stream& stream);
  /// Ends the watches of all points of one attachment, known by their flag.
  void forget_all(const std::atomic<bool>* active);

 private:
  struct Watch {
    std::shared_ptr<ModuleNode> node;  // the stream lives in it
    std::shared_ptr<const std::atomic<bool>> active;
    Stream* stream;
    Part part;
    uint32_t flags;
    bool redirected;  // false: a separate hook brings the gradient
    std::shared_ptr<KeptGradient> kept;
  };
  /// The watches of a leaf. They never change, so an event needs only one pointer.
  using Watches = c10::SmallVector<std::shared_ptr<const Watch>, 2>;
  struct Leaf {
    WeakTensor tensor;
    Watches watches;
  };

  static torch::autograd::variable_list tap(torch::autograd::AccumulateGrad* self,
                                            torch::autograd::variable_list&& gradients);
  bool of(const at::Tensor& leaf, Watches& found) const;
  void drop_dead_leaves();

  mutable ProcessMutex mutex_;
  ForkWatch forks_;
  std::unordered_map<const c10::TensorImpl*, Leaf> leaves_;
  std::size_t sweep_at_ = 64;
};

/// Sends the gradient of an input or output of a forward to a stream of the point's, once it is known: once per
/// backward pass, for any number of uses. May run on autograd's threads.
void watch_gradient(const at::Tensor& tensor, const ResultPoint& point, Stream& stream, uint32_t flags);

/// Sends the gradients of a point's parameters to their streams, as they are summed up.
void watch_parameters(TapPoint& point);
/// Restores the hooks that a parameter lost when it was moved or unfrozen; without redirections.
void keep_hooks(TapPoint& point);

}  // namespace loupe
