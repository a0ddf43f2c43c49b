#include "torch/taps/sequential_taps.h"

#include <torch/nn.h>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/forks.h"
#include "loupe/tapped.h"
#include "torch/redirect/redirections.h"
#include "torch/redirect/virtual_entry.h"
#include "torch/taps/forward_scope.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

using torch::nn::AnyModule;
using torch::nn::AnyModulePlaceholder;
using torch::nn::AnyValue;

/// What an AnyModule holds is private; naming a private member is allowed where a template is instantiated.
std::unique_ptr<AnyModulePlaceholder>& content_of(AnyModule& module);
template <std::unique_ptr<AnyModulePlaceholder> AnyModule::*Member>
struct Content {
  friend std::unique_ptr<AnyModulePlaceholder>& content_of(AnyModule& module) { return module.*Member; }
};
template struct Content<&AnyModule::content_>;

using Forward = AnyValue (*)(AnyModulePlaceholder*, std::vector<AnyValue>&&);

/// What the virtual tables held before.
struct Originals {
  ProcessMutex mutex;
  std::unordered_map<void**, Forward> of_table;

  static Originals& instance() {
    static auto* originals = new Originals();  // a model may run during static destruction
    return *originals;
  }
};

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
  Forward original = nullptr;
  {
    auto& originals = Originals::instance();
    const std::lock_guard lock(originals.mutex);
    original = originals.of_table.at(*reinterpret_cast<void***>(self));
  }
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
  {
    auto& originals = Originals::instance();
    const std::lock_guard lock(originals.mutex);
    if (*entry != reinterpret_cast<void*>(&tap))
      originals.of_table[*reinterpret_cast<void***>(found->second)] = reinterpret_cast<Forward>(*entry);
  }
  return Redirections::instance().redirect_entry(entry, reinterpret_cast<void*>(&tap));
}

}  // namespace loupe
