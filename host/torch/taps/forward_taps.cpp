#include "torch/taps/forward_taps.h"

#include <ATen/Operators.h>
#include <torch/nn.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <tuple>
#include <typeindex>
#include <utility>

#include "core/forks.h"
#include "core/threads.h"
#include "loupe/tapped.h"
#include "torch/model/module_types.h"
#include "torch/model/point_maker.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/redirect/symbols.h"
#include "torch/taps/forward_scope.h"
#include "torch/taps/tap_lists.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

// The forward's scope is open between its two calls, on the thread that runs it.
std::optional<ForwardScope>& open_norm() {
  return ThreadOwn<std::optional<ForwardScope>>::get();
}

template <class Norm>
struct CheckTap {
  struct Access : Norm {
    // The check is protected; a derived class may name it.
    static auto check() { return &Access::_check_input_dim; }
  };
  using Check = void (*)(Norm*, const at::Tensor&);

  static inline auto& originals = *new VirtualOriginals<Check>();  // taps may outlive static destruction

  static void tap(Norm* self, const at::Tensor& input) {
    originals.of(self)(self, input);  // may throw for a wrong input, so it comes first
    close_stale_norm();
    if (active_attachments.load(std::memory_order_relaxed) == 0) return;
    std::optional<ForwardScope>& norm = open_norm();
    norm.emplace(self, LOUPE_CALL_SITE);
    if (!norm->watched()) return norm.reset();
    ThreadState& state = thread_state();
    state.pending_norm = self;
    state.pending_input = input.unsafeGetTensorImpl();
    norm->enter(input);
  }

  static bool redirect(const Norm& norm) {
    void** const table = *reinterpret_cast<void** const*>(&norm);
    void** const entry = virtual_entry(&norm, Access::check());
    originals.keep(table, entry, &tap);
    return Redirections::instance().redirect_entries({entry}, reinterpret_cast<void*>(&tap));
  }
};

template <class Operator, class Signature = decltype(&Operator::call)>
struct OperatorTap;

template <class Operator, class... Arguments>
struct OperatorTap<Operator, at::Tensor (*)(const at::Tensor&, Arguments...)> {
  static at::Tensor tap(const at::Tensor& input, Arguments... arguments) {
    ThreadState& state = thread_state();
    const bool ours = state.pending_norm != nullptr && state.pending_input == input.unsafeGetTensorImpl();
    if (!ours) return Operator::call(input, std::forward<Arguments>(arguments)...);
    state.pending_norm = nullptr;
    struct End {
      ~End() { open_norm().reset(); }
    } const end;
    at::Tensor result = Operator::call(input, std::forward<Arguments>(arguments)...);
    open_norm()->leave(result);
    return result;
  }
};

template <class Operator>
const std::string& operator_symbol() {
  static const auto& symbol = *new std::string(symbol_of(reinterpret_cast<const void*>(&Operator::call)));
  return symbol;
}

template <class Operator>
void declare_operator() {
  Redirections::instance().declare(operator_symbol<Operator>(), reinterpret_cast<void*>(&OperatorTap<Operator>::tap),
                                   false);
}

template <class Norm, class Operator>
bool redirect_if(const torch::nn::Module& module) {
  const auto* norm = dynamic_cast<const Norm*>(&module);
  if (norm == nullptr) return false;
  return Redirections::instance().reaches(operator_symbol<Operator>()) && CheckTap<Norm>::redirect(*norm);
}

template <class... Norms>
bool is_any(const torch::nn::Module& module) {
  return (... || (dynamic_cast<const Norms*>(&module) != nullptr));
}

/// Batch and instance normalization: their forward is a template that is compiled into the program, so it is seen by
/// the two calls that it makes into LibTorch: the virtual check of the input's dimensions, and the operator.
bool is_tappable_norm(const torch::nn::Module& module) {
  using namespace torch::nn;
  return is_any<BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl, InstanceNorm1dImpl, InstanceNorm2dImpl,
                InstanceNorm3dImpl>(module);
}

/// Redirects the check in the virtual table of a module's type; under a hold of the redirections. False where one of
/// the two calls cannot be redirected.
bool tap_norm(const torch::nn::Module& module) {
  using namespace torch::nn;
  using at::_ops::batch_norm;
  using at::_ops::instance_norm;
  return redirect_if<BatchNorm1dImpl, batch_norm>(module) || redirect_if<BatchNorm2dImpl, batch_norm>(module) ||
         redirect_if<BatchNorm3dImpl, batch_norm>(module) || redirect_if<InstanceNorm1dImpl, instance_norm>(module) ||
         redirect_if<InstanceNorm2dImpl, instance_norm>(module) ||
         redirect_if<InstanceNorm3dImpl, instance_norm>(module);
}

}  // namespace

void close_stale_norm() {
  ThreadState& state = thread_state();
  if (state.pending_norm == nullptr) return;
  state.pending_norm = nullptr;
  open_norm().reset();
}

namespace {

using torch::nn::AnyModule;
using torch::nn::AnyModulePlaceholder;
using torch::nn::AnyValue;

/// The content of an AnyModule is private; naming a private member is allowed where a template is instantiated.
std::unique_ptr<AnyModulePlaceholder>& content_of(AnyModule& module);
template <std::unique_ptr<AnyModulePlaceholder> AnyModule::*Member>
struct Content {
  friend std::unique_ptr<AnyModulePlaceholder>& content_of(AnyModule& module) { return module.*Member; }
};
template struct Content<&AnyModule::content_>;

using Forward = AnyValue (*)(AnyModulePlaceholder*, std::vector<AnyValue>&&);

VirtualOriginals<Forward>& originals() {
  static auto* originals = new VirtualOriginals<Forward>();  // a model may run during static destruction
  return *originals;
}

template <class... Types, class Take>
void each_tensor_of_any(AnyValue& value, const Take& take) {
  const auto look = [&](auto* held) {
    if (held != nullptr) host_detail::each_tensor(*held, take);
  };
  (look(value.try_get<Types>()), ...);
}

template <class Take>
void each_tensor(AnyValue& value, const Take& take) {
  using Tensor = at::Tensor;
  using Pair = std::tuple<Tensor, Tensor>;
  each_tensor_of_any<Tensor, std::vector<Tensor>, c10::optional<Tensor>, Pair, std::tuple<Tensor, Tensor, Tensor>,
                     std::tuple<Tensor, Pair>>(value, take);
}

AnyValue tap(AnyModulePlaceholder* self, std::vector<AnyValue>&& arguments) {
  const Forward original = originals().of(self);
  if (active_attachments.load(std::memory_order_relaxed) == 0) return original(self, std::move(arguments));
  const std::shared_ptr<torch::nn::Module> module = self->ptr();
  host_detail::TappedForward tapped(module.get());
  if (!tapped.watched()) return original(self, std::move(arguments));
  for (AnyValue& argument : arguments) each_tensor(argument, [&](const at::Tensor& tensor) { tapped.input(tensor); });
  tapped.entered();
  AnyValue result = original(self, std::move(arguments));
  each_tensor(result, [&](const at::Tensor& tensor) { tapped.output(tensor); });
  tapped.left();
  return result;
}

}  // namespace

SequentialTaps::SequentialTaps(const std::vector<FoundModule>& model) {
  for (const FoundModule& found : model) {
    auto* sequential = dynamic_cast<torch::nn::SequentialImpl*>(found.module);
    if (sequential == nullptr) continue;
    for (AnyModule& child : *sequential) {
      if (!child.is_empty()) children_.emplace(child.ptr().get(), content_of(child).get());
    }
  }
}

bool SequentialTaps::reach(const torch::nn::Module& child) const {
  const auto found = children_.find(&child);
  if (found == children_.end()) return false;
  void** const entry = virtual_entry(found->second, &AnyModulePlaceholder::forward);
  originals().keep(*reinterpret_cast<void***>(found->second), entry, &tap);
  return Redirections::instance().redirect_entries({entry}, reinterpret_cast<void*>(&tap));
}

namespace {

template <auto Forward>
struct ForwardTap;

// A free function whose first parameter is the object is called like a member function (Itanium C++ ABI), even if the
// result is returned through memory.
template <class Class, class Result, class... Arguments, Result (Class::*Forward)(Arguments...)>
struct ForwardTap<Forward> {
  using Function = Result (*)(Class*, Arguments...);
  // Written before the first redirection, by the thread that attaches first, and read by threads that run models.
  static inline std::atomic<Function> real_function{nullptr};

  static Result tap(Class* self, Arguments... arguments) {
    const Function real = real_function.load(std::memory_order_acquire);
    if (active_attachments.load(std::memory_order_relaxed) == 0)
      return real(self, std::forward<Arguments>(arguments)...);
    ForwardScope scope(self, LOUPE_CALL_SITE);
    scope.enter(arguments...);
    Result result = real(self, std::forward<Arguments>(arguments)...);
    scope.leave(result);
    return result;
  }
};

struct KnownForward {
  std::vector<std::string> symbols;
  bool opaque;  // a leaf

  template <class Call>
  bool any(Call&& call) const {
    return std::any_of(symbols.begin(), symbols.end(), std::forward<Call>(call));
  }
};

class ForwardTable {
 public:
  static const ForwardTable& instance() {
    static const auto& table = *new ForwardTable();  // taps may outlive static destruction
    return table;
  }
  /// Finds the forward by the type itself, or by a base if the type is the user's own.
  const KnownForward* find(const torch::nn::Module& module) const {
    const auto found = known_.find(std::type_index(typeid(module)));
    if (found != known_.end()) return &found->second;
    for (const auto& [is_base, type] : bases_) {
      if (is_base(module)) return &known_.at(type);
    }
    return nullptr;
  }

 private:
  template <class Type, auto Forward>
  void add(bool opaque) {
    using Tap = ForwardTap<Forward>;
    void* address = member_address(Forward);
    typename Tap::Function function = nullptr;
    std::memcpy(&function, &address, sizeof address);
    Tap::real_function.store(function, std::memory_order_release);
    add(typeid(Type), &is_any<Type>, address, reinterpret_cast<void*>(&Tap::tap), opaque);
  }
  /// The part that does not depend on the type, compiled once for all.
  void add(const std::type_info& type, bool (*is)(const torch::nn::Module&), void* forward, void* tap, bool opaque) {
    const std::string symbol = symbol_of(forward);
    Redirections::instance().declare(symbol, tap, true);
    const auto [known, is_new] = known_.try_emplace(std::type_index(type), KnownForward{{}, opaque});
    if (!symbol.empty()) known->second.symbols.push_back(symbol);
    if (is_new) bases_.emplace_back(is, std::type_index(type));
  }

  ForwardTable();

  std::unordered_map<std::type_index, KnownForward> known_;
  std::vector<std::pair<bool (*)(const torch::nn::Module&), std::type_index>> bases_;
};

ForwardTable::ForwardTable() {
#define LOUPE_LEAF(TYPE) add<torch::nn::TYPE##Impl, &torch::nn::TYPE##Impl::forward>(true);
#define LOUPE_INNER(TYPE) add<torch::nn::TYPE##Impl, &torch::nn::TYPE##Impl::forward>(false);
  LOUPE_LEAVES(LOUPE_LEAF)
  LOUPE_LEAVES_SINCE(LOUPE_LEAF)
  LOUPE_INNERS(LOUPE_INNER)
#define LOUPE_OF_PACKED(TYPE) add<torch::nn::TYPE##Impl, &torch::nn::TYPE##Impl::forward_with_packed_input>(true);
  LOUPE_PACKED(LOUPE_OF_PACKED)
}

/// The remedy for a program that may have Loupe compiled into it.
std::string remedy(const torch::nn::Module& module) {
  return is_only_watched() ? "" : "; use loupe::Tapped<" + module.name() + ">";
}

}  // namespace

void declare_forward_taps() {
  ForwardTable::instance();
  declare_operator<at::_ops::batch_norm>();
  declare_operator<at::_ops::instance_norm>();
  // Functions and data of both of LibTorch's libraries whose addresses few programs take themselves.
  Redirections::instance().know_libtorch(member_address(&torch::nn::LinearImpl::forward));
  Redirections::instance().know_libtorch(reinterpret_cast<const void*>(&at::_ops::relu::call));
  Redirections::instance().know_libtorch(reinterpret_cast<const void*>(&c10::GradMode::is_enabled));
  Redirections::instance().know_libtorch(&typeid(c10::TensorImpl));
}

Visibility visibility_of(const torch::nn::Module& module, bool redirect) {
  if (const auto* script = dynamic_cast<const HasVisibility*>(&module)) {
    if (redirect) return script->visibility;
    Visibility visibility = script->visibility;
    visibility.tapped = false;
    visibility.reason = "taps: explicit is set, but TorchScript can only be watched with taps: auto; use that";
    return visibility;
  }
  Visibility visibility;
  visibility.container = !module.children().empty();
  if (dynamic_cast<const host_detail::TappedMark*>(&module) != nullptr) {
    visibility.tapped = true;
    return visibility;
  }
  const KnownForward* known = ForwardTable::instance().find(module);
  visibility.perhaps = module.name().compare(0, 11, "torch::nn::") != 0;  // it was found by its base
  const bool is_norm = is_tappable_norm(module);
  visibility.opaque = (known != nullptr && known->opaque) || is_norm;
  const bool refused = known != nullptr &&
                       known->any([](const std::string& symbol) { return Redirections::instance().refuses(symbol); });
  if (!redirect) {
    visibility.reason = "taps: explicit is set; use loupe::Tapped, or taps: auto";
  } else if (is_norm) {
    visibility.tapped = tap_norm(module);
    if (!visibility.tapped)
      visibility.reason = "the system refuses to redirect the calls of its forward" + remedy(module);
  } else if (refused) {
    visibility.reason = "the system refuses to redirect the calls of its forward" + remedy(module);
  } else if (known == nullptr) {
    visibility.reason = "its forward is compiled into the program" + remedy(module);
  } else if (!known->any([](const std::string& symbol) { return Redirections::instance().reaches(symbol); })) {
    visibility.reason =
        "no call of its forward can be redirected here (is LibTorch linked statically?)" + remedy(module);
  } else {
    visibility.tapped = true;
  }
  return visibility;
}

}  // namespace loupe
