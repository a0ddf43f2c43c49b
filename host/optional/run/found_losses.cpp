#include "run/found_losses.h"

#include <torch/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/locks.h"
#include "core/log.h"
#include "inspector/program_inspector.h"
#include "run/program_losses.h"
#include "run/program_taps.h"
#include "torch/model/registry.h"

namespace loupe {
namespace {

/// The losses of a program, for one inspector, until that ends.
class FoundLosses final : public FoundValues {
 public:
  explicit FoundLosses(FoundValues& values)
      : values_(&values),
        losses_(*this, {values.loss_name(true), values.loss_name(false), {}},
                {[this](const std::string& guess) { guessed(guess); },
                 [this](const std::string& name, const std::string& what) {
                   guessed("'" + name + "' is " + what + "; losses that the trainer pushes replace it");
                 }}) {}
  ProgramLosses& losses() { return losses_; }
  bool is_of(const FoundValues* values) const { return values_ == values; }
  void end() { values_ = nullptr; }

  const std::string& loss_name(bool train) const override { return values_->loss_name(train); }
  void show_loss(const std::string& name, const at::Tensor& value, bool train) override {
    if (values_ != nullptr) values_->show_loss(name, value, train);
  }
  void show_metric(const std::string& name, const at::Tensor& value) override {
    if (values_ != nullptr) values_->show_metric(name, value);
  }
  void note(uint32_t kind, const std::string& text) override {
    if (values_ != nullptr) values_->note(kind, text);
  }
  std::size_t model_count() override { return values_ != nullptr ? values_->model_count() : 0; }
  std::vector<std::string> models_of(const torch::optim::Optimizer& optimizer) override {
    return values_ != nullptr ? values_->models_of(optimizer) : std::vector<std::string>();
  }

 private:
  void guessed(const std::string& text) {
    note(LOUPE_NOTE_GUESS, text);
    if (values_ != nullptr) log(LOUPE_LOG_INFO, text);
  }

  FoundValues* values_;  // null once the inspector has ended
  ProgramLosses losses_;
};

/// The losses of all inspectors of this process.
class AllFound {
 public:
  void add(FoundValues& values) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::make_unique<FoundLosses>(values));
  }
  void remove(const FoundValues& values) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : all_) {
      if (each->is_of(&values)) each->end();
    }
    drop_ended();
  }
  /// A thread that holds an inspector, as a lens that runs a model does, does not wait for one that calls inspectors.
  template <class Call>
  void each(Call&& call) {
    const auto lock = lock_soon(mutex_);
    if (!lock.owns_lock() || running_) return;  // ignore an inspector's own use of a loss
    const Running running(*this);
    for (std::size_t i = 0; i < all_.size(); ++i) call(*all_[i]);
  }

 private:
  /// A callback of the trainer may end an inspector that is in the middle of a call.
  struct Running {
    explicit Running(AllFound& of) : of_(of) { of_.running_ = true; }
    ~Running() {
      of_.running_ = false;
      of_.drop_ended();
    }
    AllFound& of_;
  };
  void drop_ended() {
    if (!running_) std::erase_if(all_, [](const auto& each) { return each->is_of(nullptr); });
  }

  OrderedMutex<std::recursive_mutex, LockRank::program> mutex_;
  std::vector<std::unique_ptr<FoundLosses>> all_;
  bool running_ = false;
};

std::atomic<AllFound*> found{nullptr};

template <class Call>
void each(Call&& call) {
  if (AllFound* all = found.load(std::memory_order_acquire)) all->each(call);
}

const ProgramListener listener = {
    [](const at::Tensor& loss, const void* place) {
      each([&](FoundLosses& of) { of.losses().before_backward(loss, place, of.model_count()); });
    },
    [] { each([](FoundLosses& of) { of.losses().after_backward(); }); },
    [](const at::Tensor& loss, const char* function) {
      each([&](FoundLosses& of) { of.losses().computed(loss, function); });
    },
    [](const at::Tensor& loss, const char* function, const void* place) {
      if (at::GradMode::is_enabled()) return;
      each([&](FoundLosses& of) { of.losses().evaluated(loss, function, place); });
    },
    [](const void*, bool) {},
    [] {}};

const ProgramHooks hooks = {nullptr, nullptr, [](const torch::optim::Optimizer&) {},
                            [](const torch::optim::Optimizer& optimizer) {
                              each([&](FoundLosses& of) { of.losses().before_step(optimizer); });
                            },
                            [](const torch::optim::Optimizer& optimizer) {
                              each([&](FoundLosses& of) {
                                if (of.losses().any_nameless()) of.losses().after_step(of.models_of(optimizer));
                              });
                            }};

/// Leaves the parent's inspectors to the parent, and the lock that one of its threads may hold.
void begin_in_child() {
  if (found.load() != nullptr) found.store(new AllFound());
}

}  // namespace

void find_losses_for(FoundValues& values) {
  // Under `loupe run` losses go to its own inspector.
  static const bool is_first = [] {
    if (hooks_of_program() != nullptr) return false;
    found.store(new AllFound());  // taps may outlive static destruction
    declare_program_taps(listener);
    set_hooks_of_program(&hooks);
    at_fork(&begin_in_child);
    return true;
  }();
  if (is_first) found.load()->add(values);
}

void forget_losses_for(const FoundValues& values) {
  if (AllFound* all = found.load(std::memory_order_acquire)) all->remove(values);
}

}  // namespace loupe
