#pragma once

#include <loupe/draft/tensor_math.h>
#include <loupe/plugin.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Which of a module's tensors are recorded, as YAML names it.
enum class Moment { forward_pre, forward_input, forward_output, backward_input, backward_output };

struct RecordingSettings {
  Moment moment = Moment::forward_output;
  std::size_t argument = 0;  ///< which of the tensors that a forward takes or gives
  uint32_t passes = LOUPE_PASS_BOTH;
  uint64_t every = 1;            ///< each n-th event
  uint64_t limit = 0;            ///< no more tensors than that; 0 is no limit
  bool sample = false;           ///< the first item of a batch alone
  std::optional<uint32_t> fold;  ///< LOUPE_DRAFT_FOLD_SUM, …: into one tensor; without it all are kept
};

/// What is recorded of one module. Its own preprocessor: the tensors are kept, not measured.
class Recording : public Preprocessor {
 public:
  Recording(const Host& host, const RecordingSettings& settings)
      : host_(host), settings_(settings), samples_(add_series("samples")) {}

  Request request() const override {
    Request request;
    request.passes = settings_.passes;
    request.wants_tensor = true;
    return request;
  }

  void process(const Event& event) override {
    if (seen_++ % settings_.every != 0 || (settings_.limit != 0 && taken_ >= settings_.limit)) return;
    const loupe_tensor* tensor = find(event);
    if (tensor == nullptr) return;
    const bool one_item = settings_.sample && tensor->dim > 0;
    const double samples = one_item || tensor->dim == 0 ? 1.0 : static_cast<double>(tensor->sizes[0]);
    if (one_item && tensor->sizes[0] == 0) return;
    const std::lock_guard lock(mutex_);
    std::optional<KeptTensor> item;
    if (one_item) tensor = &item.emplace(draft::clone_item(host_, *tensor, 0)).view();
    if (settings_.fold && !tensors_.empty()) {
      draft::fold(host_, tensors_[0], *tensor, *settings_.fold, taken_);
    } else if (item) {
      tensors_.push_back(std::move(*item));
    } else {
      tensors_.emplace_back(host_, *tensor);
    }
    ++taken_;
    samples_.push(samples);
  }

  /// A module of which nothing was recorded is an empty list.
  void save(const std::string& file) const {
    const std::lock_guard lock(mutex_);
    draft::save(host_, tensors_, !settings_.fold || tensors_.empty(), file);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    tensors_.clear();
    taken_ = 0;
  }

 private:
  const loupe_tensor* find(const Event& event) const {
    const std::size_t which = settings_.argument;
    switch (settings_.moment) {
      case Moment::forward_pre:
      case Moment::forward_input:
        return which < event.input_count() ? event.input(which).raw() : nullptr;
      case Moment::forward_output:
        return which < event.output_count() ? event.output(which).raw() : nullptr;
      default:
        return event.tensor() ? event.tensor().raw() : nullptr;
    }
  }

  Host host_;
  RecordingSettings settings_;
  Series& samples_;
  mutable std::mutex mutex_;  // a model may run on another thread while the trainer's saves
  std::vector<KeptTensor> tensors_;
  uint64_t seen_ = 0, taken_ = 0;
};

}  // namespace loupe
