// The members of Inspector, which call its parts.

#include "loupe/inspector.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "core/text.h"
#include "inspector/inspector_impl.h"
#include "inspector/program_inspector.h"
#include "inspector/thread_pool.h"
#include "loader/component_instance.h"
#include "loupe/log.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/script/script_model.h"
#include "torch/taps/optimizer_states.h"
#include "torch/taps/timed_step.h"
#include "torch/tensor/device_measurer.h"
#include "torch/tensor/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

void offer_services() {
  static const bool once = [] {
    leave_models_at_forks();
    offer_interface(LOUPE_TENSORS_ID, &tensor_service());
    offer_interface(LOUPE_DRAFT_TENSOR_MATH_ID, &tensor_math_service());
    offer_interface(LOUPE_DRAFT_TENSOR_FILES_ID, &tensor_files_service());
    offer_interface(LOUPE_DRAFT_FINGERPRINTS_ID, &fingerprint_service());
    offer_interface(LOUPE_DRAFT_GRAPH_ID, &graph_service());
    offer_interface(LOUPE_DRAFT_OPTIMIZER_STATES_ID, &optimizer_state_service());
    set_device_measurer_factory(&make_device_measurer);
    set_tensor_version(&tensor_version);
    measure::Measurer::set_parallel_for(threads_of_libtorch());
    return true;
  }();
  static_cast<void>(once);
}

using Optimizers = std::vector<std::reference_wrapper<torch::optim::Optimizer>>;

std::vector<torch::optim::Optimizer*> pointers_to(const Optimizers& optimizers) {
  std::vector<torch::optim::Optimizer*> all;
  for (torch::optim::Optimizer& each : optimizers) all.push_back(&each);
  return all;
}

uint32_t loss_flags(bool train, bool keep) {
  uint32_t flags = LOUPE_EVENT_LOSS;
  if (train) flags |= LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
  if (keep) flags |= LOUPE_EVENT_MEMORY;
  return flags;
}

}  // namespace

Inspector::Inspector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Inspector::Inspector(Inspector&&) noexcept = default;
Inspector& Inspector::operator=(Inspector&& other) noexcept {
  if (this != &other) {
    end();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Inspector::~Inspector() {
  end();
}
Inspector::Impl& Inspector::impl() const {
  if (impl_ == nullptr)
    throw std::logic_error("loupe: this inspector was moved from; use the one that it was moved to");
  return *impl_;
}
void Inspector::end() {
  // A forked child lacks its threads, and its files and locks are the parent's: it is left alone.
  if (impl_ != nullptr && impl_->is_of_parent()) leave_to_parent(std::shared_ptr<Impl>(std::move(impl_)));
  if (impl_ != nullptr) impl_->finish();
  impl_.reset();
}

Inspector Inspector::from_yaml(const std::string& path) {
  offer_services();
  return Inspector(std::make_unique<Impl>(Config::from_file(path)));
}

Inspector Inspector::from_text(const std::string& text, const std::string& name) {
  offer_services();
  return Inspector(std::make_unique<Impl>(Config::from_text(text, name, ".")));
}

void Inspector::attach(torch::nn::Module& model, const std::string& name) {
  attach(model, Optimizers(), name);
}
void Inspector::attach(torch::nn::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  attach(model, Optimizers{optimizer}, name);
}
void Inspector::attach(torch::nn::Module& model, const Optimizers& optimizers, const std::string& name) {
  impl().enter([&] { impl().attach(model, pointers_to(optimizers), name, false); });
}
void Inspector::attach(const torch::jit::Module& model, const std::string& name) {
  attach(model, Optimizers(), name);
}
void Inspector::attach(const torch::jit::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  attach(model, Optimizers{optimizer}, name);
}
void Inspector::attach(const torch::jit::Module& model, const Optimizers& optimizers, const std::string& name) {
  impl().enter([&] { impl().attach(*ScriptModel::of(model), pointers_to(optimizers), name, false); });
}
void Inspector::attach_optimizer(torch::optim::Optimizer& optimizer) {
  impl().enter([&] { impl().attach_optimizer(optimizer); });
}
void Inspector::attach_ranks(c10d::Store& store, int rank, int world_size) {
  impl().enter([&] { impl().attach_ranks(store, rank, world_size); });
}

void Inspector::attach_loss(torch::nn::Module& loss, const std::string& name) {
  impl().enter([&] { impl().attach(loss, {}, name, true); });
}
void Inspector::detach(const std::string& name) {
  impl().enter([&] { impl().detach(name); });
}
void Inspector::detach() {
  impl().enter([&] { impl().attachments().detach_all(); });
}

void Inspector::push_loss(double value, bool train, bool keep) {
  impl().enter([&] { impl().push(impl().loss_name(train), value, loss_flags(train, keep)); });
}
void Inspector::push_loss(const at::Tensor& value, bool train, bool keep) {
  impl().enter([&] { impl().push_tensor(impl().loss_name(train), value, loss_flags(train, keep)); });
}
void Inspector::push_metric(const std::string& name, double value, bool keep) {
  impl().enter([&] { impl().push(name, value, keep ? uint32_t{LOUPE_EVENT_MEMORY} : 0U); });
}
void Inspector::optimizer_stepped() {
  impl().enter([&] { impl().optimizer_stepped(); });
  step_is_over();
}
void Inspector::expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
  impl().enter([&] { impl().attachments().expose(path, attribute, std::move(get)); });
}

void Inspector::tick_epoch() {
  impl().enter_and_throw([&] { impl().epochs().tick(std::nullopt); });
}
void Inspector::tick_epoch(double epoch) {
  impl().enter_and_throw([&] { impl().epochs().tick(epoch); });
}
Epochs Inspector::epochs(int count) {
  const double before = std::trunc(impl().enter([&] { return impl().monitor().epoch(); }));
  constexpr double least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  if (!(before >= least && before < most))
    throw std::invalid_argument("loupe: epochs() counts up to " + std::to_string(std::numeric_limits<int>::max()) +
                                ", and the run is in epoch " + std::to_string(before));
  return epochs(static_cast<int>(before) + 1, static_cast<int>(std::clamp(before + count, least, most)));
}
Epochs Inspector::epochs(int first, int last) {
  impl().enter([&] { impl().epochs().begin(first, last); });
  return {this, first, last};
}
/// Whether another epoch follows.
bool Inspector::end_turn(int epoch, bool is_last) {
  if (impl().is_of_parent()) return !is_last;
  impl().enter_and_throw([&] { impl().epochs().end_epoch(epoch); });
  return impl().enter([&] { return impl().begin_next_epoch(is_last ? epoch : epoch + 1, is_last); });
}
template <>
Epochs::Iterator& Epochs::Iterator::operator++() {
  if (inspector_->end_turn(number_, number_ >= last_)) {
    ++number_;
  } else {
    std::tie(number_, last_) = std::pair(0, -1);  // the last number may be the largest
  }
  return *this;
}

void Inspector::left_loop(bool of_epochs, bool by_exception) noexcept {
  if (impl_ == nullptr || impl_->is_of_parent()) return;
  const std::lock_guard lock(*impl_->monitor().mutex());  // no delivery during an exception
  if (of_epochs) impl_->epochs().leave();
  if (by_exception) impl_->calls().note_exception();
}
host_detail::LoopScope::LoopScope(Inspector* inspector, bool is_of_epochs)
    : inspector_(inspector), is_of_epochs_(is_of_epochs), exceptions_(std::uncaught_exceptions()) {}
host_detail::LoopScope::~LoopScope() {
  inspector_->left_loop(is_of_epochs_, std::uncaught_exceptions() > exceptions_);
}

Steps Inspector::steps(std::int64_t count) {
  const auto before = impl().enter([&] { return static_cast<std::int64_t>(impl().monitor().step()); });
  const std::int64_t left = std::numeric_limits<std::int64_t>::max() - before;
  return steps(before + 1, before + std::min(count, left));
}
Steps Inspector::steps(std::int64_t first, std::int64_t last) {
  impl().enter([&] { impl().steps().begin(first, last); });
  return {this, first, last};
}
/// Whether another turn follows.
bool Inspector::end_step(bool is_last) {
  if (impl().is_of_parent()) return !is_last;
  impl().enter_and_throw([&] { impl().steps().end_turn(); });
  return impl().enter([&] { return impl().begin_next_turn(is_last); });
}
template <>
Steps::Iterator& Steps::Iterator::operator++() {
  if (inspector_->end_step(number_ >= last_)) {
    ++number_;
  } else {
    std::tie(number_, last_) = std::pair(0, -1);
  }
  return *this;
}

std::optional<double> Inspector::loss(bool train, const std::string& aggregation) const {
  return impl().enter([&] { return impl().loss(train, aggregation); });
}
std::optional<double> Inspector::value(const std::string& tag, const std::string& layer,
                                       const std::string& line) const {
  return impl().enter([&] { return impl().monitor().display().last(tag, layer, line); });
}

std::vector<Finding> Inspector::findings() const {
  return impl().enter([&] { return impl().findings(); });
}
void Inspector::on_finding(std::function<void(const Finding&)> callback) {
  impl().enter_unlocked([&] { impl().monitor().outbox()->set_callback(std::move(callback)); });
}
bool Inspector::should_stop() const {
  return impl().enter([&] { return impl().policy().should_stop(); });
}
std::string Inspector::dump(const std::string& why) {
  return impl().enter([&] { return impl().monitor().dump(why); });
}
void Inspector::note(const std::string& text) {
  impl().enter_unlocked([&] { impl().monitor().note(LOUPE_NOTE_TRAINER, text); });
}
void Inspector::set_hyperparameter(const std::string& name, double value) {
  loupe_option_value number{};
  number.type = LOUPE_TYPE_NUMBER;
  number.number = value;
  impl().enter([&] { impl().set_hyperparameter(name, number); });
}
void Inspector::set_hyperparameter(const std::string& name, const std::string& value) {
  const std::string shown = utf8(value);
  loupe_option_value text{};
  text.type = LOUPE_TYPE_STRING;
  text.string = shown.c_str();
  impl().enter([&] { impl().set_hyperparameter(name, text); });
}

void Inspector::set_active(ActiveWhen when) {
  if (!when) throw std::invalid_argument("loupe: set_active takes a function of the tick's number, not an empty one");
  impl().enter([&] { impl().monitor().set_active(std::move(when)); });
}
bool Inspector::is_active() const {
  return impl().enter([&] { return impl().monitor().active(); });
}

void Inspector::set_directory(const std::string& directory) {
  impl().enter([&] { impl().monitor().set_directory(directory); });
}
void Inspector::set_visualizers(const std::string& yaml) {
  impl().enter([&] { impl().set_visualizers(yaml); });
}

void leave_models_at_forks() {
  static const bool once = [] {
    at_fork([] {
      active_attachments.store(0);
      counting_attachments.store(0);
      Registry::instance().abandon();
    });
    return true;
  }();
  static_cast<void>(once);
}

Inspector ProgramInspector::make(Config config) {
  offer_services();
  return Inspector(std::make_unique<Inspector::Impl>(std::move(config)));
}
std::string ProgramInspector::attach(Inspector& inspector, torch::nn::Module& model, const std::string& name) {
  std::string share;
  inspector.impl_->enter([&] {
    inspector.impl_->attach(model, {}, name, /*is_loss=*/false, /*awaits_optimizers=*/true);
    share = inspector.impl_->attachments().all().back()->share();
  });
  return share;
}
void ProgramInspector::begin_epochs_at(Inspector& inspector, double first) {
  inspector.impl_->enter([&] { inspector.impl_->monitor().begin_epochs_at(first); });
}
void ProgramInspector::note(Inspector& inspector, uint32_t kind, const std::string& text) {
  inspector.impl_->enter_unlocked([&] { inspector.impl_->monitor().note(kind, text); });
}
void ProgramInspector::push_loss(Inspector& inspector, const std::string& name, const at::Tensor& value, bool train) {
  inspector.impl_->enter([&] { inspector.impl_->push_tensor(name, value, loss_flags(train, /*keep=*/false)); });
}
void ProgramInspector::push_metric(Inspector& inspector, const std::string& name, const at::Tensor& value) {
  inspector.impl_->enter([&] { inspector.impl_->push_tensor(name, value, /*flags=*/0); });
}
void ProgramInspector::publish(Inspector& inspector, const Finding& finding) {
  inspector.impl_->enter([&] { inspector.impl_->publish(finding); });
}

std::size_t Inspector::redirected_calls() {
  return Redirections::instance().active_count();
}

std::string Inspector::coverage() const {
  return impl().enter([&] { return impl().attachments().coverage(); });
}

void set_log(LogCallback callback) {
  if (!callback) {
    set_log_sink({});
    return;
  }
  set_log_sink([callback = std::move(callback)](int level, const std::string& message) {
    callback(static_cast<LogLevel>(level), message);
  });
}

}  // namespace loupe
