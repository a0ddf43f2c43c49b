#ifndef LOUPE_TAPPED_H
#define LOUPE_TAPPED_H

#include <torch/nn/module.h>

#include <memory>
#include <utility>

#include "loupe/version.h"

namespace loupe {
namespace detail {

/// Marks a module whose forward tells Loupe by itself.
struct LOUPE_API TappedMark {
  virtual ~TappedMark();
};

/// One forward of a marked module while it runs.
class LOUPE_API TappedForward {
 public:
  explicit TappedForward(torch::nn::Module* module);
  TappedForward(const TappedForward&) = delete;
  TappedForward& operator=(const TappedForward&) = delete;
  ~TappedForward();

  void input(const at::Tensor& tensor);
  template <class T>
  void input(const T&) {}
  void entered();
  void output(const at::Tensor& tensor);
  template <class T>
  void output(const T& value) {
    if constexpr (requires { std::get<0>(value); }) output(std::get<0>(value));
  }
  void left();

 private:
  struct State;
  std::unique_ptr<State> state_;  // null while nobody watches
};

}  // namespace detail

/// A module type of your own whose forward Loupe is to see, where it cannot be redirected: use it for the type itself,
/// as in `TORCH_MODULE_IMPL(Block, loupe::Tapped<BlockImpl>)` or `torch::nn::ModuleHolder<loupe::Tapped<BlockImpl>>`.
/// Constructors and behaviour are Impl's.
template <class Impl, class Signature = decltype(&Impl::forward)>
class Tapped;

template <class Impl, class Class, class Result, class... Arguments>
class Tapped<Impl, Result (Class::*)(Arguments...)> : public Impl, public detail::TappedMark {
 public:
  using Impl::Impl;

  Result forward(Arguments... arguments) {
    detail::TappedForward tap(this);
    (tap.input(arguments), ...);
    tap.entered();
    Result result = Impl::forward(std::forward<Arguments>(arguments)...);
    tap.output(result);
    tap.left();
    return result;
  }
};

}  // namespace loupe

#endif
