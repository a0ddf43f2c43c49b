#include "loupe/inspector.h"

#include <loupe/detail/lines.h>
#include <loupe/error.h>
#include <loupe/text/words.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/built_with.h"
#include "core/find.h"
#include "core/forks.h"
#include "core/log.h"
#include "core/part.h"
#include "core/text.h"
#include "core/work.h"
#include "inspector/attachments.h"
#include "inspector/loops.h"
#include "inspector/losses.h"
#include "inspector/program_inspector.h"
#include "inspector/thread_pool.h"
#include "loupe/log.h"
#include "pipeline/monitor.h"
#include "pipeline/step_timing.h"
#include "pipeline/tick_keeper.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/taps/script_calls.h"
#include "torch/tensor/loss_in_view.h"
#include "torch/tensor/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {

/// An inspector: a monitor, and one class for each job around it. Members are called within enter, which holds the
/// mutex.
class LOUPE_HIDDEN Inspector::Impl final : public MonitorHost, public ProgramInspector {
 public:
  explicit Impl(Config config);
  /// Ends the run. Call before the destructor, while the trainer's callback may still use the inspector.
  void finish();
  /// False in a forked child, where the parent's inspector watches, writes and destroys nothing.
  bool is_of_parent() const { return forks_ != forks_of_process(); }

  /// Wraps every member of the inspector. Does nothing in a forked child; afterwards, with no lock held, delivers
  /// findings.
  template <class Call>
  std::invoke_result_t<Call> enter(Call&& call) {
    return enter_unlocked([&] {
      const std::lock_guard lock(*monitor_.mutex());
      return call();
    });
  }
  /// The same without the mutex, which another thread may hold.
  template <class Call>
  std::invoke_result_t<Call> enter_unlocked(Call&& call) {
    if (is_of_parent()) {
      warn_of_parent();
      return std::invoke_result_t<Call>();
    }
    const LoupeTime time;
    const Delivery after{monitor_.outbox()};
    return call();
  }
  /// The same as enter; then throws the exception of the callback or of `on_finding: throw`.
  template <class Call>
  void enter_and_throw(Call&& call) {
    const auto outbox = is_of_parent() ? nullptr : monitor_.outbox();  // the callback may end the inspector
    enter(call);
    if (outbox != nullptr) outbox->rethrow();
  }

  void attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
              const std::string& name, bool is_loss, bool awaits_optimizers = false);

  void push(const std::string& label, double value, uint32_t flags);
  void push_tensor(const std::string& label, const at::Tensor& value, uint32_t flags);
  void tell_kept_graphs();
  /// The trainer pushes losses of this kind itself: found ones are not shown.
  void take_over_losses(bool train) { found_[train] = {.is_pushed = true}; }
  const std::string& loss_name(bool train) const override;
  void set_hyperparameter(const std::string& name, loupe_option_value value);

  Monitor& monitor() { return monitor_; }
  Attachments& attachments() { return attachments_; }
  DeferredLosses& losses() { return losses_; }
  Loops& loops() { return loops_; }
  /// Starts finding losses, if not yet started. Without the mutex, like end_finding.
  void find_losses();
  void end_finding();
  void show_loss(const std::string& name, const at::Tensor& value, bool train) override;
  void show_metric(const std::string& name, const at::Tensor& value) override;
  std::size_t model_count() override {
    return enter([&] { return attachments_.all().size(); });
  }
  std::vector<std::string> models_of(const torch::optim::Optimizer& optimizer) override;

  std::string attach(torch::nn::Module& model, const std::string& name) override;
  void follow_parameters(const std::string& model) override;
  void tick(double epoch, uint32_t reason, uint32_t flags) override {
    enter_and_throw([&] { loops_.tick(epoch, reason, flags); });
  }
  bool pays_for_report() override {
    return enter([&] { return monitor_.pays_for_report(); });
  }
  void with_monitor(const std::function<void(Monitor&)>& call) override {
    enter([&] { call(monitor_); });
  }
  void note(uint32_t kind, const std::string& text) override {
    enter_unlocked([&] { monitor_.note(kind, text); });
  }
  void show_all_found() override { found_[0].has_any = found_[1].has_any = true; }

  /// Whether the loop continues after a turn, which may be its last.
  bool goes_on(bool is_last) const { return !is_last && !should_stop_; }
  /// Whether a finding was answered with `stop`.
  bool should_stop() const { return should_stop_; }

 private:
  struct Delivery {
    std::shared_ptr<Outbox> outbox;
    ~Delivery() { outbox->deliver(); }
  };

  // The interface for the monitor.
  void before_tick() override;
  void after_tick() override {
    for (const auto& each : attachments_.all()) each->after_tick();
  }
  std::vector<const loupe_optimizer*> optimizers() override { return attachments_.optimizers(); }
  void looking_changed() override {
    for (const auto& each : attachments_.all()) {
      each->set_active(monitor_.looks());
      if (monitor_.looks()) each->prime();
    }
  }
  void tick_due() override { loops_.step_ended(); }
  /// Answers a finding by the configuration's `on_finding`, and queues it for the trainer's callback.
  void finding_told(const loupe_finding& finding) override;

  void show_first_losses();
  void warn_of_parent();
  void warn_of_unthrown();

  const uint64_t forks_ = forks_of_process();  // the number of forks at construction
  std::atomic<bool> warned_of_parent_{false};
  // These are in order of dependency. None uses the monitor in its constructor or destructor: the monitor comes last,
  // and so is destroyed first, because it calls all of them until its end.
  Attachments attachments_{monitor_};
  DeferredLosses losses_{monitor_};
  /// Validation and training losses that the trainer does not push, as far as known.
  struct Found {
    bool has_any = false, is_pushed = false;
    std::optional<std::pair<std::string, at::Tensor>> first;  // kept until it is clear that the trainer pushes none
  };
  std::array<Found, 2> found_;
  std::atomic<bool> finds_{false};
  LossGraphs loss_graphs_;
  Loops loops_{monitor_, attachments_};
  bool should_stop_ = false;
  Monitor monitor_;
};

namespace {

/// Joins this process with those that a launcher started together.
Config joined(Config config) {
  config.join(Launch::from_environment());
  log_as_rank(config.launch.rank);
  return config;
}

constexpr char built_with[] = LOUPE_BUILT_WITH_MARK TORCH_VERSION;

void offer_services() {
  [[maybe_unused]] static const bool once = [] {
    static_cast<void>(*static_cast<const volatile char*>(built_with));  // otherwise the linker leaves the text out
    look_for_parts();
    leave_models_at_forks();
    offer_tensor_services();
    measure::Measurer::set_parallel_for(threads_of_libtorch());
    return true;
  }();
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

Inspector::Impl::Impl(Config config) : monitor_(joined(std::move(config)), this) {
  if (monitor_.config().launch.world_size == 1) return;
  if (const auto* ranks = part<RanksTable>(RanksTable::without)) ranks->join(monitor_, nullptr);
}

void Inspector::Impl::finish() {
  if (loops_.end_by_exception()) monitor_.end(LOUPE_END_FAILED, "an exception left the training loop");
  {
    const std::lock_guard lock(*monitor_.mutex());
    try {
      if (std::uncaught_exceptions() == 0) loops_.tick_rest();
      losses_.flush();
    } catch (const std::exception& e) {
      log(LOUPE_LOG_WARNING, std::string("the losses since the last tick cannot be read: ") + e.what());
    }
    attachments_.detach_all();
    attachments_.close();
    monitor_.end_lenses();
  }
  monitor_.outbox()->deliver();
  monitor_.outbox()->end_delivery();
  warn_of_unthrown();
}

/// Logs its warning once per inspector.
void Inspector::Impl::warn_of_parent() {
  if (warned_of_parent_.exchange(true)) return;
  const LogToStderr past_the_sink;  // the sink may wait for a thread of the parent
  log(LOUPE_LOG_WARNING,
      "this process was forked from one with an inspector, and calls that inspector: nothing is watched or written "
      "here; create a new inspector after the fork");
}

void Inspector::Impl::warn_of_unthrown() {
  try {
    monitor_.outbox()->rethrow();
  } catch (const std::exception& e) {
    log(LOUPE_LOG_WARNING, std::string("the inspector ended before it could throw: ") + e.what());
  } catch (...) {
    log(LOUPE_LOG_WARNING, "the inspector ended before it could throw the exception of the on_finding callback");
  }
}

void Inspector::Impl::before_tick() {
  show_first_losses();
  losses_.flush();
  for (const auto& each : attachments_.all()) each->tick();
}

void Inspector::Impl::finding_told(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_RAISED) {
    const std::string& answer = monitor_.config().answer_to(finding.severity);
    const std::string words = "the finding '" + std::string(finding.rule) + "'";
    if (answer == "stop" && !std::exchange(should_stop_, true))
      log(LOUPE_LOG_WARNING,
          "training is asked to stop (on_finding) because of " + words + ": " + message_with_place(finding));
    if (answer == "throw")
      monitor_.outbox()->keep(std::make_exception_ptr(
          std::runtime_error("loupe: " + words + ", thrown because of on_finding: " + message_with_place(finding))));
  }
  monitor_.outbox()->queue_for_delivery(finding);
}

void Inspector::Impl::attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
                             const std::string& name, bool is_loss, bool awaits_optimizers) {
  attachments_.attach(model, optimizers, name, is_loss, awaits_optimizers);
  loops_.note_calling_thread();
  loops_.choose_clock();
}

void Inspector::Impl::push(const std::string& label, double value, uint32_t flags) {
  monitor_.outbox()->rethrow();
  loops_.note_calling_thread();
  loops_.tick_if_due();
  monitor_.push(label, value, flags);
}

void Inspector::Impl::push_tensor(const std::string& label, const at::Tensor& value, uint32_t flags) {
  if (!value.defined() || value.numel() != 1)
    throw std::invalid_argument("loupe: push_loss takes a tensor of one element, the loss");
  if (!monitor_.active()) return;
  if (loss_graphs_.add(value)) tell_kept_graphs();
  const LossInView in_view(value);
  if (value.device().is_cpu()) return push(label, value.item<double>(), flags);
  losses_.add(value, label, flags);
}

void Inspector::Impl::find_losses() {
  if (!monitor_.config().redirect || is_of_parent() || finds_.exchange(true)) return;
  const auto* table = part<FindTable>(FindTable::without);
  if (table != nullptr) table->find(*this);
}

void Inspector::Impl::end_finding() {
  const auto* table = opened<FindTable>();
  if (finds_.exchange(false) && table != nullptr) table->forget(*this);
}

void Inspector::Impl::show_first_losses() {
  for (const bool train : {false, true}) {
    const auto first = std::exchange(found_[train].first, {});
    if (first) push_tensor(first->first, first->second, loss_flags(train, /*keep=*/false));
  }
}

void Inspector::Impl::show_loss(const std::string& name, const at::Tensor& value, bool train) {
  if (is_of_parent()) return;
  enter([&] {
    Found& found = found_[train];
    if (found.is_pushed) return;
    if (!std::exchange(found.has_any, true)) {
      found.first.emplace(name, value.detach());
      return;
    }
    show_first_losses();
    push_tensor(name, value, loss_flags(train, /*keep=*/false));
  });
}

void Inspector::Impl::show_metric(const std::string& name, const at::Tensor& value) {
  if (is_of_parent()) return;
  enter([&] {
    if (!found_[0].is_pushed) push_tensor(name, value, /*flags=*/0);
  });
}

std::vector<std::string> Inspector::Impl::models_of(const torch::optim::Optimizer& optimizer) {
  return enter([&] {
    std::vector<std::string> names;
    for (const auto& each : attachments_.all()) {
      if (each->holds_any(optimizer)) names.push_back(each->shown_name());
    }
    return names;
  });
}

void Inspector::Impl::tell_kept_graphs() {
  Finding finding;
  finding.rule = "memory_creep";
  finding.message = "the graphs of the last " + std::to_string(LossGraphs::looked_back) +
                    " steps are all still alive, with everything that their forward passes computed: memory grows with "
                    "each step";
  constexpr double mebibyte = 1 << 20;
  if (loss_graphs_.growth() > mebibyte)
    finding.message += ", so far by " + std::to_string(std::llround(loss_graphs_.growth() / mebibyte)) + " MiB";
  finding.advice =
      "add up loss.item<double>() instead of the loss itself, and detach() outputs before keeping them: a tensor that "
      "requires a gradient keeps its whole graph alive";
  monitor_.publish(finding.c_form(), "loupe");
}

const std::string& Inspector::Impl::loss_name(bool train) const {
  return train ? monitor_.config().train_loss : monitor_.config().validation_loss;
}

std::string Inspector::Impl::attach(torch::nn::Module& model, const std::string& name) {
  return enter([&] {
    attach(model, {}, name, /*is_loss=*/false, /*awaits_optimizers=*/true);
    return attachments_.all().back()->share();
  });
}

void Inspector::Impl::follow_parameters(const std::string& model) {
  enter([&] {
    for (const auto& each : attachments_.all()) {
      if (each->name() == model) each->follow_parameters();
    }
  });
}

void Inspector::Impl::set_hyperparameter(const std::string& name, loupe_option_value value) {
  if (name.empty()) throw std::invalid_argument("loupe: a hyperparameter needs a name");
  const std::string shown = utf8(name);
  value.struct_size = sizeof value;
  value.name = shown.c_str();
  monitor_.display().hyperparameter(value);
}

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
  // A forked child lacks the threads, and its files and locks belong to the parent: it is not watched.
  if (impl_ != nullptr && impl_->is_of_parent()) leave_to_parent(std::shared_ptr<Impl>(std::move(impl_)));
  if (impl_ != nullptr) {
    impl_->finish();  // it calls the trainer's callback, which may attach models
    impl_->end_finding();
  }
  impl_.reset();
}

Inspector Inspector::from_yaml(const std::string& path) {
  const ForksHeld whole;
  offer_services();
  return Inspector(std::make_unique<Impl>(Config::from_file(path)));
}

Inspector Inspector::from_text(const std::string& text, const std::string& name) {
  const ForksHeld whole;
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
  const Config& config = impl().monitor().config();
  const bool finds = config.redirect && (config.find || optimizers.empty());
  if (finds) impl().find_losses();  // first, so that all redirections happen together
  impl().enter([&] { impl().attach(model, pointers_to(optimizers), name, false, finds); });
}
void Inspector::attach(const torch::jit::Module& model, const std::string& name) {
  attach(model, Optimizers(), name);
}
void Inspector::attach(const torch::jit::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  attach(model, Optimizers{optimizer}, name);
}
void Inspector::attach(const torch::jit::Module& model, const Optimizers& optimizers, const std::string& name) {
  const auto* scripts = part<ScriptTable>(without_scripts);
  if (scripts == nullptr) return;
  impl().enter([&] { impl().attach(*scripts->model_of(model), pointers_to(optimizers), name, false); });
}
void Inspector::attach_optimizer(torch::optim::Optimizer& optimizer) {
  impl().enter([&] {
    impl().attachments().attach_optimizer(optimizer);
    impl().loops().choose_clock();
  });
}
void Inspector::attach_ranks(c10d::Store& store, int rank, int world_size) {
  impl().enter([&] {
    if (rank == 0 && world_size == 1) return;
    const auto* ranks = part<RanksTable>(RanksTable::without);
    if (ranks != nullptr) ranks->attach(impl().monitor(), store, rank, world_size);
  });
}

void Inspector::attach_loss(torch::nn::Module& loss, const std::string& name) {
  impl().enter([&] { impl().attach(loss, {}, name, true); });
}
void Inspector::detach(const std::string& name) {
  impl().enter([&] {
    impl().losses().flush();
    impl().attachments().detach(name);
    impl().loops().choose_clock();
  });
}
void Inspector::detach() {
  impl().enter([&] { impl().attachments().detach_all(); });
}

void Inspector::push_loss(double value, bool train, bool keep) {
  impl().enter([&] {
    impl().take_over_losses(train);
    impl().push(impl().loss_name(train), value, loss_flags(train, keep));
  });
}
void Inspector::push_loss(const at::Tensor& value, bool train, bool keep) {
  impl().enter([&] {
    impl().take_over_losses(train);
    impl().push_tensor(impl().loss_name(train), value, loss_flags(train, keep));
  });
}
void Inspector::push_metric(const std::string& name, double value, bool keep) {
  impl().enter([&] { impl().push(name, value, keep ? uint32_t{LOUPE_EVENT_MEMORY} : 0U); });
}
void Inspector::optimizer_stepped() {
  impl().enter([&] {
    impl().loops().note_calling_thread();
    for (const auto& each : impl().attachments().all()) each->stepped_by_hand();
    impl().monitor().end_step();
  });
  step_is_over();
}
void Inspector::expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
  impl().enter([&] { impl().attachments().expose(path, attribute, std::move(get)); });
}

void Inspector::tick_epoch() {
  impl().enter_and_throw([&] { impl().loops().tick(std::nullopt); });
}
void Inspector::tick_epoch(double epoch) {
  impl().enter_and_throw([&] { impl().loops().tick(epoch); });
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
  impl().enter([&] { impl().loops().begin_epochs(first, last); });
  return {this, first, last};
}
/// Whether another epoch follows.
bool Inspector::end_turn(int epoch, bool is_last) {
  if (impl().is_of_parent()) return !is_last;
  impl().enter_and_throw([&] { impl().loops().end_epoch(epoch); });
  return impl().enter([&] {
    if (impl().goes_on(is_last)) {
      impl().loops().begin_next_epoch(epoch + 1);
      return true;
    }
    impl().loops().end_epochs();
    return false;
  });
}
template <>
Epochs::Iterator& Epochs::Iterator::operator++() {
  if (inspector_->end_turn(number_, number_ >= last_)) {
    ++number_;
  } else {
    std::tie(number_, last_) = std::pair(0, -1);  // last_ + 1 could overflow
  }
  return *this;
}

void Inspector::left_loop(bool of_epochs, bool by_exception) noexcept {
  if (impl_ == nullptr || impl_->is_of_parent()) return;
  const std::lock_guard lock(*impl_->monitor().mutex());  // findings are not delivered during an exception
  if (of_epochs) impl_->loops().leave_epochs();
  if (by_exception) impl_->loops().note_exception();
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
  impl().enter([&] { impl().loops().begin_steps(first, last); });
  return {this, first, last};
}
/// Whether another turn follows.
bool Inspector::end_step(bool is_last) {
  if (impl().is_of_parent()) return !is_last;
  impl().enter_and_throw([&] { impl().loops().end_step(); });
  return impl().enter([&] {
    const bool goes_on = impl().goes_on(is_last);
    if (!goes_on) impl().loops().end_steps();
    return goes_on;
  });
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
  return impl().enter([&] {
    const auto value = impl().monitor().query(impl().loss_name(train) + " " + aggregation);
    const Strings& known = aggregation_names();
    if (!value && std::find(known.begin(), known.end(), aggregation) == known.end())
      throw std::invalid_argument("loupe: a loss has no '" + aggregation + "'" + suggestion(aggregation, known) +
                                  "; the aggregations are " + join(known));
    return value;
  });
}
std::optional<double> Inspector::value(const std::string& tag, const std::string& layer,
                                       const std::string& line) const {
  return impl().enter([&] { return impl().monitor().display().last(tag, layer, line); });
}

std::vector<Finding> Inspector::findings() const {
  return impl().enter([&] {
    std::vector<Finding> found;
    for (const loupe_finding* each : impl().monitor().findings().all()) found.push_back(Finding::from(*each));
    return found;
  });
}
void Inspector::on_finding(std::function<void(const Finding&)> callback) {
  impl().enter_unlocked([&] { impl().monitor().outbox()->set_callback(std::move(callback)); });
}
bool Inspector::should_stop() const {
  return impl().enter([&] { return impl().should_stop(); });
}
std::string Inspector::dump(const std::string& why) {
  return impl().enter([&] { return impl().monitor().dump(why); });
}
void Inspector::note(const std::string& text) {
  impl().enter_unlocked([&] { impl().monitor().note(LOUPE_NOTE_TRAINER, text); });
}
void Inspector::set_hyperparameter(const std::string& name, double value) {
  impl().enter([&] { impl().set_hyperparameter(name, {.type = LOUPE_TYPE_NUMBER, .number = value}); });
}
void Inspector::set_hyperparameter(const std::string& name, const std::string& value) {
  const std::string shown = utf8(value);
  impl().enter([&] { impl().set_hyperparameter(name, {.type = LOUPE_TYPE_STRING, .string = shown.c_str()}); });
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
  impl().enter([&] {
    const Config& config = impl().monitor().config();
    const auto visualizers = config.of_this_rank(Config::visualizers_from_text(yaml, config.catalogue));
    impl().monitor().display().replace(visualizers);
    impl().monitor().expect_files_of(visualizers);
  });
}

void leave_models_at_forks() {
  [[maybe_unused]] static const bool once = [] {
    at_fork([] {
      active_attachments.store(0);
      counting_attachments.store(0);
      Registry::instance().abandon();
    });
    return true;
  }();
}

Inspector ProgramInspector::make(Config config) {
  offer_services();
  return Inspector(std::make_unique<Inspector::Impl>(std::move(config)));
}
ProgramInspector& ProgramInspector::of(Inspector& inspector) {
  return inspector.impl();
}

std::size_t Inspector::redirected_calls() {
  return Redirections::instance().active_count();
}

std::string Inspector::coverage() const {
  return impl().enter([&] {
    std::string text;
    for (const auto& attachment : impl().attachments().all()) {
      for (const std::string& line : attachment->coverage()) text += line + "\n";
    }
    return text;
  });
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
