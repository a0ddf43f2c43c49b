#pragma once

// Two preprocessors; the second gets the tensors of both: Lens::watch_together.

#include <loupe/detail/numbers.h>
#include <loupe/lenses/kept_tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// The first module's tensor, from its event until the second's.
class WaitingTensor {
 public:
  void put(const Host& host, const Event& event) {
    KeptTensor copy(host, *event.tensor().raw());  // the module may write into its output later, as relu_() does
    const std::lock_guard lock(mutex_);
    tensor_.reset();
    tensor_.emplace(std::move(copy));
    step_ = event.step();
  }
  /// Nullopt if the step has none, or another event took it.
  std::optional<KeptTensor> take(uint64_t step) {
    const std::lock_guard lock(mutex_);
    std::optional<KeptTensor> taken = std::move(tensor_);
    tensor_.reset();
    return step == step_ ? std::move(taken) : std::nullopt;
  }

 private:
  std::mutex mutex_;  // the two modules may run on different threads
  std::optional<KeptTensor> tensor_;
  uint64_t step_ = 0;
};

/// @param function  see Lens::watch_together
template <class Function>
std::pair<std::unique_ptr<Preprocessor>, std::unique_ptr<Preprocessor>> together(const Host& host, Request request,
                                                                                 Function function) {
  // A measured event may come without its tensor.
  request.measures = 0;
  request.wants_tensor = true;
  constexpr bool gives_one = std::is_invocable_v<Function&, const TensorView&, const TensorView&>;
  static_assert(gives_one || std::is_invocable_v<Function&, const TensorView&, const TensorView&, Numbers&>,
                "a function takes two loupe::TensorViews and returns a number, or also takes loupe::Numbers&");
  const auto waiting = std::make_shared<WaitingTensor>();
  auto put = [host, waiting](const Event& event) -> std::optional<double> {
    waiting->put(host, event);
    return std::nullopt;
  };
  std::unique_ptr<Preprocessor> of_second;
  if constexpr (gives_one) {
    auto both = [waiting, function](const Event& event) mutable -> std::optional<double> {
      const std::optional<KeptTensor> taken = waiting->take(event.step());
      if (!taken) return std::nullopt;
      return function(TensorView(&taken->view()), event.tensor());
    };
    of_second = preprocessor_of(request, std::move(both));
  } else {
    auto both = [waiting, function](const Event& event, Numbers& numbers) mutable {
      if (const std::optional<KeptTensor> taken = waiting->take(event.step()))
        function(TensorView(&taken->view()), event.tensor(), numbers);
    };
    of_second = preprocessor_of(request, std::move(both));
  }
  return {preprocessor_of(request, std::move(put)), std::move(of_second)};
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
