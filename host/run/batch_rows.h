#ifndef LOUPE_RUN_BATCH_ROWS_H
#define LOUPE_RUN_BATCH_ROWS_H

#include <memory>
#include <vector>

#include "run/recurring_rows.h"
#include "torch/listeners/listening.h"

namespace torch::nn {
class Module;
}

namespace loupe {

/// Whether a program's samples begin anew, by the rows of what the layer that runs first is given.
class BatchRows {
 public:
  BatchRows();
  /// Looks at what the model's first layer is given; there may be none whose forward can be seen.
  void add(torch::nn::Module& model);
  /// Before a backward pass: whether the samples begin anew with the batch that went forward last.
  bool begin_anew();
  /// Whether further batches may tell.
  bool looks() const { return rows_.looks(); }
  /// Whether it has told of an epoch, and takes that back by what came later.
  bool has_erred() const { return rows_.has_erred(); }

 private:
  class Listener;
  std::shared_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Listening>> listening_;
  RecurringRows rows_;
};

}  // namespace loupe

#endif
