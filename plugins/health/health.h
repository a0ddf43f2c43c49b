#pragma once

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/draft/need.h>
#include <loupe/draft/rows.h>
#include <loupe/lens.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "health/baseline/baseline.h"
#include "health/rules/losses.h"
#include "health/rules/rate_history.h"
#include "health/rules/rule.h"
#include "health/watches.h"

namespace loupe::health {

/// Reports what is wrong with training, where, since when, and what to do about it. Watches the streams that its rules
/// need, and shares their measurements with other lenses.
class Health : public Lens {
 public:
  static constexpr const char* name = "health";
  static constexpr const char* help =
      "reports what is wrong with training, where, and what to do; silent while it is healthy";
  static constexpr const char* example = "health: {off: [update_ratio], dead_share: 0.6}";
  static std::vector<const char*> gives();
  static std::vector<Option> options() { return health::options(); }

  Health(const Options& options, const Host& host)
      : limits_(options),
        watched_(host, limits_["dead_share"]),
        ledger_(off(options), options.get<int>("patience"), options.get<int>("cooldown")),
        window_(options.get<uint64_t>("window")) {
    for (const char* id : {LOUPE_DRAFT_FLAGS_ID, LOUPE_DRAFT_LOSS_INPUT_ID, LOUPE_DRAFT_STEP_TIME_ID})
      draft::need(host, id);
    const auto baseline = options.get<std::string>("baseline");
    if (!baseline.empty() && !ledger_.is_off(BaselineWatch::rule))
      baseline_.emplace(Baseline::read(baseline), options.get<int>("patience"));
  }

  void attach() override {
    losses_.host = &watched_.host;
    watch_pushes({"push"}, losses_);
    watch_pushes({"push"}, passes_);
    watch_pushes({LOUPE_DRAFT_GATHER_STEP_TIME}, times_);
  }
  void visit(const Module& module) override;
  void forget(const Module& module) override;
  void step(const loupe_step& step, Report& report) override;
  void report(Report& report) override;
  const void* get_extension(const char* id) override {
    const bool judges = baseline_ && std::strcmp(id, LOUPE_DRAFT_ROWS_ID) == 0;
    return judges ? draft::rows_extension<Health>() : nullptr;
  }
  void number(const char* tag, const char* layer, const char* line, double value) {
    baseline_->add(tag, layer, line, value);
  }
  void end_tick(Report& report) {
    for (const Finding& finding : baseline_->end_tick(report.tick().at.epoch)) report.finding(finding);
    if (const std::string lacking = baseline_->take_lacking(); !lacking.empty()) watched_.host.warn(lacking);
  }

 private:
  /// Called after an unmeasured step.
  void passed(const loupe_step& step, const Judge& judge);
  static std::set<std::string> off(const Options& options) {
    const Strings names = options.get<Strings>("off");
    return {names.begin(), names.end()};
  }
  Model& model_of(const Module& module);
  void drop_detached();
  const Layer& watch_layer(Model& model, const Module& module);
  void watch_parameters(Model& model, const Module& module, const Layer* layer);
  template <class Watch, class... Arguments>
  Preprocessor& keep(Model& model, Arguments&&... arguments) {
    return *model.watches.emplace_back(std::make_unique<Watch>(std::forward<Arguments>(arguments)...));
  }

  Judge judge(Report& report) { return {ledger_, limits_, report, watched_.host}; }
  /// The state for all rules, of a model or only of the losses.
  Situation situation(Model* model = nullptr, const loupe_optimizer* optimizer = nullptr);
  void judge_settings(const Judge& judge, const loupe_step& step);
  void close_step(const Judge& judge, const Situation& situation);
  void close_window(const Judge& judge, Model& model);
  enum class LastStep { measured, passed, reported };
  void judge_losses(const Judge& judge, LastStep last);
  void judge_speed(const Judge& judge);
  void judge_epoch(const Judge& judge, const Guessing& guessing, std::size_t trained, std::size_t epochs);
  void judge_non_finite(const Judge& judge, Model& model);
  void add_growth(Observation& seen, const Model* model);
  std::vector<draft::Maker> makers_of_loss();
  void follow_recovery(Model& model);
  /// The number of optimizers that train models; one for each model whose steps the trainer reports by hand.
  std::size_t trainings() const;
  /// The still twin of a trained model, whose mutex must not be held.
  std::optional<StillTwin> still_twin_of(const Model& trained);
  double distance_between(const Model& one, const Model& other) const;
  /// Whether one optimizer trains all models, such as an encoder and a head.
  bool is_one_training() const;
  bool any_broken() const {
    return std::ranges::any_of(models_, [](const auto& model) { return model->is_broken; });
  }
  void tell_unregistered(const Judge& judge);
  /// Whether its rule cannot see now whether a finding still holds.
  bool is_open(const Finding& finding);
  /// Ends the intervals of finished windows, and of the epoch at a tick.
  void end_windows(Report& report, bool is_tick);
  bool has_window_ended(const loupe_module* module) const;
  /// The names of the enabled rules that match, as a list.
  std::string rules_that(bool (*matches)(const Rule&)) const;
  void tell_of_device(Model& model);
  void take_loss();
  void follow_series(const loupe_optimizer& optimizer);
  void make_changes();
  void notice_gap(uint64_t step, bool loss_is_bad);
  void tell_lone_loss(const Judge& judge);
  void tell_of_speed();
  void tell_unseen_loss(const Judge& judge);

  Limits limits_;
  Watched watched_;
  Ledger ledger_;
  uint64_t window_;
  Losses losses_;
  Speed speed_;
  Calling times_{times_into(speed_)}, passes_{passes_into(watched_.passes)};
  std::optional<BaselineWatch> baseline_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<const loupe_module*> unregistered_;
  std::optional<Observation> non_finite_;                       ///< the NaN or Inf as last reported
  Changes changes_;                                             ///< changes requested by a step
  std::vector<std::pair<Tallies, OutputTally>> spare_tallies_;  ///< tallies of detached models
  RateHistory rates_;
  bool annealed_ = false, loss_is_bad_ = false;
  bool met_non_finite_ = false;  ///< a NaN or Inf came since the previous step or the tick
  bool met_unregistered_ = false;
  bool told_of_speed_ = false;
  uint64_t newest_optimizer_ = 0;  ///< the highest id of the optimizers that stepped; ids ascend
  uint64_t steps_since_tick_ = 0;
  double last_epoch_ = NAN;        ///< the epoch of the previous tick
  uint64_t last_step_ = 0;         ///< the last measured one
  uint64_t last_told_step_ = 0;    ///< the last one, measured or not
  uint64_t steps_since_loss_ = 0;  ///< measured steps since the loss of an unmeasured step was not finite
  bool loss_turned_bad_ = false;   ///< the loss became bad since the last measured step
  bool loss_was_unseen_ = false;   ///< it turned bad in an unmeasured step
};

}  // namespace loupe::health
