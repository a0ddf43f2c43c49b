#include "run/batch_rows.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "torch/tensor/compat.h"

namespace loupe {
namespace {

using Rows = std::vector<std::uint64_t>;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Hashes all elements of each short row, and some at irregular places of a long one.
void hash_rows(const at::Tensor& batch, Rows& rows) {
  constexpr std::int64_t most_rows = 1024;
  constexpr std::size_t most_places = 48;
  rows.clear();
  const bool is_plain =
      batch.defined() && batch.layout() == at::kStrided && batch.device().is_cpu() && batch.is_contiguous();
  if (!is_plain || batch.dim() == 0 || batch.numel() == 0 || batch.size(0) > most_rows) return;
  const auto* data = static_cast<const char*>(const_data(batch));
  if (data == nullptr) return;
  const auto count = static_cast<std::size_t>(batch.size(0)), size = static_cast<std::size_t>(batch.element_size());
  const std::size_t length = static_cast<std::size_t>(batch.numel()) / count;
  std::array<std::size_t, most_places> places{};
  const std::size_t looked_at = std::min(length, most_places);
  for (std::size_t i = 0; i < looked_at; ++i) places[i] = length <= most_places ? i : mixed(i + 1) % length;
  for (std::size_t row = 0; row < count; ++row) {
    const char* const begin = data + row * length * size;
    const auto hash_of = [&](auto bits) {
      std::uint64_t hash = 0;
      for (std::size_t i = 0; i < looked_at; ++i) {
        std::memcpy(&bits, begin + places[i] * size, sizeof bits);
        hash = (std::rotl(hash, 23) ^ bits) * 0x9e3779b97f4a7c15;
      }
      return mixed(hash);
    };
    rows.push_back(size >= 8   ? hash_of(std::uint64_t())
                   : size == 4 ? hash_of(std::uint32_t())
                   : size == 2 ? hash_of(std::uint16_t())
                               : hash_of(std::uint8_t()));
  }
}

}  // namespace

/// Called on the thread that runs the model.
class BatchRows::Listener : public ForwardListener {
 public:
  void entered(torch::nn::Module& module, const at::Tensor* const* inputs, std::size_t count) override {
    if (count == 0 || !c10::GradMode::is_enabled()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    // Inputs of other models are computed from the input of the first one.
    if (first_ == nullptr) first_ = &module;
    if (first_ != &module) return;
    try {
      hash_rows(*inputs[0], rows_);
    } catch (const std::exception&) {  // a tensor without elements, or no memory
      rows_.clear();
    }
  }
  void left(torch::nn::Module&, const at::Tensor* const*, std::size_t, const at::Tensor* const*, std::size_t) override {
  }
  /// Returns the rows of the last batch, and takes the caller's memory for the next.
  void take(Rows& rows) {
    rows.clear();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    first_ = nullptr;
    rows.swap(rows_);
  }

 private:
  std::mutex mutex_;                          // never held while waiting
  const torch::nn::Module* first_ = nullptr;  // the first that ran since the last backward pass; only to compare with
  Rows rows_;                                 // the rows of its last batch
};

BatchRows::BatchRows() : listener_(std::make_shared<Listener>()) {}

void BatchRows::add(torch::nn::Module& model) {
  bool listens = false;
  const auto listen = [&](torch::nn::Module& module) {
    if (listens || !module.children().empty()) return;
    try {
      listening_.push_back(std::make_unique<Listening>(module, listener_));
      listens = true;
    } catch (const std::invalid_argument&) {  // its forward cannot be seen: the next one's may
    }
  };
  listen(model);
  for (const auto& module : model.modules(/*include_self=*/false)) listen(*module);
}

bool BatchRows::begin_anew() {
  listener_->take(batch_);
  return rows_.take(batch_);
}

}  // namespace loupe
