#include "torch/taps/forward_streams.h"

#include <boost/container/static_vector.hpp>
#include <list>
#include <utility>

#include "torch/taps/gradient_taps.h"
#include "torch/tensor/tensor_dispatch.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

/// Views of the tensors of one forward, made once somebody reads them.
class ForwardViews : public ForwardTensors {
 public:
  /// @param known  a view of `shown` that is there already
  ForwardViews(const TensorList& inputs, const TensorList& outputs, const ModuleNode& module, const at::Tensor& shown,
               const TorchTensorView& known)
      : inputs_(inputs), outputs_(outputs), module_(module), shown_(shown), known_(known) {}

  void lend(loupe_event& event) override {
    if (!std::exchange(are_made_, true)) {
      make(inputs_, "the inputs", input_views_);
      make(outputs_, "the outputs", output_views_);
    }
    event.inputs = input_views_.data();
    event.input_count = input_views_.size();
    event.outputs = output_views_.data();
    event.output_count = output_views_.size();
  }

 private:
  using Pointers = c10::SmallVector<const loupe_tensor*, 8>;

  void make(const TensorList& tensors, const char* of, Pointers& pointers) {
    for (const at::Tensor* tensor : tensors) {
      if (tensor == &shown_) {
        pointers.push_back(known_.get());
        continue;
      }
      const TorchTensorView& view =
          few_.size() < few_.capacity() ? few_.emplace_back(*tensor) : more_.emplace_back(*tensor);
      if (view.readable()) {
        pointers.push_back(view.get());
      } else {
        tell_unreadable(*tensor, of, module_);
      }
    }
  }

  const TensorList &inputs_, &outputs_;
  const ModuleNode& module_;
  const at::Tensor& shown_;
  const TorchTensorView& known_;
  bool are_made_ = false;
  // Nearly all forwards have few tensors, for which nothing is to be allocated.
  boost::container::static_vector<TorchTensorView, 8> few_;
  std::list<TorchTensorView> more_;
  Pointers input_views_, output_views_;
};

void watch_gradient_of(const TensorList& main, const ResultPoint& point, Stream& stream, uint32_t flags) {
  if (stream.index() >= main.size()) return stream.lacks();
  watch_gradient(*main[stream.index()], point, stream, flags);
}

/// The streams of inputs after the first, and of their gradients.
void enter_further(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_FORWARD_BEFORE) send(*stream, inputs, flags, stream->wants_tensors(), inputs, {});
    if (stream->tap() == LOUPE_TAP_INPUT_GRADIENT) watch_gradient_of(inputs, point, *stream, flags);
  }
}

/// The streams of outputs after the first, and of their gradients.
void leave_further(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  for (Stream* stream : point.further) {
    if (stream->tap() == LOUPE_TAP_FORWARD) send(*stream, outputs, flags, point.wants_tensors, inputs, outputs);
    if (stream->tap() == LOUPE_TAP_OUTPUT_GRADIENT) watch_gradient_of(outputs, point, *stream, flags);
  }
}

}  // namespace

void send(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
          const TensorList& outputs) {
  const uint32_t index = stream.index();
  if (stream.resting()) return;
  if (main.size() <= index) return index > 0 ? stream.lacks() : void();
  const TorchTensorView view(*main[index]);
  if (!view.readable()) return tell_unreadable(*main[index], stream);
  if (!wants_tensors) return stream.dispatch(view.get(), flags);
  ForwardViews tensors(inputs, outputs, stream.module(), *main[index], view);
  stream.dispatch(view.get(), flags, &tensors);
}

void send_attributes(const std::vector<AttributeTap>& attributes, uint32_t flags) {
  for (const AttributeTap& attribute : attributes) {
    if (attribute.stream->resting()) continue;
    at::Tensor value;
    try {
      value = attribute.get();
    } catch (const std::exception& e) {
      attribute.stream->fail("reading '" + attribute.stream->label() + "' failed: " + e.what());
      continue;
    }
    if (value.defined()) {
      dispatch_tensor(attribute.stream, value, flags);
    } else {
      attribute.stream->dispatch(nullptr, flags);
    }
  }
}

void enter_streams(const TapPoint& point, uint32_t flags, const TensorList& inputs) {
  if (!point.attributes_before.empty()) send_attributes(point.attributes_before, flags);
  if (point.before != nullptr) send(*point.before, inputs, flags, point.before->wants_tensors(), inputs, {});
  if (point.input_gradient != nullptr && !inputs.empty())
    watch_gradient(*inputs[0], point, *point.input_gradient, flags);
  if (!point.further.empty()) enter_further(point, flags, inputs);
}

void show_result(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs) {
  if (point.is_awake()) send(*point.forward, outputs, flags, point.reads_tensors(), inputs, outputs);
  if (point.is_simple) return;
  if (point.output_gradient != nullptr && !outputs.empty())
    watch_gradient(*outputs[0], point, *point.output_gradient, flags);
  if (!point.further.empty()) leave_further(point, flags, inputs, outputs);
}

}  // namespace loupe
