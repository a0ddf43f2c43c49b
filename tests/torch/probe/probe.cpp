// A lens that passes every event to a test as a line of text. Its option `listener` is the address of a
// `void (*)(const char*)` in the test's process.

#include <loupe/plugin.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace {

using Listener = void (*)(const char*);

std::string shape_of(const loupe::TensorView& tensor) {
  std::string text;
  for (int64_t d = 0; d < tensor.dim(); ++d) text += (text.empty() ? "" : "x") + std::to_string(tensor.size(d));
  return text.empty() ? "scalar" : text;
}

/// Writes: gatherer|module|label|T or E|G or -|shape of the tensor|sum of squares|change|number of inputs>outputs
class Teller final : public loupe::Preprocessor {
 public:
  Teller(Listener listener, std::string head, std::string fail, bool tensors, bool sparse)
      : listener_(listener), head_(std::move(head)), fail_(std::move(fail)), tensors_(tensors), sparse_(sparse) {}
  loupe::Request request() const override {
    loupe::Request request;
    request.measures = LOUPE_MEASURE_SUMS | (sparse_ ? 0U : uint32_t{LOUPE_MEASURE_CHANGE});
    request.wants_tensor = tensors_;
    request.takes_sparse = sparse_;
    return request;
  }
  void process(const loupe::Event& event) override {
    if (!fail_.empty() && head_.find(fail_) != std::string::npos)
      throw std::runtime_error("the probe was told to fail");
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "|%.6g|%.6g|%zu>%zu", event.measurement().sum_squares,
                  event.measurement().change_sum_squares, event.input_count(), event.output_count());
    listener_((head_ + "|" + (event.training() ? "T" : "E") + "|" + (event.grad_enabled() ? "G" : "-") + "|" +
               shape_of(event.tensor()) + numbers)
                  .c_str());
  }

 private:
  Listener listener_;
  std::string head_, fail_;
  bool tensors_, sparse_;
};

class Probe final : public loupe::Lens {
 public:
  static constexpr const char* name = "probe";
  static constexpr const char* help = "sends every event to a test";
  static std::vector<loupe::Option> options() {
    return {{"listener", "", "the address of a void (*)(const char*)"},
            {"gatherers", loupe::Strings{"forward"}, "what to watch on every module"},
            {"fail", "", "throw at events whose head contains this"},
            {"attributes", loupe::Strings{}, "labels to watch before and after a forward"},
            {"tensors", true, "ask for tensors"},
            {"sparse", false, "request sparse tensors, too, but no changes"}};
  }
  explicit Probe(const loupe::Options& options)
      : listener_(reinterpret_cast<Listener>(std::strtoull(options.get<std::string>("listener").c_str(), nullptr, 16))),
        gatherers_(options.get<loupe::Strings>("gatherers")),
        fail_(options.get<std::string>("fail")),
        tensors_(options.get<bool>("tensors")),
        sparse_(options.get<bool>("sparse")) {}

  void visit(const loupe::Module& module) override {
    listener_((std::string("visit|") + module.name() + "|" + std::string(module.type()) + "|" +
               (module.is_leaf() ? "leaf" : "inner") + "|" + (module.is_tapped() ? "tapped" : "untapped"))
                  .c_str());
    const loupe_model* model = module.raw()->model;
    const auto parent = module.parent();
    listener_((std::string("place|") + module.name() + "|" + (parent ? parent->name() : "none") + "|" +
               (model != nullptr ? std::to_string(model->module_count) + " modules" : "no model"))
                  .c_str());
    for (const std::string& gatherer : gatherers_) {
      const bool of_parameters = gatherer.find("parameter") != std::string::npos || gatherer == "optimizer_step" ||
                                 gatherer == "step_gradient" || gatherer == "tick";
      if (!of_parameters) add(module, gatherer, nullptr);
      for (std::size_t i = 0; of_parameters && i < module.parameter_count(); ++i) {
        if (!loupe::is_buffer(module.parameter(i))) add(module, gatherer, module.parameter(i).name);
      }
    }
  }
  void report(loupe::Report& report) override {
    listener_(("tick|" + std::to_string(static_cast<int>(report.epoch()))).c_str());
  }

 private:
  void add(const loupe::Module& module, const std::string& gatherer, const char* label) {
    const std::string head = gatherer + "|" + module.name() + "|" + (label != nullptr ? label : "");
    tellers_.push_back(std::make_unique<Teller>(listener_, head, fail_, tensors_, sparse_));
    watch(module, loupe::Watch(gatherer.c_str()).label(label), *tellers_.back());
  }

  Listener listener_;
  loupe::Strings gatherers_;
  std::string fail_;
  bool tensors_, sparse_;
  std::vector<std::unique_ptr<Teller>> tellers_;
};

}  // namespace

LOUPE_PLUGIN("probe", "1.0", Probe);
