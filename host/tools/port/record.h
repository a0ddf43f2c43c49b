#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace loupe::port {

// A file of fingerprints, as loupe/files/fingerprint.h describes it.

struct Tensor {
  uint64_t step = 0, index = 0, call = 0;
  std::string what, module, name, dtype;
  bool training = true;
  std::vector<int64_t> shape;
  int64_t non_finite = 0;
  double sum = 0, sum_squares = 0, minimum = 0, maximum = 0;
  std::vector<double> values;
  std::vector<std::vector<double>> sums;

  int64_t numel() const;
  /// The root of the mean square of the finite elements.
  double rms() const;
  std::string full_name() const { return module.empty() ? name : module + "." + name; }
  bool is(const char* what_) const { return what == what_; }
  /// An input or output of a forward.
  bool is_forward() const { return is("input") || is("output"); }
};

struct Module {
  std::string name, type, settings;
  bool functional = false;
};

struct Optimizer {
  uint64_t step = 0, optimizer = 0, group = 0;
  std::string type;
  std::map<std::string, double> settings;
};

struct Record {
  std::string file;
  std::string called;  ///< name in messages: the language, or the folder if both runs use the same language
  std::string language, libtorch;
  uint64_t steps = 0;  ///< the steps that were begun
  uint64_t asked = 0;  ///< steps that were to be kept
  std::vector<Module> modules;
  std::vector<Optimizer> optimizers;
  /// The tensors by steps, and within a step in the order of computation: parameters, forwards, losses, gradients of
  /// outputs, gradients of parameters, updates, buffers.
  std::vector<Tensor> tensors;

  const Module* module(const std::string& name) const;
  /// The same tensor in this record: `module` in place of its module's name. Null without one.
  const Tensor* find(const Tensor& like, const std::string& module) const;
  /// The first tensor of that step, kind and module; null without one.
  const Tensor* find(uint64_t step, const char* what, const std::string& module, const std::string& name = "") const;

  /// Whether an optimizer has stepped in it.
  bool has_stepped(uint64_t step) const;

  /// Makes the index of tensors again after their numbers changed.
  void index_places();

  std::map<std::string, std::size_t> places;  // places of the tensors, by their keys
};

/// @param path the file, or a folder that has its `fingerprint.jsonl`. Throws ConfigError, with the place, if the file
/// is not a record of fingerprints, and UsageError for a folder without one.
Record read_record(const std::string& path);

/// The settings that differ in two modules or optimizers, "eps is 1e-05 in Python and 0.001 in C++", as far as both
/// print them, in whatever form.
std::vector<std::string> other_settings(const Module& a, const Module& b, const Record& first, const Record& second);
/// The same for the optimizers at a step: a line for each setting, with the group if there are several.
std::vector<std::string> other_settings(uint64_t step, const Record& first, const Record& second);

/// "twice in C++ and once in Python".
std::string times_text(std::size_t own, const Record& first, std::size_t theirs, const Record& second);

}  // namespace loupe::port
