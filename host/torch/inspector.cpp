#include "loupe/inspector.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "core/host_interface.h"
#include "core/log.h"
#include "core/monitor.h"
#include "torch/attachment.h"
#include "torch/device_measurer.h"
#include "torch/redirections.h"
#include "torch/tensor_view.h"
#include "torch/thread_pool.h"

namespace loupe {

class Inspector::Impl {
 public:
  explicit Impl(Config config) : monitor_(std::move(config)) {
    monitor_.set_before_tick([this] {
      flush_losses();
      for (const auto& attachment : attachments_) attachment->tick();
    });
    monitor_.set_on_resume([this] {
      for (const auto& attachment : attachments_) attachment->prime();
    });
  }
  ~Impl() { detach_all(); }

  Monitor& monitor() { return monitor_; }
  std::recursive_mutex& mutex() { return mutex_; }

  void attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const std::string& name, bool is_loss) {
    const std::lock_guard lock(mutex_);
    for (const auto& other : attachments_) {
      if (other->name() == name) {
        throw std::invalid_argument("loupe: a model is attached under the name '" + name +
                                    "' already; give each its own: attach(model, optimizer, \"name\")");
      }
    }
    auto attachment = std::make_shared<Attachment>(monitor_, mutex_, name);
    attachment->attach(model, optimizer, exposed_, is_loss);
    attachments_.push_back(attachment);
    if (monitor_.config().list_modules) {
      for (const std::string& line : attachment->coverage()) log(LOUPE_LOG_INFO, line);
    }
    log(LOUPE_LOG_INFO, attachment->summary());
    describe_models();
  }

  void detach(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(attachments_.begin(), attachments_.end(), [&](const auto& each) { return each->name() == name; });
    if (found == attachments_.end())
      throw std::invalid_argument("loupe: no model is attached under the name '" + name + "'");
    flush_losses();
    (*found)->detach();
    attachments_.erase(found);
  }

  void detach_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& attachment : attachments_) attachment->detach();
    attachments_.clear();
  }

  void push(const std::string& label, double value, uint32_t flags) {
    const std::lock_guard lock(mutex_);
    monitor_.push(label, value, flags);
  }

  void push_loss(const at::Tensor& value, bool train, bool keep) {
    if (!value.defined() || value.numel() != 1) {
      throw std::invalid_argument("loupe: push_loss takes a tensor of one element, the loss");
    }
    const std::lock_guard lock(mutex_);
    if (!monitor_.active()) return;
    if (value.device().is_cpu()) return push(loss_name(train), value.item<double>(), loss_flags(train, keep));
    losses_.push_back({value.detach(), train, keep});
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
    for (const auto& attachment : attachments_) attachment->after_step();
  }

  void expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
    if (!attachments_.empty())
      log(LOUPE_LOG_WARNING, "expose('" + path + "', '" + attribute +
                                 "') comes after attach, which has looked for attributes; only models attached from "
                                 "now on show it");
    exposed_[{path, attribute}] = std::move(get);
  }

  void tick(std::optional<double> epoch) {
    const std::lock_guard lock(mutex_);
    monitor_.tick(epoch);
    apply_activity();
  }

  void apply_activity() {
    for (const auto& attachment : attachments_) attachment->set_active(monitor_.active());
  }

  std::string coverage() const {
    std::string text;
    for (const auto& attachment : attachments_) {
      for (const std::string& line : attachment->coverage()) text += line + "\n";
    }
    return text;
  }

 private:
  struct PendingLoss {
    at::Tensor value;
    bool train, keep;
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
      push(loss_name(losses[i].train), all.data_ptr<double>()[i], loss_flags(losses[i].train, losses[i].keep));
    }
  }

  void describe_models() {
    RunDescription run = monitor_.display().run();
    run.models = "[";
    for (const auto& attachment : attachments_) {
      if (run.models.size() > 1) run.models += ",";
      run.models += attachment->description();
    }
    run.models += "]";
    monitor_.display().set_run(std::move(run));
  }

  std::recursive_mutex mutex_;
  Monitor monitor_;
  Attachment::Exposed exposed_;
  std::vector<std::shared_ptr<Attachment>> attachments_;
  std::vector<PendingLoss> losses_;
};

namespace {

void offer_services() {
  static const bool once = [] {
    offer_interface(LOUPE_TENSORS_ID, &tensor_service());
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
  impl_->attach(model, nullptr, name, false);
}
void Inspector::attach(torch::nn::Module& model, torch::optim::Optimizer& optimizer, const std::string& name) {
  impl_->attach(model, &optimizer, name, false);
}
void Inspector::attach_loss(torch::nn::Module& loss, const std::string& name) {
  impl_->attach(loss, nullptr, name, true);
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
  impl_->monitor().set_epochs(last);
  return {this, first, last};
}
Epochs::Iterator& Epochs::Iterator::operator++() {
  inspector_->tick_epoch(epoch_);
  ++epoch_;
  return *this;
}

std::optional<double> Inspector::loss(bool train, const std::string& aggregation) const {
  return impl_->monitor().query(impl_->loss_name(train) + " " + aggregation);
}
std::optional<double> Inspector::value(const std::string& tag, const std::string& layer,
                                       const std::string& line) const {
  return impl_->monitor().display().last(tag, layer, line);
}

void Inspector::set_active(ActiveWhen when) {
  if (!when) throw std::invalid_argument("loupe: set_active takes a function of the tick's number, not an empty one");
  const std::lock_guard lock(impl_->mutex());
  impl_->monitor().set_active(std::move(when));
  impl_->apply_activity();
}
bool Inspector::is_active() const {
  return impl_->monitor().active();
}

void Inspector::set_directory(const std::string& directory) {
  const std::lock_guard lock(impl_->mutex());
  Display& display = impl_->monitor().display();
  RunDescription run = display.run();
  run.directory = directory;
  display.set_run(std::move(run));
}
void Inspector::set_visualizers(const std::string& yaml) {
  const std::lock_guard lock(impl_->mutex());
  const Config& config = impl_->monitor().config();
  auto visualizers = Config::visualizers_from_text(yaml, config.catalogue);
  if (config.master) impl_->monitor().display().replace(visualizers);
}

std::size_t Inspector::redirected_calls() {
  return Redirections::instance().active_count();
}

std::string Inspector::coverage() const {
  return impl_->coverage();
}

}  // namespace loupe
