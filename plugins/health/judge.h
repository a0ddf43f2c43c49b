#ifndef LOUPE_PLUGINS_HEALTH_JUDGE_H
#define LOUPE_PLUGINS_HEALTH_JUDGE_H

#include <loupe/host.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "health/ledger.h"
#include "health/limits.h"
#include "health/model.h"

namespace loupe::health {

/// What a rule judges by, and whom it tells. The models' mutexes are held.
struct Judge {
  Ledger& ledger;
  const Limits& limits;
  Report& report;
  const Host& host;

  void tell(const Sight& sight) const { ledger.tell(report, sight); }
  void see(const Sight& sight) const { ledger.see(report, sight); }
};

/// How each optimizer's groups were set so far.
struct RateHistory {
  struct Group {
    double largest = 0, last_nonzero = 0;
    double lowest = INFINITY;  ///< since it came down
    bool returned = false;     ///< it went up after having come down
    uint32_t zeros = 0;        ///< steps in a row
    void follow(double rate);
  };
  std::map<std::pair<uint64_t, std::size_t>, Group> groups;
  /// Steps went by unseen: single zeros before and after them are not in a row.
  void forget_streaks();
  /// Whether a rate comes down as schedules end: nothing is wrong with small steps then.
  bool is_annealed(const loupe_optimizer* optimizer) const;
  /// Whether any rate went up again after having come down, as in cycles and warm restarts.
  bool any_returned() const;
};

// The loop: sure, after each step of one of the model's optimizers.
/// Of a step that is not plain, each parameter. `optimizer` may be null.
void judge_parameters(const Judge& judge, Model& model, const loupe_optimizer* optimizer);
void judge_loop(const Judge& judge, const Model& model);
/// @param epochs_to_come  that the trainer's loop has after this one; 0 where that is not known, and near its end
void judge_optimizer(const Judge& judge, Model& model, const loupe_optimizer& optimizer, RateHistory& history,
                     double epochs_to_come);
void judge_modes(const Judge& judge, Model& model);
void judge_input(const Judge& judge, Model& model);
/// A validation loss was pushed.
void judge_validation(const Judge& judge, Model& model);
/// At a tick: parameters that never had a gradient.
void judge_untouched(const Judge& judge, Model& model);
/// At the end of a window: what the loop's rules told of a parameter, and what is still so.
void judge_standing(const Judge& judge, const Model& model);
void judge_standing_unheld(const Judge& judge, const Model& model);

// The numbers: over a window.
void judge_start(const Judge& judge, Model& model);
/// Whether the weights of a layer's units are all the same; after the first steps, and while they are.
void judge_equal_units(const Judge& judge, Model& model);
/// @param stuck  the loss has hardly come down
void judge_gradients(const Judge& judge, Model& model, bool stuck);
void judge_gradient_jump(const Judge& judge, Model& model);
/// Whether the first step changed the weights, or put others in their place.
void judge_first_step(const Judge& judge, const Model& model);
/// @param annealed  the rate has come down
void judge_updates(const Judge& judge, Model& model, bool annealed);
/// Of a model on a device, whose numbers come at the tick: whether no step of the window changed a weight.
void judge_device_effect(const Judge& judge, const Model& model);
/// @param loss_halved  since the first epoch: what saturated meanwhile did no harm
void judge_outputs(const Judge& judge, Model& model, bool loss_halved);

/// Whether any group's learning rate is other than 0, as far as known. `optimizer` may be null.
bool has_rate(const loupe_optimizer* optimizer);

// Words for messages.
/// "'weight' of 'fc1'".
std::string shown(const ParameterState& state);
/// "the model", or its name where there are several.
std::string whose(const Model& model);
/// "0.0012", "3.4e-05".
std::string number(double value);
/// "12 %".
std::string percent(double share);

}  // namespace loupe::health

#endif
