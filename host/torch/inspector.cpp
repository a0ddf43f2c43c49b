#include "loupe/inspector.h"

#include <loupe/lines.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "config/suggestion.h"
#include "core/log.h"
#include "core/utf8.h"
#include "pipeline/monitor.h"
#include "plugins/component_host.h"
#include "torch/attachment.h"
#include "torch/device_measurer.h"
#include "torch/program_inspector.h"
#include "torch/redirections.h"
#include "torch/retained_tensor.h"
#include "torch/script_model.h"
#include "torch/services.h"
#include "torch/tensor_file.h"
#include "torch/thread_pool.h"

namespace loupe {

class Inspector::Impl {
 public:
  explicit Impl(Config config) : monitor_(std::move(config)) {
    monitor_.set_before_tick([this] {
      flush_losses();
      for (const auto& attachment : attachments_) attachment->tick();
    });
    monitor_.set_optimizers([this] {
      std::vector<const loupe_optimizer*> optimizers;
      for (const auto& attachment : attachments_) attachment->list_optimizers(optimizers);
      return optimizers;
    });
    monitor_.findings().set_listener([this](const loupe_finding& told) { take_finding(told); });
    monitor_.set_save_tensor([](const loupe_tensor& tensor, const std::filesystem::path& file) {
      save_tensors({native_tensor(&tensor).detach()}, false, file);
    });
    monitor_.set_on_resume([this] {
      for (const auto& attachment : attachments_) attachment->prime();
    });
    monitor_.set_on_look([this] {
      apply_activity();
      if (!monitor_.looks()) return;
      for (const auto& attachment : attachments_) attachment->prime();
    });
    monitor_.set_on_due([this] {
      if (thread_ == std::this_thread::get_id()) tick_if_due();
    });
  }
  ~Impl() {
    try {
      if (std::uncaught_exceptions() == 0) tick_rest();
      flush_losses();
    } catch (const std::exception& e) {
      log(LOUPE_LOG_WARNING, std::string("the losses since the last tick cannot be read: ") + e.what());
    }
    detach_all();
    tell_unthrown();
  }

  Monitor& monitor() { return monitor_; }
  std::recursive_mutex& mutex() { return *mutex_; }

  void attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
              const std::string& name, bool is_loss, bool awaits_optimizers = false) {
    const std::lock_guard lock(*mutex_);
    for (const auto& other : attachments_) {
      if (other->name() == name) {
        throw std::invalid_argument("loupe: a model is attached under the name '" + name +
                                    "' already; give each its own: attach(model, optimizer, \"name\"), or, for one "
                                    "more optimizer of the same model, call attach_optimizer(optimizer)");
      }
    }
    auto attachment = std::make_shared<Attachment>(monitor_, mutex_, name);
    attachment->attach(model, optimizers, exposed_, is_loss);
    if (awaits_optimizers) attachment->await_optimizers();
    attachments_.push_back(attachment);
    came();
    choose_clock();
    if (monitor_.config().list_modules) {
      for (const std::string& line : attachment->coverage()) log(LOUPE_LOG_INFO, line);
    }
    if (monitor_.config().summary) log(LOUPE_LOG_INFO, attachment->summary());
  }

  /// Without any lock: threads that are no more in this process may hold it.
  void abandon() {
    for (const auto& attachment : attachments_) attachment->abandon();
  }

  void attach_optimizer(torch::optim::Optimizer& optimizer) {
    const std::lock_guard lock(*mutex_);
    bool any = false;
    for (const auto& attachment : attachments_) {
      if (!attachment->holds_any(optimizer)) continue;
      attachment->attach_optimizer(optimizer);
      any = true;
    }
    choose_clock();
    if (!any)
      throw std::invalid_argument(
          "loupe: the optimizer given to attach_optimizer holds no parameter of a model that is attached; attach its "
          "model first");
  }

  void detach(const std::string& name) {
    const std::lock_guard lock(*mutex_);
    const auto found =
        std::find_if(attachments_.begin(), attachments_.end(), [&](const auto& each) { return each->name() == name; });
    if (found == attachments_.end())
      throw std::invalid_argument("loupe: no model is attached under the name '" + name + "'");
    flush_losses();
    (*found)->detach();
    attachments_.erase(found);
    choose_clock();
  }

  void detach_all() {
    const std::lock_guard lock(*mutex_);
    for (const auto& attachment : attachments_) attachment->detach();
    attachments_.clear();
  }

  void push(const std::string& label, double value, uint32_t flags) {
    const std::lock_guard lock(*mutex_);
    throw_finding();
    came();
    tick_if_due();
    monitor_.push(label, value, flags);
  }

  void push_loss(const at::Tensor& value, bool train, bool keep) {
    push_tensor(loss_name(train), value, loss_flags(train, keep));
  }

  void push_tensor(const std::string& label, const at::Tensor& value, uint32_t flags) {
    if (!value.defined() || value.numel() != 1) {
      throw std::invalid_argument("loupe: push_loss takes a tensor of one element, the loss");
    }
    const std::lock_guard lock(*mutex_);
    if (!monitor_.active()) return;
    if (value.device().is_cpu()) return push(label, value.item<double>(), flags);
    losses_.push_back({value.detach(), label, flags});
  }

  const std::string& loss_name(bool train) {
    return train ? monitor_.config().train_loss : monitor_.config().validation_loss;
  }
  static uint32_t loss_flags(bool train, bool keep) {
    uint32_t flags = LOUPE_EVENT_LOSS;
    if (train) flags |= LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
    if (keep) flags |= LOUPE_EVENT_MEMORY;
    return flags;
  }

  void optimizer_stepped() {
    const std::lock_guard lock(*mutex_);
    came();
    for (const auto& attachment : attachments_) attachment->stepped_by_hand();
    monitor_.end_step();
  }

  void expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
    const std::lock_guard lock(*mutex_);
    if (!attachments_.empty())
      log(LOUPE_LOG_WARNING, "expose('" + path + "', '" + attribute +
                                 "') comes after attach, which has looked for attributes; only models attached from "
                                 "now on show it");
    exposed_[{path, attribute}] = std::move(get);
  }

  void tick(std::optional<double> epoch) {
    if (epoch && !std::isfinite(*epoch))
      throw std::invalid_argument("loupe: tick_epoch takes the epoch's number, not " + std::to_string(*epoch));
    const std::lock_guard lock(*mutex_);
    throw_finding();
    came();
    if (!epoch && turn_ && !turn_ticked_ && !ticks_by_itself()) epoch = turn_;
    monitor_.tick(epoch);
    if (turn_ && monitor_.epoch() == *turn_) turn_ticked_ = true;
    apply_activity();
    throw_finding();
  }

  /// Before the first turn of a loop.
  void begin_turns(int first, int last) {
    const std::lock_guard lock(*mutex_);
    const Config& config = monitor_.config();
    if (first > 1 && monitor_.epoch() == 0 && !config.resume && !config.visualizers.empty())
      log(LOUPE_LOG_WARNING, "the epochs begin at " + std::to_string(first) +
                                 ", as of a run that goes on, but the configuration does not say run: {resume: true}, "
                                 "so that a record of the epochs before is not continued; was it meant?");
    came();
    if (ticks_by_itself()) {
      log(LOUPE_LOG_WARNING, "the trainer loops over epochs, and the configuration says to tick every " +
                                 config.tick.words() +
                                 " (run.tick): ticks come by that alone, and what is shown as an epoch is the stretch "
                                 "between two of them; without run.tick they come with the trainer's epochs");
    } else {
      monitor_.begin_epochs_at(first);
      monitor_.set_epochs(last);
    }
    turn_ = first;
    turn_ticked_ = false;
  }
  bool end_turn(int epoch, bool is_last) {
    const std::lock_guard lock(*mutex_);
    came();
    if (ticks_by_itself()) {
      tick_if_due();
      throw_finding();
    } else if (turn_ != epoch || !turn_ticked_) {
      tick(epoch);
    }
    turn_ = epoch + 1;
    const bool goes_on = !is_last && !should_stop_;
    if (!goes_on) tick_rest();
    if (!goes_on) turn_.reset();
    turn_ticked_ = false;
    return goes_on;
  }

  bool ticks_by_itself() const { return monitor_.config().tick.is_automatic(); }
  /// Before the first turn of a loop over steps.
  void begin_steps(std::int64_t first, std::int64_t last) {
    const std::lock_guard lock(*mutex_);
    came();
    const Config& config = monitor_.config();
    if (first < 1 || last < first - 1)
      throw std::invalid_argument("loupe: steps() counts from 1 on, not from " + std::to_string(first) + " to " +
                                  std::to_string(last));
    if (first > 1 && monitor_.step() == 0 && !config.resume && !config.visualizers.empty())
      log(LOUPE_LOG_WARNING, "the steps begin at " + std::to_string(first) +
                                 ", as of a run that goes on, but the configuration does not say run: {resume: true}, "
                                 "so that a record of the steps before is not continued; was it meant?");
    if (!ticks_by_itself())
      log(LOUPE_LOG_WARNING,
          "the trainer loops over steps, and the configuration says nothing of when to tick, so that all is shown at "
          "the loop's end; set run: {tick: {steps: 500}} or {seconds: 30}, or call tick_epoch() in the loop");
    const auto before = static_cast<std::uint64_t>(first - 1);
    if (monitor_.step() != before) monitor_.begin_after(before);
    const std::uint64_t stretch = config.tick.steps;
    if (config.tick.by == TickRule::By::steps)
      monitor_.set_epochs(static_cast<double>((static_cast<std::uint64_t>(last) + stretch - 1) / stretch));
  }
  bool end_step(bool is_last) {
    const std::lock_guard lock(*mutex_);
    came();
    const bool has_optimizer =
        std::any_of(attachments_.begin(), attachments_.end(), [](const auto& each) { return each->has_optimizer(); });
    if (!has_optimizer) {
      monitor_.note_step();
      monitor_.end_step();
    }
    tick_if_due();
    throw_finding();
    const bool goes_on = !is_last && !should_stop_;
    if (goes_on) return true;
    if (ticks_by_itself()) {
      tick_rest();
    } else {
      tick(std::nullopt);
    }
    return false;
  }

  std::vector<Finding> findings() const {
    const std::lock_guard lock(*mutex_);
    std::vector<Finding> found;
    for (const loupe_finding* each : monitor_.findings().all()) found.push_back(Finding::from(*each));
    return found;
  }
  void on_finding(std::function<void(const Finding&)> callback) {
    const std::lock_guard lock(*mutex_);
    on_finding_ = std::move(callback);
  }
  bool should_stop() const {
    const std::lock_guard lock(*mutex_);
    return should_stop_;
  }
  void set_hyperparameter(const std::string& name, loupe_option_value value) {
    if (name.empty()) throw std::invalid_argument("loupe: a hyperparameter needs a name");
    const std::lock_guard lock(*mutex_);
    const std::string shown = utf8(name);
    value.struct_size = sizeof value;
    value.name = shown.c_str();
    monitor_.display().hyperparameter(value);
  }

  std::optional<double> loss(bool train, const std::string& aggregation) {
    const std::lock_guard lock(*mutex_);
    const auto value = monitor_.query(loss_name(train) + " " + aggregation);
    const Strings& known = aggregation_names();
    if (!value && std::find(known.begin(), known.end(), aggregation) == known.end())
      throw std::invalid_argument("loupe: a loss has no '" + aggregation + "'" + suggestion(aggregation, known) +
                                  "; the aggregations are " + list_of(known));
    return value;
  }

  void apply_activity() {
    for (const auto& attachment : attachments_) attachment->set_active(monitor_.looks());
  }

  std::string coverage() const {
    const std::lock_guard lock(*mutex_);
    std::string text;
    for (const auto& attachment : attachments_) {
      for (const std::string& line : attachment->coverage()) text += line + "\n";
    }
    return text;
  }

 private:
  static std::string list_of(const Strings& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
  }

  /// What the YAML's `on_finding` says, once a finding is raised.
  void take_finding(const loupe_finding& told) {
    if (told.state == LOUPE_FINDING_RAISED) {
      const Config& config = monitor_.config();
      const std::string& answer = told.severity == LOUPE_SEVERITY_ERROR     ? config.on_finding_error
                                  : told.severity == LOUPE_SEVERITY_WARNING ? config.on_warning
                                                                            : config.on_info;
      if (answer == "stop" && !std::exchange(should_stop_, true))
        log(LOUPE_LOG_WARNING, "training is asked to stop, as on_finding says, because of the finding '" +
                                   std::string(told.rule) + "': " + told.message);
      if (answer == "throw" && !to_throw_)
        to_throw_ = std::make_exception_ptr(std::runtime_error("loupe: the finding '" + std::string(told.rule) +
                                                               "', which on_finding says to throw: " + told.message));
    }
    if (!on_finding_) return;
    try {
      on_finding_(Finding::from(told));
    } catch (...) {
      // Thrown from here, it would pass through the lens that tells the finding, as if that had failed.
      if (!to_throw_) to_throw_ = std::current_exception();
    }
  }
  void throw_finding() {
    if (to_throw_) std::rethrow_exception(std::exchange(to_throw_, nullptr));
  }
  void tell_unthrown() {
    try {
      throw_finding();
    } catch (const std::exception& e) {
      log(LOUPE_LOG_WARNING, std::string("the inspector ended before it could throw: ") + e.what());
    } catch (...) {
      log(LOUPE_LOG_WARNING, "the inspector ended before it could throw what the callback of on_finding threw");
    }
  }

  /// The thread that a tick may come on by itself: the one that called last.
  void came() { thread_ = std::this_thread::get_id(); }
  void tick_if_due() {
    tell_missing_clock();
    if (monitor_.tick_if_due()) apply_activity();
  }
  /// Models are all attached by the time that a trainer tells of its losses.
  void tell_missing_clock() {
    if (!clock_is_missing_ || std::exchange(told_of_clock_, true)) return;
    std::vector<std::string> names;
    for (const auto& each : attachments_) names.push_back(each->shown_name());
    const std::string& name = monitor_.config().tick.of;
    const std::string what = clock_was_there_
                                 ? "', a model that is detached: from now on no step counts and nothing ticks by "
                                   "itself; name another one, or call tick_epoch()"
                                 : "', which no attached model is called, so that no step counts and nothing "
                                   "ticks by itself until one is" +
                                       suggestion(name, names);
    log(LOUPE_LOG_WARNING, "run.tick.of names '" + name + what);
  }
  void tick_rest() {
    const std::lock_guard lock(*mutex_);
    if (!clock_was_there_) tell_missing_clock();  // who detaches all, one after another, loses nothing
    monitor_.tick_rest();
    apply_activity();
  }
  /// Whose steps are the run's.
  void choose_clock() {
    const std::string& name = monitor_.config().tick.of;
    auto chosen = std::find_if(attachments_.begin(), attachments_.end(), [&](const auto& each) {
      return name.empty() ? each->has_optimizer() : each->name() == name;
    });
    if (chosen == attachments_.end() && name.empty()) chosen = attachments_.begin();
    if (chosen == attachments_.end()) {
      chosen = std::find_if(attachments_.begin(), attachments_.end(),
                            [&](const auto& each) { return each->shown_name() == name; });
    }
    for (auto each = attachments_.begin(); each != attachments_.end(); ++each) (*each)->set_clock(each == chosen);
    if (chosen != attachments_.end()) {
      clock_was_there_ = true;
      told_of_clock_ = false;
    }
    clock_is_missing_ = chosen == attachments_.end() && !attachments_.empty();
  }

  struct PendingLoss {
    at::Tensor value;
    std::string label;
    uint32_t flags;
  };

  /// Losses on a device come over in one copy.
  void flush_losses() {
    if (losses_.empty()) return;
    const std::vector<PendingLoss> losses = std::exchange(losses_, {});
    const at::Device device = losses[0].value.device();
    std::vector<at::Tensor> values;
    for (const PendingLoss& loss : losses) values.push_back(loss.value.to(device, at::kDouble).reshape({1}));
    const at::Tensor all = at::cat(values).cpu();
    for (std::size_t i = 0; i < losses.size(); ++i) {
      monitor_.push(losses[i].label, all.data_ptr<double>()[i], losses[i].flags);
    }
  }

  const std::shared_ptr<std::recursive_mutex> mutex_ = std::make_shared<std::recursive_mutex>();
  Monitor monitor_;
  Exposed exposed_;
  std::vector<std::shared_ptr<Attachment>> attachments_;
  std::vector<PendingLoss> losses_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::optional<int> turn_;  ///< the epoch of the loop over epochs() that is on
  bool turn_ticked_ = false;
  bool clock_was_there_ = false;
  bool clock_is_missing_ = false, told_of_clock_ = false;
  std::function<void(const Finding&)> on_finding_;
  bool should_stop_ = false;
  std::exception_ptr to_throw_;  ///< at the next call of the trainer's
};

namespace {

void offer_services() {
  static const bool once = [] {
    offer_interface(LOUPE_TENSORS_ID, &tensor_service());
    offer_interface(LOUPE_TENSOR_MATH_ID, &tensor_math_service());
    offer_interface(LOUPE_TENSOR_FILES_ID, &tensor_files_service());
    offer_interface(LOUPE_DLPACK_ID, &dlpack_service());
    set_device_measurer_factory(&make_device_measurer);
    measure::Measurer::set_parallel_for(threads_of_libtorch());
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

Inspector::Inspector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Inspector::Inspector(Inspector&&) noexcept = default;
Inspector& Inspector::operator=(Inspector&&) noexcept = default;
Inspector::~Inspector() = default;

Inspector Inspector::from_yaml(const std::string& path) {
  offer_services();
  return Inspector(std::make_unique<Impl>(Config::from_file(path)));
}

Inspector Inspector::from_text(const std::string& text, const std::string& name) {
  offer_services();
  return Inspector(std::make_unique<Impl>(Config::from_text(text, name, ".")));
}

void Inspector::attach(torch::nn::Module& model, const std::string& name) {
  impl_->attach(model, {}, name, false);
}
void Inspector::attach(torch::nn::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  impl_->attach(model, {&optimizer}, name, false);
}
void Inspector::attach(torch::nn::Module& model,
                       const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
                       const std::string& name) {
  std::vector<torch::optim::Optimizer*> all;
  for (torch::optim::Optimizer& each : optimizers) all.push_back(&each);
  impl_->attach(model, all, name, false);
}
void Inspector::attach(const torch::jit::Module& model, const std::string& name) {
  impl_->attach(*ScriptModel::of(model), {}, name, false);
}
void Inspector::attach(const torch::jit::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  impl_->attach(*ScriptModel::of(model), {&optimizer}, name, false);
}
void Inspector::attach(const torch::jit::Module& model,
                       const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
                       const std::string& name) {
  std::vector<torch::optim::Optimizer*> all;
  for (torch::optim::Optimizer& each : optimizers) all.push_back(&each);
  impl_->attach(*ScriptModel::of(model), all, name, false);
}
void Inspector::attach_optimizer(torch::optim::Optimizer& optimizer) {
  impl_->attach_optimizer(optimizer);
}
void Inspector::attach_loss(torch::nn::Module& loss, const std::string& name) {
  impl_->attach(loss, {}, name, true);
}
void Inspector::detach(const std::string& name) {
  impl_->detach(name);
}
void Inspector::detach() {
  impl_->detach_all();
}

void Inspector::push_loss(double value, bool train, bool keep) {
  impl_->push(impl_->loss_name(train), value, Impl::loss_flags(train, keep));
}
void Inspector::push_loss(const at::Tensor& value, bool train, bool keep) {
  impl_->push_loss(value, train, keep);
}
void Inspector::push_metric(const std::string& name, double value, bool keep) {
  impl_->push(name, value, keep ? uint32_t{LOUPE_EVENT_MEMORY} : 0U);
}
void Inspector::optimizer_stepped() {
  impl_->optimizer_stepped();
}
void Inspector::expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
  impl_->expose(path, attribute, std::move(get));
}

void Inspector::tick_epoch() {
  impl_->tick(std::nullopt);
}
void Inspector::tick_epoch(double epoch) {
  impl_->tick(epoch);
}
Epochs Inspector::epochs(int count) {
  const int before = static_cast<int>(impl_->monitor().epoch());
  return epochs(before + 1, before + count);
}
Epochs Inspector::epochs(int first, int last) {
  impl_->begin_turns(first, last);
  return {this, first, last};
}
/// Whether another turn follows.
bool Inspector::end_turn(int epoch, bool is_last) {
  return impl_->end_turn(epoch, is_last);
}
Epochs::Iterator& Epochs::Iterator::operator++() {
  const bool goes_on = inspector_->end_turn(epoch_, epoch_ >= last_);
  epoch_ = goes_on ? epoch_ + 1 : last_ + 1;
  return *this;
}

Steps Inspector::steps(std::int64_t count) {
  const auto before = static_cast<std::int64_t>(impl_->monitor().step());
  return steps(before + 1, before + count);
}
Steps Inspector::steps(std::int64_t first, std::int64_t last) {
  impl_->begin_steps(first, last);
  return {this, first, last};
}
/// Whether another turn follows.
bool Inspector::end_step(bool is_last) {
  return impl_->end_step(is_last);
}
Steps::Iterator& Steps::Iterator::operator++() {
  const bool goes_on = inspector_->end_step(step_ >= last_);
  step_ = goes_on ? step_ + 1 : last_ + 1;
  return *this;
}

std::optional<double> Inspector::loss(bool train, const std::string& aggregation) const {
  return impl_->loss(train, aggregation);
}
std::optional<double> Inspector::value(const std::string& tag, const std::string& layer,
                                       const std::string& line) const {
  const std::lock_guard lock(impl_->mutex());
  return impl_->monitor().display().last(tag, layer, line);
}

std::vector<Finding> Inspector::findings() const {
  return impl_->findings();
}
void Inspector::on_finding(std::function<void(const Finding&)> callback) {
  impl_->on_finding(std::move(callback));
}
bool Inspector::should_stop() const {
  return impl_->should_stop();
}
std::string Inspector::dump(const std::string& why) {
  const std::lock_guard lock(impl_->mutex());
  return impl_->monitor().dump(why);
}
void Inspector::note(const std::string& text) {
  impl_->monitor().note(LOUPE_NOTE_TRAINER, text);
}
void Inspector::set_hyperparameter(const std::string& name, double value) {
  loupe_option_value number{};
  number.type = LOUPE_OPTION_NUMBER;
  number.number = value;
  impl_->set_hyperparameter(name, number);
}
void Inspector::set_hyperparameter(const std::string& name, const std::string& value) {
  const std::string shown = utf8(value);
  loupe_option_value text{};
  text.type = LOUPE_OPTION_STRING;
  text.string = shown.c_str();
  impl_->set_hyperparameter(name, text);
}

void Inspector::set_active(ActiveWhen when) {
  if (!when) throw std::invalid_argument("loupe: set_active takes a function of the tick's number, not an empty one");
  const std::lock_guard lock(impl_->mutex());
  impl_->monitor().set_active(std::move(when));
  impl_->apply_activity();
}
bool Inspector::is_active() const {
  const std::lock_guard lock(impl_->mutex());
  return impl_->monitor().active();
}

void Inspector::set_directory(const std::string& directory) {
  const std::lock_guard lock(impl_->mutex());
  impl_->monitor().set_directory(directory);
}
void Inspector::set_visualizers(const std::string& yaml) {
  const std::lock_guard lock(impl_->mutex());
  const Config& config = impl_->monitor().config();
  auto visualizers = Config::visualizers_from_text(yaml, config.catalogue);
  if (!config.master) return;
  impl_->monitor().display().replace(visualizers);
  impl_->monitor().expect_files_of(visualizers);
}

Inspector ProgramInspector::make(Config config) {
  offer_services();
  return Inspector(std::make_unique<Inspector::Impl>(std::move(config)));
}
void ProgramInspector::attach(Inspector& inspector, torch::nn::Module& model, const std::string& name) {
  inspector.impl_->attach(model, {}, name, /*is_loss=*/false, /*awaits_optimizers=*/true);
}
void ProgramInspector::push(Inspector& inspector, const std::string& label, const at::Tensor& value) {
  inspector.impl_->push_tensor(label, value, 0);
}
void ProgramInspector::abandon(Inspector inspector) {
  Inspector::Impl* left = inspector.impl_.release();  // its threads are not in this process, and its files another's
  if (left != nullptr) left->abandon();
}

std::size_t Inspector::redirected_calls() {
  return Redirections::instance().active_count();
}

std::string Inspector::coverage() const {
  return impl_->coverage();
}

}  // namespace loupe
