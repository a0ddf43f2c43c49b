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

namespace loupe::recorders {

/// What of a tensor is recorded.
enum class Keep {
  batch,  ///< all of it
  sample  ///< the first item along dimension 0
};

struct Settings {
  std::function<bool()> condition = {};  ///< whether to record this time; without it always
  /// Folds what was recorded and what comes into one tensor; without it all tensors are kept.
  std::function<at::Tensor(const at::Tensor& recorded, const at::Tensor& comes)> reduction = {};
  Keep keep = Keep::batch;
  std::size_t argument = 0;  ///< which of a forward's tensors, where it takes or gives several
};

/// Which of a model's modules are recorded: those that fit all that is given.
struct Select {
  std::vector<std::string> types = {};    ///< "Linear" or "torch::nn::LinearImpl"
  std::vector<std::size_t> indices = {};  ///< positions in model.children() or model.modules()
};

/// Records tensors that pass through modules, without an inspector. What is recorded is a copy. Each module that was
/// registered has an index, in the order of registration:
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
  /// The modules are recorded no longer.
  ~Recorder();

  /// Registers the model's children, or the model and all modules in it. Containers are passed over unless they are
  /// asked for. Throws std::invalid_argument for a module whose forward cannot be seen, for an index beyond the last,
  /// and where nothing fits; then none of them is registered.
  Recorder& children(torch::nn::Module& model, const Select& which = {});
  Recorder& modules(torch::nn::Module& model, const Select& which = {});

  std::size_t size() const;
  /// What was recorded of one module: with a reduction one tensor or none. Throws std::out_of_range.
  const std::vector<at::Tensor>& operator[](std::size_t index) const;
  /// Of all.
  std::vector<std::vector<at::Tensor>> data() const;
  /// How many samples were recorded of one module, and of each.
  std::size_t samples(std::size_t index) const;
  std::vector<std::size_t> iter_samples() const;
  /// Ends the recording of one module and returns what it held; later modules move up.
  std::vector<at::Tensor> remove(std::size_t index);
  /// Puts function(tensor) in place of every tensor; and the same with the number of samples of its module.
  void apply(const std::function<at::Tensor(const at::Tensor&)>& function);
  void apply_sample(const std::function<at::Tensor(const at::Tensor&, std::size_t samples)>& function);
  /// Writes 0.pt, 1.pt, … into a folder, one a module, which C++'s torch::load and Python's torch.load read: one tensor
  /// with a reduction, else a list of tensors. A module of which nothing was recorded is an empty list.
  /// @param mkdir  make the folder where it is lacking
  /// Throws std::runtime_error when a file cannot be written.
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
/// The input as the forward has left it, changed where the module works in place.
class LOUPE_API ForwardInput : public Recorder {
 public:
  explicit ForwardInput(Settings settings = {}) : Recorder(Moment::forward_input, std::move(settings)) {}
};
/// The output of the forward.
class LOUPE_API ForwardOutput : public Recorder {
 public:
  explicit ForwardOutput(Settings settings = {}) : Recorder(Moment::forward_output, std::move(settings)) {}
};
/// The gradient of the input, where it has one.
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
