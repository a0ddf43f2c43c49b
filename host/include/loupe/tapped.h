#pragma once

#include <loupe/detail/tapped_forward.h>

namespace loupe {

/// Makes the forward of your own module type visible to Loupe if it cannot be redirected: use it for the type itself,
/// as in `TORCH_MODULE_IMPL(Block, loupe::Tapped<BlockImpl>)` or `torch::nn::ModuleHolder<loupe::Tapped<BlockImpl>>`.
/// Constructors and behaviour are Impl's. C++17; the forward may be const, noexcept, overloaded and have default
/// arguments; tensors in vectors, tuples and optionals are seen, too. Calls through `BlockImpl` itself, as in
/// `list[0]->as<BlockImpl>()->forward(x)`, bypass it: write `as<loupe::Tapped<BlockImpl>>()` there.
///
/// A forward with default arguments, or with several overloads, is a template here, which a Sequential does not accept.
/// With FORWARD_HAS_DEFAULT_ARGS a Sequential accepts it, and your own calls must pass every argument.
template <class Impl, class Signature = host_detail::SignatureOf<Impl>>
class Tapped : public Impl, public host_detail::TappedMark {
 public:
  using Impl::Impl;

  template <class... Arguments>
  auto forward(Arguments&&... arguments)
      -> decltype(std::declval<Impl&>().forward(std::forward<Arguments>(arguments)...)) {
    return host_detail::run_tapped(
        this, [&]() -> decltype(auto) { return Impl::forward(std::forward<Arguments>(arguments)...); }, arguments...);
  }
  template <class... Arguments>
  auto forward(Arguments&&... arguments) const
      -> decltype(std::declval<const Impl&>().forward(std::forward<Arguments>(arguments)...)) {
    return host_detail::run_tapped(
        this, [&]() -> decltype(auto) { return Impl::forward(std::forward<Arguments>(arguments)...); }, arguments...);
  }
};

template <class Impl, class Result, bool Noexcept, class... Arguments>
class Tapped<Impl, Result(Arguments...) noexcept(Noexcept)> : public Impl, public host_detail::TappedMark {
 public:
  using Impl::Impl;
  Result forward(Arguments... arguments) noexcept(Noexcept) {
    return host_detail::run_tapped(
        this, [&]() -> Result { return Impl::forward(std::forward<Arguments>(arguments)...); }, arguments...);
  }
};

template <class Impl, class Result, bool Noexcept, class... Arguments>
class Tapped<Impl, Result(Arguments...) const noexcept(Noexcept)> : public Impl, public host_detail::TappedMark {
 public:
  using Impl::Impl;
  Result forward(Arguments... arguments) const noexcept(Noexcept) {
    return host_detail::run_tapped(
        this, [&]() -> Result { return Impl::forward(std::forward<Arguments>(arguments)...); }, arguments...);
  }
};

}  // namespace loupe
