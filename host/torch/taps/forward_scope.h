#pragma once

#include <c10/util/SmallVector.h>
#include <torch/nn/utils/rnn.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/own_time.h"
#include "core/shared.h"
#include "core/work.h"
#include "loupe/detail/tapped_forward.h"
#include "torch/model/tap_point.h"
#include "torch/taps/forward_pass.h"

namespace loupe {

/// The tensors among a forward's arguments or results, in order.
using TensorList = c10::SmallVector<const at::Tensor*, 8>;

/// Adds the tensors in a value.
template <class T>
void collect(TensorList& list, const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    if (value.defined()) list.push_back(&value);
  } else if constexpr (std::is_same_v<T, torch::nn::utils::rnn::PackedSequence>) {
    collect(list, value.data());
  } else if constexpr (host_detail::IsOptional<T>::value) {
    if (value.has_value()) collect(list, *value);
  } else if constexpr (host_detail::IsList<T>::value) {
    for (const auto& each : value) collect(list, each);
  } else if constexpr (host_detail::IsTuple<T>::value) {
    std::apply([&](const auto&... each) { (collect(list, each), ...); }, value);
  }
}

/// The LOUPE_EVENT_ bits of a forward on this thread.
inline uint32_t event_flags(bool training) {
  uint32_t flags = training ? uint32_t{LOUPE_EVENT_TRAINING} : 0U;
  if (at::GradMode::is_enabled()) flags |= LOUPE_EVENT_GRAD_ENABLED;
  return flags;
}
/// Sends one tensor of `main`, the one with the stream's index.
/// @param wants_tensors  whether a source also reads all `inputs` and `outputs`
void send(Stream& stream, const TensorList& main, uint32_t flags, bool wants_tensors, const TensorList& inputs,
          const TensorList& outputs);
/// Sends the results of a module or function.
void show_result(const ResultPoint& point, uint32_t flags, const TensorList& inputs, const TensorList& outputs);

/// One forward of one module while it runs. Informs all watchers, also if the forward throws.
class ForwardScope {
 public:
  /// @param site  the call of the forward, if a tap knows it
  LOUPE_SHARED explicit ForwardScope(torch::nn::Module* module, const CallSite& site = {});
  LOUPE_SHARED ~ForwardScope();

  bool watched() const { return entry_ != nullptr; }
  /// Call it before the forward runs.
  template <class... Arguments>
  void enter(const Arguments&... arguments) {
    if (entry_ != nullptr || kind_ != nullptr) {
      TensorList inputs;
      if (wants_inputs()) (collect(inputs, arguments), ...);
      enter_with(inputs);
    }
    if (is_clocked_) begin_time();
  }
  /// Call it after the forward returned.
  template <class Result>
  void leave(const Result& result) {
    if (is_clocked_) end_time();
    if (entry_ == nullptr && kind_ == nullptr) return;
    TensorList outputs;
    collect(outputs, result);
    leave_with(outputs);
  }

  /// The same with the tensors already collected.
  void enter_tensors(const TensorList& inputs) {
    if (entry_ != nullptr) enter_with(inputs);
    if (is_clocked_) begin_time();
  }
  void leave_tensors(const TensorList& outputs) {
    if (is_clocked_) end_time();
    if (entry_ != nullptr) leave_with(outputs);
  }

 private:
  void enter_unregistered();
  void leave_as_function(const TensorList& outputs);
  bool wants_inputs() const;
  LOUPE_SHARED void enter_with(const TensorList& inputs);
  void keep(const TensorList& inputs);
  LOUPE_SHARED void leave_with(const TensorList& outputs);
  LOUPE_SHARED void begin_time();
  LOUPE_SHARED void end_time();
  bool trains() const;

  std::optional<OwnTime> own_{OwnTime::Of::hooks};  // none while the forward itself runs
  torch::nn::Module* module_;
  WorkListener* listener_;  // null if the step is not timed
  bool is_clocked_ = listener_ != nullptr || OwnTime::is_wanted();
  bool runs_ = false, is_timed_ = false;
  CallSite site_;
  ForwardScope* outer_;
  const ModuleEntry* entry_ = nullptr;
  const FunctionKind* kind_ = nullptr;                // the function that an unregistered module counts as
  bool opaque_ = false;                               // functions called inside are not shown
  bool began_ = false;                                // a module inside it ran
  std::array<uint8_t, max_functions> occurrences_{};  // counts of functions before that
  c10::SmallVector<at::Tensor, 2> inputs_;            // kept only if a source reads them after the forward
};

}  // namespace loupe
