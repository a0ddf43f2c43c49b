#pragma once

namespace loupe {

/// Who is told of what programs do as an epoch begins or ends. On the program's threads; neither throws.
struct EpochListener {
  /// Before the sampler of a data loader begins anew, or the program draws a random order. `order` is only to compare
  /// with.
  void (*order_begins)(const void* order, bool is_loader);
  /// Before a scheduler of learning rates steps.
  void (*scheduled)();
};

/// Declares those calls to the redirections: once, before the first hold.
void declare_epoch_taps(const EpochListener& listener);

}  // namespace loupe
