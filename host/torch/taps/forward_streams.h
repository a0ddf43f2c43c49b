#pragma once

#include <c10/util/SmallVector.h>
#include <torch/nn/utils/rnn.h>

#include <tuple>
#include <vector>

#include "torch/model/tap_point.h"

namespace loupe {

/// The tensors among a forward's arguments or results, in order.
using TensorList = c10::SmallVector<const at::Tensor*, 8>;

inline void collect(TensorList& list, const at::Tensor& tensor) {
  if (tensor.defined()) list.push_back(&tensor);
}
inline void collect(TensorList& list, const torch::nn::utils::rnn::PackedSequence& sequences) {
  collect(list, sequences.data());
}
template <class T>
void collect(TensorList&, const T&) {}
template <class T>
void collect(TensorList& list, const std::vector<T>& values);
template <class... T>
void collect(TensorList& list, const std::tuple<T...>& values);
template <class T>
void collect(TensorList& list, const c10::optional<T>& value) {
  if (value.has_value()) collect(list, *value);
}
template <class T>
void collect(TensorList& list, const std::vector<T>& values) {
  for (const T& value : values) collect(list, value);
}
template <class... T>
void collect(TensorList& list, const std::tuple<T...>& values) {
  std::apply([&](const T&... value) { (collect(list, value), ...); }, values);
}

/// The LOUPE_EVENT_ bits of a forward on this thread.
inline uint32_t event_flags(bool training) {
  uint32_t flags = training ? uint32_t{LOUPE_EVENT_TRAINING} : 0U;
  if (at::GradMode::is_enabled()) flags |= LOUPE_EVENT_GRAD_ENABLED;
  return flags;
}
/// Sends one tensor of `main`, that of the stream's index.
/// @param wants_tensors  whether somebody reads all `inputs` and `outputs` with it
void send(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
          const TensorList& outputs);
void send_attributes(const std::vector<AttributeTap>& attributes, uint32_t flags);
/// Sends a module's inputs and attributes as its forward begins.
void enter_streams(const TapPoint& point, uint32_t flags, const TensorList& inputs);
/// Sends the results of a module or function.
void show_result(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs);

}  // namespace loupe
