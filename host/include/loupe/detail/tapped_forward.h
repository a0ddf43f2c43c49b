#pragma once

// The parts of loupe::Tapped; do not use them directly.

#include <loupe/version.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace loupe::host_detail {

/// Marks a module whose forward calls Loupe itself.
struct LOUPE_API TappedMark {
  virtual ~TappedMark();
};

/// One forward of a marked module while it runs. Never allocates, and does nothing while no inspector watches.
class LOUPE_API TappedForward {
 public:
  explicit TappedForward(const torch::nn::Module* module);
  TappedForward(const TappedForward&) = delete;
  TappedForward& operator=(const TappedForward&) = delete;
  ~TappedForward();

  bool watched() const { return watched_; }
  void input(const at::Tensor& tensor);
  void entered();
  void output(const at::Tensor& tensor);
  void left();

 private:
  struct State;
  State& state();
  alignas(16) unsigned char memory_[384];  // memory of a State, while watched
  bool watched_ = false;
};

template <class T, class = void>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<T, std::void_t<decltype(std::declval<const T&>().has_value(), *std::declval<const T&>())>>
    : std::true_type {};

/// A list of elements other than plain numbers or lists of itself.
template <class T, class = void>
struct IsList : std::false_type {};
template <class T>
struct IsList<T, std::void_t<decltype(std::declval<const T&>().begin() != std::declval<const T&>().end())>> {
  using Element = std::decay_t<decltype(*std::declval<const T&>().begin())>;
  static constexpr bool value = !std::is_arithmetic_v<Element> && !std::is_same_v<Element, T>;
};

template <class T, class = void>
struct IsTuple : std::false_type {};
template <class T>
struct IsTuple<T, std::void_t<decltype(std::tuple_size<T>::value)>> : std::true_type {};

/// Calls `take` with every tensor in a value, in order.
template <class T, class Take>
void each_tensor(const T& value, const Take& take) {
  if constexpr (std::is_base_of_v<at::Tensor, T>) {
    take(value);
  } else if constexpr (IsOptional<T>::value) {
    if (value.has_value()) each_tensor(*value, take);
  } else if constexpr (IsList<T>::value) {
    for (const auto& each : value) each_tensor(each, take);
  } else if constexpr (IsTuple<T>::value) {
    std::apply([&](const auto&... each) { (each_tensor(each, take), ...); }, value);
  }
}

/// Runs a forward between its two taps.
template <class Call, class... Arguments>
auto run_tapped(const torch::nn::Module* module, Call&& call, const Arguments&... arguments)
    -> decltype(std::forward<Call>(call)()) {
  TappedForward tap(module);
  if (!tap.watched()) return std::forward<Call>(call)();
  (each_tensor(arguments, [&](const at::Tensor& tensor) { tap.input(tensor); }), ...);
  tap.entered();
  if constexpr (std::is_void_v<decltype(std::forward<Call>(call)())>) {
    std::forward<Call>(call)();
    tap.left();
  } else {
    decltype(auto) result = std::forward<Call>(call)();
    each_tensor(result, [&](const at::Tensor& tensor) { tap.output(tensor); });
    tap.left();
    return static_cast<decltype(std::forward<Call>(call)())>(result);
  }
}

/// Represents, for a Sequential, a forward without a single signature.
struct ManySignatures;

/// The type of a forward without its class.
template <class Forward>
struct PlainSignature {
  using type = ManySignatures;
};
template <class Class, class Result, bool Noexcept, class... Arguments>
struct PlainSignature<Result (Class::*)(Arguments...) noexcept(Noexcept)> {
  using type = Result(Arguments...) noexcept(Noexcept);
};
template <class Class, class Result, bool Noexcept, class... Arguments>
struct PlainSignature<Result (Class::*)(Arguments...) const noexcept(Noexcept)> {
  using type = Result(Arguments...) const noexcept(Noexcept);
};

template <class Impl, class... Arguments>
auto takes(std::tuple<Arguments...>*)
    -> decltype(std::declval<Impl&>().forward(std::declval<Arguments>()...), std::true_type());
template <class Impl>
std::false_type takes(...);

template <class Tuple, class Indices>
struct First;
template <class Tuple, std::size_t... Index>
struct First<Tuple, std::index_sequence<Index...>> {
  using type = std::tuple<std::tuple_element_t<Index, Tuple>...>;
};

template <class Impl, class... Arguments>
constexpr bool takes_all_but_last() {
  if constexpr (sizeof...(Arguments) == 0) {
    return false;
  } else {
    using Fewer = typename First<std::tuple<Arguments...>, std::make_index_sequence<sizeof...(Arguments) - 1>>::type;
    return decltype(takes<Impl>(static_cast<Fewer*>(nullptr)))::value;
  }
}

/// Whether a forward may be called without its last argument.
template <class Impl, class Signature>
struct HasDefaults : std::false_type {};
template <class Impl, class Result, bool Noexcept, class... Arguments>
struct HasDefaults<Impl, Result(Arguments...) noexcept(Noexcept)>
    : std::bool_constant<takes_all_but_last<Impl, Arguments...>()> {};
template <class Impl, class Result, bool Noexcept, class... Arguments>
struct HasDefaults<Impl, Result(Arguments...) const noexcept(Noexcept)>
    : std::bool_constant<takes_all_but_last<Impl, Arguments...>()> {};

/// Whether FORWARD_HAS_DEFAULT_ARGS declares this for a Sequential.
template <class Impl>
struct TellsDefaults : Impl {
  static constexpr bool value =
      !std::is_same_v<decltype(&TellsDefaults::_forward_has_default_args), bool (torch::nn::Module::*)()>;
};

template <class Impl, class = void>
struct Signature {
  using type = ManySignatures;
};
template <class Impl>
struct Signature<Impl, std::void_t<decltype(&Impl::forward)>> {
  using plain = typename PlainSignature<decltype(&Impl::forward)>::type;
  using type =
      std::conditional_t<HasDefaults<Impl, plain>::value && !TellsDefaults<Impl>::value, ManySignatures, plain>;
};
template <class Impl>
using SignatureOf = typename Signature<Impl>::type;

}  // namespace loupe::host_detail
