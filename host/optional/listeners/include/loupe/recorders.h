#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loupe/version.h"

namespace torch::nn {
class Module;
}

/// Programs that use this header link loupe::listeners.
namespace loupe::recorders {

/// The recorded part of a tensor.
enum class Keep {
  batch,  ///< all of it
  sample  ///< the first item along dimension 0
};

struct Settings {
  std::function<bool()> condition = {};  ///< whether to record this time; by default always
  /// Reduces the recorded tensor and the next one to one; by default all tensors are kept.
  std::function<at::Tensor(const at::Tensor& recorded, const at::Tensor& comes)> reduction = {};
  Keep keep = Keep::batch;
  std::size_t argument = 0;  ///< the index of the tensor, if a forward has several
};

/// Selects modules of a model: those that match all given members.
struct Select {
  std::vector<std::string> types = {};    ///< "Linear" or "torch::nn::LinearImpl"
  std::vector<std::size_t> indices = {};  ///< positions in model.children() or model.modules()
};

/// Records tensors that pass through modules, without an inspector. Records are copies. Each module that was registered
/// has an index, in the order of registration:
///
///     loupe::recorders::ForwardPre recorder({.reduction = [](auto& a, auto& b) { return a + b; }});
///     recorder.children(*model, {.indices = {2, 3}});
///     // train as always
///     recorder.save("analysis", true);
///
/// Register, read and change on the trainer's thread, not while the model runs. A function of the settings that throws
/// throws into the model's forward or backward.
class LOUPE_API Recorder {
 public:
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  /// Ends the recording.
  ~Recorder();

  /// Registers the model's children, or the model and all modules in it. Skips containers unless they are selected.
  /// Throws std::invalid_argument for a module whose forward cannot be seen, for an index beyond the last, and if
  /// nothing matches; then none of them is registered.
  Recorder& children(torch::nn::Module& model, const Select& which = {});
  Recorder& modules(torch::nn::Module& model, const Select& which = {});

  std::size_t size() const;
  /// The recorded tensors of one module: with a reduction one or none. Throws std::out_of_range.
  const std::vector<at::Tensor>& operator[](std::size_t index) const;
  /// The same for all modules.
  std::vector<std::vector<at::Tensor>> data() const;
  /// The number of recorded samples of one module, and of each.
  std::size_t samples(std::size_t index) const;
  std::vector<std::size_t> iter_samples() const;
  /// Ends the recording of one module and returns its tensors; later modules move up.
  std::vector<at::Tensor> remove(std::size_t index);
  /// Replaces every tensor by function(tensor); the second form also passes the number of samples of its module.
  void apply(const std::function<at::Tensor(const at::Tensor&)>& function);
  void apply_sample(const std::function<at::Tensor(const at::Tensor&, std::size_t samples)>& function);
  /// Writes 0.pt, 1.pt, … into a folder, one per module, for C++'s torch::load and Python's torch.load: one tensor with
  /// a reduction, else a list of tensors, which is empty if nothing was recorded.
  /// @param mkdir  create the folder if it is missing. Throws std::runtime_error when a file cannot be written.
  void save(const std::filesystem::path& directory, bool mkdir = false) const;

  class Iterator {
   public:
    Iterator(const Recorder* recorder, std::size_t index) : recorder_(recorder), index_(index) {}
    const std::vector<at::Tensor>& operator*() const { return (*recorder_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Recorder* recorder_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  class Impl;

 protected:
  enum class Moment { forward_pre, forward_input, forward_output, backward_input, backward_output };
  Recorder(Moment moment, Settings settings);

 private:
  std::unique_ptr<Impl> impl_;
};

/// The input as the forward is entered.
class LOUPE_API ForwardPre : public Recorder {
 public:
  explicit ForwardPre(Settings settings = {}) : Recorder(Moment::forward_pre, std::move(settings)) {}
};
/// The input after the forward, changed if the module works in place.
class LOUPE_API ForwardInput : public Recorder {
 public:
  explicit ForwardInput(Settings settings = {}) : Recorder(Moment::forward_input, std::move(settings)) {}
};
/// The output of the forward.
class LOUPE_API ForwardOutput : public Recorder {
 public:
  explicit ForwardOutput(Settings settings = {}) : Recorder(Moment::forward_output, std::move(settings)) {}
};
/// The gradient of the input, if it has one.
class LOUPE_API BackwardInput : public Recorder {
 public:
  explicit BackwardInput(Settings settings = {}) : Recorder(Moment::backward_input, std::move(settings)) {}
};
/// The gradient of the output.
class LOUPE_API BackwardOutput : public Recorder {
 public:
  explicit BackwardOutput(Settings settings = {}) : Recorder(Moment::backward_output, std::move(settings)) {}
};

}  // namespace loupe::recorders
