// Rules about the data that a model is given: sure, without thresholds.

#include <algorithm>

#include "health/rules/rule.h"

namespace loupe::health {

void judge_repeated_batch(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  if (!model.input.is_known) return;
  if (model.steps <= 1 || !model.input.equals(model.last_input)) {
    // What repeats now and then, as several updates for one batch do, is meant.
    if (model.same_inputs > 0) model.repeats_by_habit = true;
    model.changed_inputs += model.steps > 1 && !model.after_gap ? 1 : 0;
    model.same_inputs = 0;
    return;
  }
  if (model.after_gap) return;  // the same batch again, with others in between
  constexpr uint32_t enough = 2, enough_of_one_row = 20;
  if (++model.same_inputs < (model.input.is_one_row ? enough_of_one_row : enough) || !model.may_repeat()) return;
  Observation seen;
  seen.module = model.first_layer != nullptr ? model.first_layer->module : model.root;
  seen.value = model.same_inputs + 1;
  seen.message = "the model's input has been the same, bit for bit, for " + std::to_string(model.same_inputs + 1) +
                 " steps, after it had changed with each step";
  seen.advice = "see that the loop takes the next batch of its data loader";
  judge.tell(seen);
}

/// A batch of one row, many times over, whose targets differ: nothing can be learnt from that.
void judge_equal_rows(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  constexpr uint32_t enough = 3;
  model.distinct_rows.are_samples = model.distinct_rows.are_samples || model.rows_are_samples();
  const bool is_wrong = model.has_equal_rows && model.has_different_targets && model.rows_are_samples();
  // An agent that stays where it is sees the same again and again.
  if (is_wrong && model.input.equals(model.last_input)) return;
  model.equal_row_steps = is_wrong ? model.equal_row_steps + 1 : 0;
  if (model.equal_row_steps < enough) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.first_layer != nullptr ? model.first_layer->module : model.root;
  seen.value = static_cast<double>(model.input_rows);
  seen.message = "all " + std::to_string(model.input_rows) +
                 " rows of a batch are the same, bit for bit, while their targets differ, in " +
                 std::to_string(model.equal_row_steps) + " steps in a row";
  seen.advice =
      "see how a batch is put together: torch::from_blob does not copy, so a buffer that is filled again changes "
      "the tensors made of it before; call clone() on each";
  judge.tell(seen);
}

/// Fewer samples than a batch has: what is learnt is these alone.
void judge_few_rows(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const DistinctRows& rows = model.distinct_rows;
  // An agent may have few states.
  if (!rows.are_few() || model.acts()) return;
  Observation seen;
  seen.module = model.first_layer != nullptr ? model.first_layer->module : model.root;
  seen.value = static_cast<double>(rows.count);
  seen.threshold = static_cast<double>(rows.smallest_batch) / 2;
  seen.message = "of " + std::to_string(rows.seen) + " rows of input that were looked at, in batches of " +
                 std::to_string(rows.smallest_batch) + " and more, only " + std::to_string(rows.count) +
                 " were different: each batch holds the same samples several times";
  seen.advice = "see that the data set gives another sample for each index, and what its size() is";
  judge.tell(seen);
}

void judge_batch(const Judge&, const Moment& moment) {
  Model& model = *moment.model;
  Model::Order& order = model.order;
  if (!model.input.is_known || !order.is_open()) return;
  if (order.now.empty()) order.now.reserve(Model::Order::most);
  order.now.push_back(model.input.some);
  if (model.input.is_whole) order.all.push_back(model.input.all != 0 ? model.input.all : model.input.some);
  order.constants += model.input.is_constant ? 1 : 0;
  if (model.input.is_constant) order.constant = model.input.constant;
}

void judge_order(const Judge& judge, const Moment& moment) {
  Model::Order& order = moment.model->order;
  constexpr std::size_t fewest = 4;
  constexpr int enough = 2;
  const std::vector<uint64_t>& now = order.now;
  const bool are_constant = order.constants == now.size();
  const bool differ = std::any_of(now.begin(), now.end(), [&](uint64_t each) { return each != now.front(); });
  const bool is_same = now.size() >= fewest && (differ || are_constant) && now == order.before;
  order.same = is_same ? order.same + 1 : 0;
  const bool all_are_same = order.all.size() == now.size() && order.all == order.all_before;
  if (order.same >= enough && all_are_same) {
    const std::string epochs = " in each of the last " + std::to_string(order.same + 1) + " epochs";
    Observation seen;
    seen.at_tick = true;
    seen.severity = LOUPE_SEVERITY_INFO;
    seen.module = moment.model->root;
    seen.value = order.same + 1;
    if (are_constant) {
      seen.message = "the first layer was given one number throughout, " + number(order.constant) +
                     ", in all of the first " + std::to_string(now.size()) + " batches" + epochs +
                     ": its input says nothing of the samples";
      seen.advice = "see that the samples go into the model; a constant, such as a start token, is no fault";
    } else {
      seen.message = "the first " + std::to_string(now.size()) + " batches were the same, in the same order," + epochs;
      seen.advice =
          "unless the order is meant, shuffle the samples in each epoch, as torch::data::samplers::RandomSampler does";
    }
    judge.tell(seen);
  }
  order.before.swap(order.now);
  order.all_before.swap(order.all);
  order.now.clear();
  order.all.clear();
  order.constants = 0;
}

}  // namespace loupe::health
