#include <loupe/draft/abi/ranks.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ranks/common_steps.h"
#include "ranks/judge.h"
#include "ranks/prints.h"
#include "ranks/watches.h"

namespace loupe::ranks {
namespace {

/// The step after the last measured one before `step`: everything was finite until then. 0 if there is none.
uint64_t finite_before(const std::vector<uint64_t>& steps, uint64_t step) {
  const auto next = std::lower_bound(steps.begin(), steps.end(), step);
  return next != steps.begin() ? *std::prev(next) + 1 : 0;
}

}  // namespace

/// Collects the data for comparing ranks in each process. One instance, which gets the data of all processes, compares
/// them.
class Ranks : public Lens {
 public:
  static constexpr const char* name = "ranks";
  static constexpr const char* help =
      "compares the processes of a run: their replicas, gradients, data, times and settings; on by default if there "
      "are several";
  static constexpr const char* example = "ranks";
  static std::vector<const char*> gives() {
    return {"replica_drift: error or info; parameters, optimizers' states or buffers differ between ranks",
            "gradients_not_averaged: error; ranks use different gradients",
            "same_data: warning; ranks train on the same batches",
            "same_dropout: info; ranks drop the same elements of different batches",
            "rank_non_finite: error; the first NaN or Inf of the run, and the rank in which it appeared",
            "straggler: error or warning; a rank that the others wait for in each step",
            "rank_imbalance: warning; a rank whose inputs, batch size, loss or gradients are not like the others'",
            "ranks_differ: warning; the ranks run with different settings, models or modes"};
  }

  Ranks(const Options&, const Host& host) : host_(host) {}

  const void* get_extension(const char* id) override {
    return std::string_view(id) == LOUPE_DRAFT_RANKS_ID ? this : nullptr;
  }

  void attach() override { watch_pushes({"push"}, losses_); }

  void visit(const Module& module) override {
    if (module.is_loss()) return;
    if (module.is_root()) begin_model(module);
    ModelWatch* model = model_of(module.model());
    if (model == nullptr) return;
    // Watch the input of the model, or of its first layer if the model's own forward is not tapped.
    if (!std::exchange(model->has_input, model->has_input || module.is_tapped()) && module.is_tapped()) {
      watch(module, {"forward"}, keep<InputWatch>(*model, [this, model] {
              if (model->all_steps > 0) return;
              for (const ModelWatch::Tensor& tensor : model->tensors)
                model->start.push_back(tensor.is_buffer ? 0 : fingerprint(*model, tensor));
            }));
    }
    const std::string layer = module.name();
    model->structure = fingerprint_of(std::to_string(model->structure) + layer + '\n' + std::string(module.type()));
    if (module.is_leaf() && !module.is_functional())
      watch(module, {"forward"}, keep<NumbersWatch>(*model, layer, "the output", false));
    // Every rank's masks are sent to rank 0, so watch few layers: equal seeds show in any layer.
    constexpr int most_masks = 2;
    if (module.family() == LOUPE_FAMILY_DROPOUT && model->masked_layers < most_masks) {
      ++model->masked_layers;
      watch(module, {"forward"}, keep<MaskWatch>(*model, layer));
    }
    if (depends_on_mode(module)) {
      ModeWatch& mode = keep<ModeWatch>(layer);
      model->modes.push_back(&mode);
      watch(module, {"forward"}, mode);
    }
    for (std::size_t i = 0; i < module.parameter_count(); ++i) add(*model, module, module.parameter(i));
  }

  void forget(const Module& module) override {
    if (!module.is_root()) return;
    const auto gone = std::find_if(models_.begin(), models_.end(),
                                   [&](const auto& each) { return each->watch.root == module.raw(); });
    if (gone == models_.end()) return;
    (*gone)->watch.optimizer_states.release();
    forgotten_.push_back(std::move(*gone));  // kept, because its sources end with the modules
    models_.erase(gone);
  }

  void step(const loupe_step& step, Report&) override {
    ModelWatch* model = step.optimizer != nullptr ? model_of(step.optimizer->model_name)
                        : models_.size() == 1     ? &models_.front()->watch
                                                  : nullptr;
    if (model == nullptr) return;
    const uint64_t position = model->steps++;
    const uint64_t number = ++model->all_steps;
    take_measured(*model, position, is_measured(step), step.at.step);
    if (step.optimizer == nullptr) return;
    if (step.optimizer->group_count > 0)
      model->learning_rate = learning_rate_of(*step.optimizer->groups[0]).value_or(NAN);
    model->optimizer_states.stepped(host_, step.optimizer->id, model->tensors, model->prints);
    // Choose the same steps in all ranks: each host measures different ones.
    constexpr uint64_t first_steps = 3;
    if (position > 0 && number > first_steps) return;
    Replica::Gradients gradients;
    gradients.step = number;
    GradientShapes shapes;
    for (const ModelWatch::Tensor& tensor : model->tensors) {
      gradients.used.push_back(
          fingerprint(*model, tensor, true, [&](const TensorView& gradient) { shapes.add(gradient); }));
    }
    gradients.shape = shapes.shape();
    model->gradients.push_back(std::move(gradients));
  }

  void report(Report& report) override {
    for (const auto& model : models_) {
      if (model->watch.records.groups().empty()) {
        say(model->watch);
      } else {
        compare(*model, report);
      }
    }
  }

 private:
  struct Model {
    Model(const Module& root, const Host& host) : watch(root, host) {}
    ModelWatch watch;
    Judge judge;
  };

  static bool depends_on_mode(const Module& module) {
    constexpr std::string_view batch_norm = "BatchNorm";
    return !module.is_functional() &&
           (module.family() == LOUPE_FAMILY_DROPOUT || module.type().substr(0, batch_norm.size()) == batch_norm);
  }

  void begin_model(const Module& root) {
    models_.push_back(std::make_unique<Model>(root, host_));
    ModelWatch& model = models_.back()->watch;
    watch(root, {"forward"}, model.replica);
    watch(root, {"forward"}, model.buffers);
    watch(root, {"forward"}, model.states);
    watch(root, {"forward"}, model.records);
  }

  void add(ModelWatch& model, const Module& module, const Parameter& parameter) {
    model.tensors.push_back({module.raw(), parameter.name, is_buffer(parameter)});
    std::string shape = std::string(parameter.name) + '\n';
    for (int64_t d = 0; d < parameter.dim; ++d) shape += std::to_string(parameter.sizes[d]) + ' ';
    model.structure = fingerprint_of(std::to_string(model.structure) + shape);
    if (is_buffer(parameter)) return;
    watch(module, Watch("parameter_gradient").label(parameter.name),
          keep<NumbersWatch>(model, module.name(), "the gradient of " + std::string(parameter.name), true));
  }

  template <class Watch, class... Arguments>
  Watch& keep(Arguments&&... arguments) {
    auto made = std::make_unique<Watch>(std::forward<Arguments>(arguments)...);
    Watch& kept = *made;
    kept_.push_back(std::move(made));
    return kept;
  }

  ModelWatch* model_of(std::string_view name) {
    for (const auto& model : models_) {
      if (model->watch.name == name) return &model->watch;
    }
    return nullptr;
  }

  /// Returns 0 if there is no fingerprint, or it is unknown.
  template <class Look>
  uint64_t fingerprint(ModelWatch& model, const ModelWatch::Tensor& tensor, bool gradient, Look&& look) const {
    uint64_t print = 0;
    host_.lend_parameter(tensor.module, tensor.name.c_str(), gradient, [&](const loupe_tensor& lent) {
      const TensorView view(&lent);
      print = model.prints.take(view);
      look(view);
    });
    return print;
  }
  uint64_t fingerprint(ModelWatch& model, const ModelWatch::Tensor& tensor) const {
    return fingerprint(model, tensor, false, [](const TensorView&) {});
  }

  /// Takes the events of a finished step.
  static void take_measured(ModelWatch& model, uint64_t position, bool is_measured, uint64_t step_of_run) {
    const double time = now();
    const std::lock_guard lock(model.mutex);
    const double last_gradient = std::exchange(model.last_gradient, 0),
                 last_step = std::exchange(model.last_step, time);
    if (!is_measured) return;
    MeasuredStep measured = std::exchange(model.now, {});
    for (std::size_t i = 0; i < model.modes.size(); ++i) {
      if (model.modes[i]->take_only_evaluates()) measured.evaluated.push_back(i);
    }
    ++model.measured_count;
    measured.step = model.all_steps;
    // The time between two epochs is not part of a step.
    if (position > 0 && last_step > 0 && last_gradient > last_step) {
      measured.seconds = time - last_step;
      measured.waited = time - last_gradient;
    }
    model.measured.add(position, std::move(measured));
    if (step_of_run == 0 || (!model.finite_steps.empty() && model.finite_steps.back() == step_of_run - 1)) return;
    constexpr std::size_t most_steps = 8192;  // a limit, because an epoch may never end
    if (model.finite_steps.size() == most_steps)
      model.finite_steps.erase(model.finite_steps.begin(), model.finite_steps.begin() + most_steps / 2);
    model.finite_steps.push_back(step_of_run - 1);
  }

  /// Stores the data of this process.
  void say(ModelWatch& model) {
    const loupe_run* run = host_.run();
    Replica replica, buffers, states;
    for (const ModelWatch::Tensor& tensor : model.tensors) {
      const uint64_t print = fingerprint(model, tensor);
      replica.parameters.push_back(tensor.is_buffer ? 0 : print);
      buffers.parameters.push_back(tensor.is_buffer ? print : 0);
    }
    replica.gradients = std::exchange(model.gradients, {});
    model.optimizer_states.say(states, model.prints);
    model.prints.read();
    for (std::vector<uint64_t>* prints : {&replica.parameters, &buffers.parameters}) model.prints.fill(*prints);
    for (Replica::Gradients& each : replica.gradients) model.prints.fill(each.used);
    model.optimizer_states.fill(states, model.prints);
    RankRecord record;
    record.model = model.structure;
    if (run != nullptr) {
      record.config = fingerprint_of(run->config);
      record.loupe_version = run->loupe_version;
      record.framework_version = run->framework_version;
    }
    record.learning_rate = model.learning_rate;
    record.steps = model.steps.exchange(0);
    record.all_steps = model.all_steps;
    record.losses = losses_.count();
    record.loss = losses_.mean();
    record.bad_loss = losses_.first_bad();
    {
      const std::lock_guard lock(model.mutex);
      model.prints.fill(model.start);
      replica.start = model.start;
      const double squares = std::exchange(model.late_gradient_squares, 0);
      const uint64_t measured = std::exchange(model.measured_count, 0);
      if (model.is_on_device && record.steps > 0 && measured == record.steps)
        record.device_gradient = std::sqrt(squares / static_cast<double>(measured));
      record.measured = model.measured.take();
      for (MeasuredStep& each : record.measured) {
        model.prints.fill(each.batches);
        if (model.is_on_device) each.gradient_squares = NAN;
      }
      record.masks = std::exchange(model.masks, {});
      if (!model.finite_steps.empty())
        model.non_finite.finite_before =
            std::max(model.non_finite.finite_before, finite_before(model.finite_steps, model.non_finite.step));
      model.finite_steps.clear();
      record.non_finite = model.non_finite;
    }
    const int rank = run != nullptr ? run->rank : 0;
    model.replica.say(rank, replica.bytes());
    model.buffers.say(rank, buffers.bytes());
    model.states.say(rank, states.bytes());
    model.records.say(rank, record.bytes());
  }

  /// The groups, beginning with that of the lowest rank, to which the others are compared.
  static std::vector<Said::Group> groups_of(const Facts& facts) {
    std::vector<Said::Group> groups;
    for (const auto& [bytes, ranks] : facts.groups()) groups.push_back({Replica::read(bytes), ranks});
    std::sort(groups.begin(), groups.end(), [](const Said::Group& one, const Said::Group& other) {
      return *std::min_element(one.ranks.begin(), one.ranks.end()) <
             *std::min_element(other.ranks.begin(), other.ranks.end());
    });
    return groups;
  }

  /// Compares the data of all processes.
  void compare(Model& model, Report& report) {
    Said said;
    for (const auto& [bytes, ranks] : model.watch.records.groups()) {
      for (const int rank : ranks) said.records[rank] = RankRecord::read(bytes);
    }
    if (said.records.size() < 2) return;
    std::vector<std::string> modes;
    for (const ModeWatch* mode : model.watch.modes) modes.push_back(mode->module());
    compare_common_steps(said.records, modes);
    said.replicas = groups_of(model.watch.replica);
    said.buffers = groups_of(model.watch.buffers);
    said.states = groups_of(model.watch.states);
    if (const loupe_run* run = host_.run()) said.world_size = run->world_size;
    std::vector<NamedTensor> tensors;
    for (const ModelWatch::Tensor& tensor : model.watch.tensors)
      tensors.push_back({tensor.module->name, tensor.name, tensor.is_buffer});
    model.judge.judge(said, tensors, [&](const Finding& finding) { report.finding(finding); });
  }

  Host host_;
  LossWatch losses_;
  std::vector<std::unique_ptr<Preprocessor>> kept_;
  std::vector<std::unique_ptr<Model>> models_, forgotten_;
};

}  // namespace loupe::ranks

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"ranks", LOUPE_VERSION, "Compares the processes of a run.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::ranks::Ranks);
