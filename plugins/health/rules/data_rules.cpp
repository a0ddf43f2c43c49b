// Rules about a model's data: certain, without thresholds.

#include <algorithm>

#include "health/rules/rule.h"

namespace loupe::health {

namespace {

void judge_repeated_batch(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (!model.step.input.is_known) return;
  if (model.steps <= 1 || !model.step.input.equals(model.last_input)) {
    // Occasional repetitions are intended, for example if one batch is used for several updates.
    if (model.same_inputs > 0) model.repeats_by_habit = true;
    model.changed_inputs += model.steps > 1 && !model.step.after_gap ? 1 : 0;
    model.same_inputs = 0;
    return;
  }
  if (model.step.after_gap) return;  // the same batch may have come again after others
  constexpr uint32_t enough = 2, enough_of_one_row = 20;
  if (++model.same_inputs < (model.step.input.is_one_row ? enough_of_one_row : enough) || !model.may_repeat()) return;
  judge.tell({.module = model.input_module(), .value = static_cast<double>(model.same_inputs + 1)},
             sentence("the model's input has been the same, bit for bit, for ", model.same_inputs + 1,
                      " steps, after it had changed with each step"));
}

/// A model learns nothing from a batch that repeats one row while its targets differ.
void judge_equal_rows(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  constexpr uint32_t enough = 3;
  model.distinct_rows.are_samples = model.distinct_rows.are_samples || model.step.rows_are_samples();
  const bool is_wrong = model.step.has_equal_rows && model.step.has_different_targets && model.step.rows_are_samples();
  // An agent that does not move sees the same input again and again.
  if (is_wrong && model.step.input.equals(model.last_input)) return;
  model.equal_row_steps = is_wrong ? model.equal_row_steps + 1 : 0;
  if (model.equal_row_steps < enough) return;
  judge.tell({.severity = LOUPE_SEVERITY_ERROR,
              .module = model.input_module(),
              .value = static_cast<double>(model.step.input_rows)},
             sentence("all ", model.step.input_rows,
                      " rows of a batch are the same, bit for bit, while their targets differ, in ",
                      model.equal_row_steps, " steps in a row", model.had_gaps ? " that were measured" : ""),
             "check how a batch is assembled: torch::from_blob does not copy, so refilling a buffer changes the "
             "tensors made from it earlier; call clone() on each");
}

/// With fewer samples than a batch holds, the model learns only those.
void judge_few_rows(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const DistinctRows& rows = model.distinct_rows;
  // An agent may have few states.
  if (!rows.are_few() || model.acts()) return;
  judge.tell(
      {.module = model.input_module(),
       .value = static_cast<double>(rows.rows.count()),
       .threshold = static_cast<double>(rows.smallest_batch) / 2},
      sentence("among ", rows.seen, " measured input rows, in batches of ", rows.smallest_batch, " and more, only ",
               rows.rows.count(), " are different: each batch contains the same samples several times"),
      "check that the data set returns a different sample for each index, and what its size() is");
}

/// Rows from the training show nothing about unseen ones.
void judge_shared_rows(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const SharedRows& rows = model.shared_rows;
  constexpr int64_t enough = 32, some = 5;
  constexpr double much = 0.05, whole = 0.9;
  // An agent makes its own data, and all nodes of a graph are in each step.
  if (rows.is_off || !situation.was_validated || model.acts()) return;
  if (!model.distinct_rows.are_samples || model.changed_inputs < 2 || rows.compared < enough) return;
  const std::string of_rows = sentence(rows.compared, " compared validation rows");
  if (rows.shared == rows.compared) {
    return judge.tell({.severity = LOUPE_SEVERITY_INFO, .module = model.input_module(), .value = 1},
                      sentence("all ", of_rows, " are training rows: the validation uses learned samples"),
                      "validate on samples that are not used for training, unless this is intended");
  }
  // Mixed batches come from one set with both kinds; separate training and validation data have none. If not all
  // training rows are known, a batch of them also looks mixed, and so does all the data together.
  const int64_t others = rows.mixed - rows.mixed_shared;
  if (!rows.knows_training() || rows.mixed_shared < some || others < some) return;
  const double share = static_cast<double>(rows.mixed_shared) / static_cast<double>(rows.mixed);
  if (share < much || share > 1 - much) return;
  if (static_cast<double>(rows.mixed_rows) > whole * rows.training.rows()) return;
  judge.tell(
      {.module = model.input_module(), .value = share, .threshold = much},
      sentence(percent(share), " of ", of_rows, " (", rows.mixed_shared, " of ", rows.mixed,
               " in batches that also have others) are training rows, bit for bit: the validation loss is better "
               "than on unseen samples"));
}

void keep_input(const Judge&, const Situation& situation) {
  const Model::InputLook& input = situation.model->step.input;
  if (input.is_known && situation.model->epoch.takes_inputs()) situation.model->epoch.inputs.push_back(input);
}

void judge_order(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  constexpr std::size_t fewest = 4;
  constexpr int enough = 2;
  using Look = Model::InputLook;
  // Other batches may only mean that other steps were measured, so what was reported lasts, and the next epoch is
  // compared with the same one.
  if (model.had_gaps && model.same_orders >= enough &&
      !std::ranges::equal(model.epoch.inputs, model.inputs_before, {}, &Look::some, &Look::some)) {
    model.epoch.inputs = model.inputs_before;
    --model.same_orders;
  }
  const std::vector<Look>&now = model.epoch.inputs, &before = model.inputs_before;
  const std::size_t count = now.size();
  const bool are_constant = std::ranges::all_of(now, &Look::is_constant);
  const bool differ = std::ranges::any_of(now, [&](const Look& each) { return each.some != now.front().some; });
  const bool is_same =
      count >= fewest && (differ || are_constant) && std::ranges::equal(now, before, {}, &Look::some, &Look::some);
  // Inputs are read as a whole only once some of their elements were the same.
  const bool all_are_same = std::ranges::equal(
      now, before, [](const Look& a, const Look& b) { return a.is_whole && b.is_whole && a.whole() == b.whole(); });
  model.same_orders = !is_same ? 0 : all_are_same ? model.same_orders + 1 : enough - 1;
  if (model.same_orders < enough) return;
  const std::string epochs =
      sentence(" in each of ", model.had_gaps ? "" : "the last ", model.same_orders + 1, " epochs");
  const std::string batches =
      model.had_gaps ? sentence(count, " measured batches") : sentence("first ", count, " batches");
  Observation seen{.module = model.root, .value = static_cast<double>(model.same_orders + 1)};
  if (are_constant) {
    seen.message = sentence("the first layer was given only the number ", now.back().constant, ", in all of the ",
                            batches, epochs, ": its input says nothing about the samples");
    seen.advice = "check that the samples go into the model; a constant, such as a start token, is not a fault";
  } else {
    seen.message = sentence("the ", batches, " were the same, in the same order,", epochs);
  }
  judge.tell(seen);
}

}  // namespace

std::vector<Rule> data_rules() {
  return {
      {.name = "repeated_batch",
       .help = "warning; the input stopped changing",
       .measure = "the bits of a step's input, against the step before: three in a row; twenty of one row",
       .remedy = "check that the loop takes the next batch of its data loader",
       .looks = {{When::step, &judge_repeated_batch}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"( for (size_t step = 0; step < 1000; ++step) {
-  if (step < batches.size()) batch = batches[step];  // then it stays
+  batch = batches[step % batches.size()];
   train_on(batch);
 })"},
      {.name = "repeated_rows",
       .help = "error or warning; all rows of a batch are equal though their targets differ, or there are only few "
               "different rows",
       .measure = "the bits of rows: all of a batch are equal, three times in a row, or too few are different in total",
       .remedy = "clone tensors made from a reused buffer; check that each index gives a different sample",
       .looks = {{When::step, &judge_equal_rows}, {When::window, &judge_few_rows}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"dead_units", "constant_output", "loss_oscillating", "loss_not_decreasing"}}},
       .example = R"( for (int i = 0; i < 32; ++i) {
   read_sample(buffer);
-  // Does not copy: all rows are the last sample.
-  rows.push_back(torch::from_blob(buffer.data(), {784}));
+  rows.push_back(torch::from_blob(buffer.data(), {784}).clone());
 }
 auto batch = torch::stack(rows);)"},
      {.name = "same_order",
       .severity = LOUPE_SEVERITY_INFO,
       .help = "info; the batches come in the same order in each epoch",
       .measure = "the bits of the inputs of the first steps of three epochs",
       .remedy = "unless the order is intended, shuffle the samples in each epoch, as "
                 "torch::data::samplers::RandomSampler does",
       .looks = {{When::step, &keep_input}, {When::tick, &judge_order}},
       .is_blind_on_devices = true,
       .example = R"( using namespace torch::data;
 auto loader =
-    make_data_loader<samplers::SequentialSampler>(training_data, 64);
+    make_data_loader<samplers::RandomSampler>(training_data, 64);)"},
      {.name = "shared_rows",
       .help = "warning or info; validation samples are also training samples",
       .measure =
           "the bits of validation rows, compared with those of training rows: a twentieth of 32 or more are equal",
       .remedy = "split the data once, by one order of all indices, before repeating samples, and keep each part",
       .looks = {{When::tick, &judge_shared_rows}},
       .is_blind_on_devices = true,
       .example = R"(-auto some = torch::randperm(1000).slice(0, 0, 800);
-// Another order: most of these are in the training data, too.
-auto others = torch::randperm(1000).slice(0, 800);
+auto order = torch::randperm(1000);
+auto some = order.slice(0, 0, 800), others = order.slice(0, 800);)"},
  };
}

}  // namespace loupe::health
