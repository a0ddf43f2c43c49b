#include "inspector/inspector_impl.h"

#include <loupe/detail/lines.h>
#include <loupe/text/finding_text.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.h"
#include "core/text.h"
#include "ranks/c10d_store.h"
#include "ranks/join_ranks.h"
#include "torch/tensor/retained_tensor.h"
#include "torch/tensor/tensor_file.h"

namespace loupe {

void FindingPolicy::answer(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_RAISED) {
    const std::string& answer = monitor_.config().answer_to(finding.severity);
    const std::string words = "the finding '" + std::string(finding.rule) + "'";
    if (answer == "stop" && !std::exchange(should_stop_, true))
      log(LOUPE_LOG_WARNING,
          "training is asked to stop, as on_finding says, because of " + words + ": " + message_with_place(finding));
    if (answer == "throw")
      monitor_.outbox()->keep(std::make_exception_ptr(
          std::runtime_error("loupe: " + words + ", which on_finding says to throw: " + message_with_place(finding))));
  }
  monitor_.outbox()->queue_for_delivery(finding);
}

namespace {

/// Adds this process to those that a launcher started together.
Config joined(Config config) {
  config.join(Launch::from_environment());
  log_as_rank(config.launch.rank);
  return config;
}

}  // namespace

Inspector::Impl::Impl(Config config) : monitor_(joined(std::move(config)), this) {
  join_ranks(monitor_);
}

void Inspector::Impl::finish() {
  if (calls_.ends_by_exception()) monitor_.end(LOUPE_END_FAILED, "an exception left the training loop");
  {
    const std::lock_guard lock(*monitor_.mutex());
    try {
      if (std::uncaught_exceptions() == 0) due_.tick_rest();
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

/// Once per inspector.
void Inspector::Impl::warn_of_parent() {
  if (warned_of_parent_.exchange(true)) return;
  const LogToStderr past_the_sink;  // which may wait for a thread of the parent
  log(LOUPE_LOG_WARNING,
      "this process was forked from one that has an inspector, and calls it: nothing is watched or written here; make "
      "an inspector of its own after the fork");
}

void Inspector::Impl::warn_of_unthrown() {
  try {
    monitor_.outbox()->rethrow();
  } catch (const std::exception& e) {
    log(LOUPE_LOG_WARNING, std::string("the inspector ended before it could throw: ") + e.what());
  } catch (...) {
    log(LOUPE_LOG_WARNING, "the inspector ended before it could throw what the callback of on_finding threw");
  }
}

void Inspector::Impl::before_tick() {
  losses_.flush();
  attachments_.tick();
}

SaveTensor Inspector::Impl::tensor_saver() {
  return [](const loupe_tensor& tensor, const std::filesystem::path& file) {
    save_tensors({native_tensor(&tensor).detach()}, false, file);
  };
}

void Inspector::Impl::attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
                             const std::string& name, bool is_loss, bool awaits_optimizers) {
  attachments_.attach(model, optimizers, name, is_loss, awaits_optimizers);
  calls_.note_calling_thread();
  clock_.choose();
}

void Inspector::Impl::attach_optimizer(torch::optim::Optimizer& optimizer) {
  attachments_.attach_optimizer(optimizer);
  clock_.choose();
}

void Inspector::Impl::attach_ranks(c10d::Store& store, int rank, int world_size) {
  if (rank < 0 || rank >= world_size)
    throw std::invalid_argument("loupe: there is no rank " + std::to_string(rank) + " of " +
                                std::to_string(world_size));
  const Config& config = monitor_.config();
  if (!config.ranks.on || world_size == 1) return;
  if (monitor_.has_ticked()) throw std::logic_error("loupe: attach_ranks comes before the first tick");
  Launch launch = config.launch;
  if (launch.world_size == 1) {
    launch.rank = rank;
    launch.world_size = world_size;
    log_as_rank(rank);
    monitor_.join(launch);
  } else if (launch.rank != rank || launch.world_size != world_size) {
    throw std::invalid_argument("loupe: attach_ranks is told rank " + std::to_string(rank) + " of " +
                                std::to_string(world_size) + ", and the launcher said " + std::to_string(launch.rank) +
                                " of " + std::to_string(launch.world_size));
  }
  join_ranks(monitor_, store_beside(store, exchange_prefix(config, MeetingPlace::of_job), rank_timeout(config)));
}

void Inspector::Impl::detach(const std::string& name) {
  losses_.flush();
  attachments_.detach(name);
  clock_.choose();
}

void Inspector::Impl::optimizer_stepped() {
  calls_.note_calling_thread();
  attachments_.stepped_by_hand();
  monitor_.end_step();
}

void Inspector::Impl::push(const std::string& label, double value, uint32_t flags) {
  monitor_.outbox()->rethrow();
  calls_.note_calling_thread();
  due_.tick_if_due();
  monitor_.push(label, value, flags);
}

void Inspector::Impl::push_tensor(const std::string& label, const at::Tensor& value, uint32_t flags) {
  if (!value.defined() || value.numel() != 1)
    throw std::invalid_argument("loupe: push_loss takes a tensor of one element, the loss");
  if (!monitor_.active()) return;
  if (loss_graphs_.add(value)) tell_kept_graphs();
  if (value.device().is_cpu()) return push(label, value.item<double>(), flags);
  losses_.add(value, label, flags);
}

void Inspector::Impl::tell_kept_graphs() {
  Finding finding;
  finding.rule = "memory_creep";
  finding.message = "the graphs of the last " + std::to_string(LossGraphs::looked_back) +
                    " steps are all still alive, and with them what their forward passes computed: memory grows with "
                    "each step";
  constexpr double mebibyte = 1 << 20;
  if (loss_graphs_.growth() > mebibyte)
    finding.message += ", so far by " + std::to_string(std::llround(loss_graphs_.growth() / mebibyte)) + " MiB";
  finding.advice =
      "add up loss.item<double>() instead of the loss itself, and keep outputs by detach(): what holds a tensor that "
      "requires a gradient holds all that it was computed from";
  publish(finding);
}

void Inspector::Impl::publish(const Finding& finding) {
  monitor_.publish(finding.c_form(), "loupe");
}

const std::string& Inspector::Impl::loss_name(bool train) const {
  return train ? monitor_.config().train_loss : monitor_.config().validation_loss;
}

std::optional<double> Inspector::Impl::loss(bool train, const std::string& aggregation) {
  const auto value = monitor_.query(loss_name(train) + " " + aggregation);
  const Strings& known = aggregation_names();
  if (!value && std::find(known.begin(), known.end(), aggregation) == known.end()) {
    throw std::invalid_argument("loupe: a loss has no '" + aggregation + "'" + suggestion(aggregation, known) +
                                "; the aggregations are " + join(known));
  }
  return value;
}

bool Inspector::Impl::begin_next_epoch(int epoch, bool is_last) {
  const bool goes_on = !is_last && !policy_.should_stop();
  if (goes_on) {
    epochs_.begin_next(epoch);
  } else {
    epochs_.end();
  }
  return goes_on;
}

bool Inspector::Impl::begin_next_turn(bool is_last) {
  const bool goes_on = !is_last && !policy_.should_stop();
  if (!goes_on) steps_.end();
  return goes_on;
}

std::vector<Finding> Inspector::Impl::findings() const {
  std::vector<Finding> found;
  for (const loupe_finding* each : monitor_.findings().all()) found.push_back(Finding::from(*each));
  return found;
}

void Inspector::Impl::set_hyperparameter(const std::string& name, loupe_option_value value) {
  if (name.empty()) throw std::invalid_argument("loupe: a hyperparameter needs a name");
  const std::string shown = utf8(name);
  value.struct_size = sizeof value;
  value.name = shown.c_str();
  monitor_.display().hyperparameter(value);
}

void Inspector::Impl::set_visualizers(const std::string& yaml) {
  const Config& config = monitor_.config();
  const auto visualizers = config.of_this_rank(Config::visualizers_from_text(yaml, config.catalogue));
  monitor_.display().replace(visualizers);
  monitor_.expect_files_of(visualizers);
}

}  // namespace loupe
