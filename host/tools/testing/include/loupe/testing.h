#pragma once

// For the tests of plugins: a model made up by the test, which runs without LibTorch through Loupe's real pipeline.
// CMake:
//   find_package(loupe REQUIRED COMPONENTS testing)
//   target_link_libraries(my_test PRIVATE loupe::testing GTest::gtest_main)

#include <loupe/abi.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loupe::testing {

enum class Type { float32, float64, int8, int16, int32, int64, uint8, boolean, float16, bfloat16 };

/// Elements in row-major order, on the CPU. They may be NaN and Inf if the type has these.
struct Tensor {
  std::vector<double> values;
  std::vector<std::int64_t> sizes;
  Type type = Type::float32;
  std::vector<std::int64_t> strides = {};  ///< in elements; empty: without gaps
};
/// One value fills the whole tensor; otherwise there must be as many as the sizes say, or std::invalid_argument is
/// thrown. No sizes: one dimension of all values.
LOUPE_EXPORT Tensor tensor(std::vector<double> values, std::vector<std::int64_t> sizes = {}, Type type = Type::float32);
/// The same elements in memory as the strides say, in elements: {1, 2} for a matrix of two rows that was transposed. A
/// stride of 0 repeats, so that there the last of the values counts. Throws std::invalid_argument unless there is one
/// for each dimension, and none is negative.
LOUPE_EXPORT Tensor strided(Tensor tensor, std::vector<std::int64_t> strides);

struct Parameter {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::uint32_t flags = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
  bool is_attribute = false;  ///< no parameter, but a label that gatherers of attributes may ask for at the forward
};

/// A module of the made-up model; valid for the bench that returned it.
struct Module {
  std::size_t index = 0;
};

/// How a pass through the model is run.
struct Pass {
  bool training = true;  ///< else the modules are in eval mode
  bool grad = true;      ///< gradients are recorded
};
inline constexpr Pass training_pass{true, true};
inline constexpr Pass evaluation_pass{false, false};

struct Range {
  std::string low_name, high_name;
  double low, high;
};
struct Histogram {
  std::vector<double> edges, counts;
};
/// See loupe_tag.
struct Tag {
  std::string id, title = {}, unit = {}, description = {}, healthy = {}, advice = {};
  std::uint32_t type = LOUPE_SCALE_NUMERICAL;
  bool log_y = false, big = false;
  std::optional<double> y_minimum = {}, y_maximum = {};
};
/// See loupe_finding. Texts that were null are empty. The host sets id, state and source: it does not read them in a
/// finding of the test, except for the state LOUPE_FINDING_GONE, which resolves it.
struct Finding {
  std::string rule, message, layer = {}, parameter = {}, advice = {}, tag = {}, source = {}, caused_by = {}, file = {};
  std::uint32_t severity = LOUPE_SEVERITY_WARNING, state = LOUPE_FINDING_RAISED, line = 0;
  std::uint64_t id = 0;
  std::optional<double> value = {}, threshold = {};
};

/// An inspector on a made-up model. One thread; several may live at once. Errors of a component are reported as to a
/// user: in log(), or with `on_error: stop` in the YAML as an exception of the call that caused them.
class LOUPE_EXPORT Bench {
 public:
  /// @param yaml     a configuration: "lenses: [my_lens: {eps: 0.1}]"; a test of numbers needs no visualizers
  /// @param plugins  files or folders, searched before LOUPE_PLUGIN_PATH and Loupe's own
  /// @param linked   entries of plugins that are linked into the test: {&loupe_plugin_entry}
  /// Throws std::runtime_error, with each fault's place, for a wrong configuration or a component that cannot be made.
  explicit Bench(const std::string& yaml, const std::vector<std::string>& plugins = {},
                 const std::vector<const loupe_entry*>& linked = {});
  /// Ends the run.
  ~Bench();
  Bench(Bench&&) noexcept;
  Bench& operator=(Bench&&) noexcept;

  // The model. A name "block.fc1" is also the path; the family follows from the type, as "Linear" or "ReLU". Calls with
  // a module that the bench does not have throw std::invalid_argument.
  Module module(const std::string& name, const std::string& type, const std::vector<Parameter>& parameters = {},
                std::uint32_t flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED);
  /// A parameter's value, or an attribute's. Changes are counted from a parameter's first value.
  void set(Module module, const std::string& name, const Tensor& value);
  /// The module is detached; lenses forget it at the next tick.
  void forget(Module module);
  /// Sets the optimizer that steps and ticks report. Another call replaces it. NaN: the optimizer has no such value.
  /// The momentum of an Adam is its first beta.
  void optimizer(const std::string& type, double learning_rate,
                 double momentum = std::numeric_limits<double>::quiet_NaN(), double weight_decay = 0);

  // Events, in the order in which LibTorch allows them.
  void forward(Module module, const Tensor& output, Pass pass = training_pass);
  void forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
               Pass pass = training_pass);
  void output_gradient(Module module, const Tensor& gradient, std::uint32_t index = 0);
  void input_gradient(Module module, const Tensor& gradient, std::uint32_t index = 0);
  /// The gradient of a parameter, after accumulation. The next step uses it.
  void gradient(Module module, const std::string& parameter, const Tensor& gradient);
  void push_loss(double value, bool train = true, bool keep = false);
  void push_metric(const std::string& name, double value, bool keep = false);
  /// An optimizer step. Set the new values of parameters before it.
  void step();
  /// Sets the number of epochs of the trainer's loop, which steps then report.
  void epochs(double count);
  /// Ends an epoch; without a number, the next one.
  void tick();
  void tick(double epoch);
  /// Ends the run: visualizers store their data. Afterwards only values that were shown may be read.
  void end();

  // Messages that a lens would send at the next tick, for tests of visualizers. An empty layer: a big plot.
  void show(const Tag& tag);
  void show(const std::string& tag, const std::string& layer, const std::string& line, double value);
  void show(const std::string& tag, const std::string& layer, const Range& range);
  void show(const std::string& tag, const std::string& layer, const std::string& line, const Histogram& histogram);
  void show(const Finding& finding);

  // Values of the last tick. The layer of a big plot is empty or the tag itself. A value that was not shown throws
  // std::out_of_range, with a list of the shown ones and the log.
  double value(const std::string& tag, const std::string& layer, const std::string& line) const;
  bool has_value(const std::string& tag, const std::string& layer, const std::string& line) const;
  Range range(const std::string& tag, const std::string& layer, const std::string& low_name) const;
  Histogram histogram(const std::string& tag, const std::string& layer, const std::string& line) const;
  std::vector<std::string> layers(const std::string& tag) const;
  /// The answer of a lens to a name such as "train_loss median", by which the trainer asks for a loss; nullopt if no
  /// lens knows the name.
  std::optional<double> query(const std::string& name) const;
  /// Since the beginning: tags, as last reported; findings, in the order reported; lines to the user, each beginning
  /// with its speaker. Lines are the process's: every living bench gets all.
  Tag tag(const std::string& id) const;
  std::vector<std::string> tags() const;
  std::vector<Finding> findings() const;
  std::vector<std::string> log() const;
  /// Whether a lens was disabled after it failed; log() says why.
  bool is_quarantined(const std::string& lens) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loupe::testing
