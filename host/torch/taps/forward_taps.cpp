// Every forward that LibTorch exports, with the tap that its calls are redirected to.

#include <ATen/Operators.h>

#include <algorithm>
#include <atomic>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loupe/tapped.h"
#include "torch/model/module_types.h"
#include "torch/model/program_hooks.h"
#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"
#include "torch/taps/forward_list.h"
#include "torch/taps/forward_scope.h"
#include "torch/taps/norm_taps.h"

namespace loupe {
namespace {

template <auto Forward>
struct ForwardTap;

// A free function whose first parameter is the object is called like a member function (Itanium C++ ABI), also where
// the result is returned through memory.
template <class Class, class Result, class... Arguments, Result (Class::*Forward)(Arguments...)>
struct ForwardTap<Forward> {
  using Function = Result (*)(Class*, Arguments...);
  // Written before the first redirection, by whichever thread attaches first, and read by those that run models.
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

  static void* address() {
    // A pointer to a non-virtual member begins with the function's address (Itanium C++ ABI).
    const auto member = Forward;
    void* address = nullptr;
    std::memcpy(&address, &member, sizeof address);
    return address;
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
  /// By the type itself, or by a base of it when the type is the user's own.
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
    void* address = Tap::address();
    typename Tap::Function function = nullptr;
    std::memcpy(&function, &address, sizeof address);
    Tap::real_function.store(function, std::memory_order_release);
    const std::string symbol = symbol_of(address);
    Redirections::instance().declare(symbol, reinterpret_cast<void*>(&Tap::tap), true);
    const auto [known, is_new] = known_.try_emplace(std::type_index(typeid(Type)), KnownForward{{}, opaque});
    if (!symbol.empty()) known->second.symbols.push_back(symbol);
    if (!is_new) return;
    bases_.emplace_back([](const torch::nn::Module& module) { return dynamic_cast<const Type*>(&module) != nullptr; },
                        std::type_index(typeid(Type)));
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

/// What a program does that may have Loupe compiled into it.
std::string remedy(const torch::nn::Module& module) {
  const bool is_only_watched = program_hooks.load(std::memory_order_relaxed) != nullptr;
  return is_only_watched ? "" : "; use loupe::Tapped<" + module.name() + ">";
}

}  // namespace

void declare_forward_taps() {
  ForwardTable::instance();
  declare_norm_taps();
  // One thing that each of LibTorch's two libraries holds, which a program seldom takes the address of itself.
  Redirections::instance().know_libtorch(ForwardTap<&torch::nn::LinearImpl::forward>::address());
  Redirections::instance().know_libtorch(reinterpret_cast<const void*>(&at::_ops::relu::call));
  Redirections::instance().know_libtorch(reinterpret_cast<const void*>(&c10::GradMode::is_enabled));
  Redirections::instance().know_libtorch(&typeid(c10::TensorImpl));
}

Reach reach_of(const torch::nn::Module& module, bool redirect) {
  if (const auto* script = dynamic_cast<const KnowsItsReach*>(&module)) {
    if (redirect) return script->reach;
    Reach reach = script->reach;
    reach.tapped = false;
    reach.reason = "taps: explicit is set, and what TorchScript computes can only be listened to; use taps: auto";
    return reach;
  }
  Reach reach;
  reach.container = !module.children().empty();
  if (dynamic_cast<const host_detail::TappedMark*>(&module) != nullptr) {
    reach.tapped = true;
    return reach;
  }
  const KnownForward* known = ForwardTable::instance().find(module);
  reach.perhaps = module.name().compare(0, 11, "torch::nn::") != 0;  // found by its base
  const bool is_norm = is_tappable_norm(module);
  reach.opaque = (known != nullptr && known->opaque) || is_norm;
  const bool refused = known != nullptr &&
                       known->any([](const std::string& symbol) { return Redirections::instance().refuses(symbol); });
  if (!redirect) {
    reach.reason = "taps: explicit is set; use loupe::Tapped, or taps: auto";
  } else if (is_norm) {
    reach.tapped = tap_norm(module);
    if (!reach.tapped) reach.reason = "the system refuses to redirect the calls of its forward" + remedy(module);
  } else if (refused) {
    reach.reason = "the system refuses to redirect the calls of its forward" + remedy(module);
  } else if (known == nullptr) {
    reach.reason = "its forward is compiled into the program" + remedy(module);
  } else if (!known->any([](const std::string& symbol) { return Redirections::instance().reaches(symbol); })) {
    reach.reason = "no call of its forward can be redirected here (is LibTorch linked statically?)" + remedy(module);
  } else {
    reach.tapped = true;
  }
  return reach;
}

}  // namespace loupe
