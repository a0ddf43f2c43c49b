// Rules about the losses that the trainer pushes.

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <numeric>
#include <vector>

#include "health/rules/losses.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

constexpr std::size_t most_recent = 100;
constexpr double next_to_nothing = 0.05;

using Place = std::deque<double>::const_iterator;

double mean_of(Place begin, Place end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

constexpr std::ptrdiff_t just_before = 5;

/// The ratio of a loss to the mean of the few just before it.
double jump_to(double loss, Place end) {
  return loss * static_cast<double>(just_before) / std::accumulate(end - just_before, end, 0.0);
}

/// The largest such ratio; losses of single samples always jump.
double largest_jump(const std::deque<double>& losses) {
  double largest = 1;
  for (auto each = losses.begin() + just_before; each < losses.end(); ++each)
    largest = std::max(largest, jump_to(*each, each));
  return largest;
}

/// Policy losses cross zero, so shares of them mean nothing.
bool crosses_zero(const Losses& losses) {
  const auto& epochs = losses.training.epochs;
  return std::ranges::any_of(losses.main.recent, [](double loss) { return loss <= 0; }) ||
         std::ranges::any_of(epochs, [](const Losses::Epoch& epoch) { return epoch.mean <= 0; });
}

using EpochPlace = std::vector<Losses::Epoch>::const_iterator;

EpochPlace lowest_of(EpochPlace begin, EpochPlace end) {
  return std::ranges::min_element(begin, end, {}, &Losses::Epoch::mean);
}

/// "2.31 in epoch 3".
std::string in_epoch(const Losses::Epoch& epoch) {
  return sentence(epoch.mean, " in epoch ", epoch.number);
}

/// "; at the same step the root mean square of the model's input became 1.6 times as large"; empty if unchanged.
std::string jump_of_input(double times) {
  constexpr double clearly = 1.4;
  if (std::isnan(times) || (times < clearly && times > 1 / clearly)) return "";
  return sentence("; at the same step the root mean square of the model's input became ", times, " times as large");
}

/// @param enough  the number of losses that only count as the beginning
void judge_spikes_of(const Judge& judge, Losses::Training& losses, const Situation& situation, uint64_t enough) {
  const double spike_factor = judge.limit("spike_factor"), hard_factor = judge.limit("hard_spike_factor");
  const auto keep = [&](double loss) {
    ++losses.seen;
    ++losses.since_tick;
    losses.recent.push_back(loss);
    if (losses.recent.size() > most_recent) losses.recent.pop_front();
  };
  for (const double loss : losses.pending) {
    if (losses.seen < enough) losses.first += loss / static_cast<double>(enough);
    if (losses.seen >= enough) {
      const Place begin = losses.recent.begin(), end = losses.recent.end();
      const std::size_t lately = std::min<std::size_t>(20, losses.recent.size());
      const Place late = end - static_cast<std::ptrdiff_t>(lately);
      const double mean = mean_of(begin, end), mean_lately = mean_of(late, end);
      // Nearly all losses end here, in each step of a run.
      if (!(loss > spike_factor * mean) && !(loss > hard_factor * mean_lately)) {
        losses.spikes = 0;
        keep(loss);
        continue;
      }
      const auto [smallest, at_largest] = std::minmax_element(begin, end);
      const double largest = *at_largest;
      // Multiples of a loss that crosses 0 mean nothing, nor do multiples of one that is nearly 0.
      const bool falls_below_zero = *smallest < 0;
      const bool matters = !falls_below_zero && loss > next_to_nothing && loss > 0.1 * std::abs(losses.first);
      // Compares with the last few, too, since a loss may have come down long ago.
      constexpr double far_above = 5;
      const double largest_lately = *std::max_element(late, end);
      const bool sudden = !situation.acts && loss > 0.5 * std::abs(losses.first) && loss > hard_factor * mean_lately &&
                          loss > far_above * largest_lately && largest_lately < far_above * mean_lately &&
                          jump_to(loss, end) > far_above * largest_jump(losses.recent);
      // An epoch that is high before its first step has other samples, as those of a new task.
      constexpr uint64_t long_enough = 8;
      const std::vector<Losses::Epoch>& epochs = losses.side.epochs;
      const bool begins_epoch = losses.since_tick == 0 && !epochs.empty() && epochs.back().count >= long_enough;
      const bool hard = matters && largest > 0 && !begins_epoch && (loss > hard_factor * largest || sudden);
      // A streak begins with a jump; a loss that grows gradually, as in a curriculum, has none.
      constexpr double clearly = 1.5;
      const bool is_high = matters && mean > 0 && loss > spike_factor * mean;
      // The jump must be clearly larger than the usual ones, as from task to task.
      const double usual = largest_jump(losses.recent);
      const bool goes_on = losses.spikes > 0 || jump_to(loss, end) > (usual > clearly ? clearly * usual : clearly);
      if (losses.spikes == 0) losses.began_with_epoch = losses.since_tick == 0;
      losses.spikes = is_high && goes_on ? losses.spikes + 1 : 0;
      if (losses.spikes <= 1) losses.input_jump = NAN;
      const double size = std::abs(std::log(situation.input_jump));
      if (!(size <= std::abs(std::log(losses.input_jump)))) losses.input_jump = situation.input_jump;
      // An agent's loss grows with its rewards. Other losses may grow with their inputs, so wait for a step that shows
      // the input.
      const bool stays = !situation.acts && static_cast<double>(losses.spikes) >= judge.limit("spikes") &&
                         !std::isnan(losses.input_jump);
      // A loss that is higher from an epoch's first batch on comes from another stage or data set.
      if (stays && losses.began_with_epoch && !hard) {
        losses.recent.clear();
        losses.spikes = 0;
        losses.seen = 0;
        losses.first = 0;
      } else if (hard || stays) {
        // A new stage has different inputs; a batch that is far from all others needs a check.
        constexpr double far_away = 3;
        const double jump = hard ? situation.input_jump : losses.input_jump;
        const std::string with_input = jump_of_input(jump);
        const bool is_stage = !with_input.empty() && jump < far_away && jump > 1 / far_away;
        const std::string shown = situation.losses->shown(losses);
        judge.tell(
            {.severity = is_stage ? LOUPE_SEVERITY_INFO : LOUPE_SEVERITY_WARNING,
             .value = loss,
             .threshold = hard ? hard_factor * (sudden ? mean_lately : largest) : spike_factor * mean},
            (hard ? sentence(shown, " jumped to ", loss, ", while the mean of the last ", lately, " was ", mean_lately,
                             " and the largest of the last ", losses.recent.size(), " was ", largest)
                  : sentence(shown, " was above ", spike_factor, " times its mean of ", mean, " for ", losses.spikes,
                             " times in a row, last ", loss)) +
                with_input,
            with_input.empty() ? ""
                               : "check why the inputs changed, and scale them all alike, unless harder samples "
                                 "are intended to come later");
      }
    }
    keep(loss);
  }
  losses.pending.clear();
}

void judge_spikes(const Judge& judge, const Situation& situation) {
  constexpr uint64_t few = 10;
  for (Losses::Training& each : situation.losses->trainings)
    judge_spikes_of(judge, each, situation, situation.acts ? most_recent : few);
}

/// The loss of an agent may grow with its rewards, but not in this many epochs in a row, and a hundredfold. A budget
/// may skip ticks, so several epochs may end together.
bool grows_without_end(const std::vector<Losses::Epoch>& epochs) {
  constexpr std::size_t in_a_row = 8, fewest_ticks = 4;
  const auto down = std::adjacent_find(
      epochs.rbegin(), epochs.rend(), [](const auto& later, const auto& earlier) { return later.mean < earlier.mean; });
  const auto first = down == epochs.rend() ? epochs.begin() : down.base() - 1;
  return epochs.end() - first >= static_cast<std::ptrdiff_t>(fewest_ticks) &&
         epochs.back().number - first->number >= in_a_row;
}

/// The first epoch of the newest task or data: after an epoch that ended low it is high from its first loss on, so that
/// no step has made it so, and then falls, in the same epoch or the next. The last epoch need not have fallen yet.
EpochPlace begin_of_task(const std::vector<Losses::Epoch>& epochs, double factor) {
  constexpr double clearly = 0.7, slightly = 0.9;
  EpochPlace begin = epochs.begin();
  double lowest = begin->mean;
  for (EpochPlace each = begin + 1; each != epochs.end(); ++each) {
    const double limit = factor * lowest;
    const bool jumps = each->mean > limit && each->first > limit && (each - 1)->at_end <= limit;
    const bool falls =
        each->at_end < clearly * each->mean ||
        (each + 1 == epochs.end() ? slightly * each->at_end < each->mean : (each + 1)->mean < slightly * each->mean);
    if (jumps && falls) begin = each;
    lowest = begin == each ? each->mean : std::min(lowest, each->mean);
  }
  return begin;
}

void judge_divergence(const Judge& judge, const Situation& situation) {
  constexpr double hundredfold = 100;
  const std::vector<Losses::Epoch>& epochs = situation.losses->training.epochs;
  if (epochs.size() < 2 || (situation.may_grow && !grows_without_end(epochs))) return;
  const double now = epochs.back().mean;
  const double factor = situation.may_grow ? hundredfold : judge.limit("diverging_factor");
  const EpochPlace begin = situation.may_grow ? epochs.begin() : begin_of_task(epochs, factor);
  if (begin + 1 == epochs.end()) return;
  const EpochPlace best = lowest_of(begin, epochs.end() - 1);
  const double limit = factor * best->mean;
  if (!(best->mean > 0) || !(now > limit) || !(now > begin->mean)) return;
  if (!epochs.back().compares_to(*best)) return;
  // Twice nearly nothing is still nearly nothing.
  constexpr double many_times = 10;
  if (now < best->mean + next_to_nothing && now < many_times * best->mean) return;
  judge.tell({.value = now, .threshold = limit},
             sentence("the training loss grows: ", in_epoch(epochs.back()), ", up from ", in_epoch(*best)),
             situation.acts ? "check that targets made from the model's own answers end where the episode ends, "
                              "and follow the model slowly; else lower the learning rate"
                            : "");
}

/// A loss may fall below 0, for example a density's, but one that grows in size with each epoch has no bound.
void judge_unbounded(const Judge& judge, const Situation& situation) {
  constexpr std::size_t enough_epochs = 4;
  constexpr double faster = 1.5, far_beyond = 10;
  const std::vector<Losses::Epoch>& epochs = situation.losses->training.epochs;
  if (epochs.size() < enough_epochs) return;
  const double first = epochs.front().mean, now = epochs.back().mean;
  if (now > -far_beyond * std::max(std::abs(first), 1.0)) return;
  for (std::size_t i = epochs.size() - enough_epochs + 2; i < epochs.size(); ++i) {
    const double before = std::min(epochs[i - 1].mean, 0.0);
    if (!(epochs[i].mean < faster * before)) return;
  }
  judge.tell({.value = now, .threshold = -far_beyond * std::max(std::abs(first), 1.0)},
             sentence("the training loss fell below 0 and grows in size with each epoch: ", in_epoch(epochs.front()),
                      ", ", in_epoch(epochs[epochs.size() - 2]), ", ", in_epoch(epochs.back())));
}

void judge_stagnation(const Judge& judge, const Situation& situation) {
  constexpr std::size_t enough_epochs = 3;
  constexpr uint64_t enough_losses = 30;
  const std::vector<Losses::Epoch>& epochs = situation.losses->training.epochs;
  const uint64_t all = std::accumulate(epochs.begin(), epochs.end(), uint64_t{0},
                                       [](uint64_t sum, const Losses::Epoch& each) { return sum + each.count; });
  if (epochs.size() < enough_epochs || (all < enough_losses && !situation.losses->are_means)) return;
  const double first = epochs.front().mean, now = epochs.back().mean;
  const bool decreased = lowest_of(epochs.begin() + 1, epochs.end())->mean < first - 0.01 * std::abs(first);
  // A squared error that falls is learning; a cross entropy may fall to a guess from far above.
  const Guessing* guessing = situation.guessing;
  // A loss that falls by a hundredth in three epochs is better than a guess.
  const double before = epochs.size() > enough_epochs ? epochs[epochs.size() - 1 - enough_epochs].mean : first;
  const bool comes_down = now < before - 0.01 * std::abs(before);
  const bool is_guess =
      guessing != nullptr && guessing->is_no_better() && !comes_down && (guessing->is_cross_entropy() || !decreased);
  // Training from a checkpoint may have converged.
  const bool stays = !decreased && first != 0 && !situation.may_grow && !situation.losses->began_late &&
                     !crosses_zero(*situation.losses);
  if (!stays && !is_guess) return;
  judge.tell(
      {.value = now, .threshold = first},
      sentence("the training loss ", stays ? "has not fallen" : "is no better than a guess", ": ",
               in_epoch(epochs.front()), ", ", in_epoch(epochs.back()), is_guess ? ", and " + guessing->text() : ""));
}

constexpr const char* in_the_same_way = "rises and falls in the same way in each epoch";

/// Sorted samples, too, silence units and make losses jump; other oscillations have the same cause as these.
bool is_of_sorted_samples(const Observation& cause, const Observation&) {
  return cause.message.find(in_the_same_way) != std::string::npos;
}

void judge_oscillation(const Judge& judge, const Situation& situation) {
  Losses& losses = *situation.losses;
  const std::vector<Losses::Epoch>& epochs = losses.training.epochs;
  if (epochs.size() < 2 || situation.acts) return;
  const Losses::Epoch &now = epochs.back(), &before = epochs[epochs.size() - 2];
  constexpr double same_way = 0.7, still_same_way = 0.4;
  constexpr int patience = 3;
  const double likeness = correlation(losses.training.last_curve.values(), losses.training.curve_before.values());
  const auto tell_of_order = [&] {
    losses.main.repeats_for = patience;
    judge.tell(
        {.value = likeness, .threshold = same_way},
        sentence("the training loss ", in_the_same_way, " (a correlation of ", likeness, " with the epoch before)"),
        "shuffle the samples again in each epoch, unless their order is intended: they seem to be sorted");
  };
  // A model that learns each sorted batch in turn has losses near 0, and repeats itself less clearly: no cure.
  if (losses.main.repeats_for > 0) {
    --losses.main.repeats_for;
    if (situation.has_slow_swings && now.compares_to(before) && likeness > still_same_way) return tell_of_order();
  }
  if (crosses_zero(losses)) return;
  constexpr double alternate = 0.5;
  if (now.mean_change_of_two < alternate * now.mean_change) return;  // two kinds of loss alternate
  // Losses of small batches also jump while they fall; above its start a smaller swing is enough.
  const double first = epochs.front().mean;
  const double limit = judge.limit("oscillation") * (now.mean > first + 0.2 * std::abs(first) ? 0.6 : 1);
  const auto jumps = [&](const Losses::Epoch& epoch) {
    return epoch.count >= 8 && epoch.mean > 0.8 * first && epoch.mean_change > limit * std::abs(epoch.mean);
  };
  // The means of such losses vary, so a slow fall shows only in three epochs.
  const bool has_fallen = epochs.size() < 3 || now.mean < 0.95 * epochs[epochs.size() - 3].mean;
  if (jumps(now) && jumps(before) && now.mean > 0.9 * before.mean && !has_fallen) {
    const double swing = now.mean_change / now.mean;
    return judge.tell({.value = swing, .threshold = limit},
                      sentence("the training loss swings by ", percent(swing),
                               " of its mean from one loss to the next, and does not fall"),
                      "lower the learning rate, or use larger batches");
  }
  // Swings of a loss near 0 mean nothing.
  if (!situation.has_slow_swings || !now.compares_to(before) || now.mean < 0.1 * first) {
    losses.main.epochs_with_swings = 0;
    return;
  }
  // Slow and wide swings are not noise, even while the loss falls.
  constexpr std::size_t turns_enough = 4, enough_in_the_same_way = 3;
  constexpr double sure_of_swings = 3, sure_of_repeats = 2.5;
  constexpr std::size_t enough_values = 64;
  const std::vector<double>& curve = losses.training.last_curve.values();
  const std::vector<double> lately =
      curve.size() >= enough_values ? curve : std::vector<double>(losses.main.recent.begin(), losses.main.recent.end());
  const std::size_t turns = count_turns(lately, sure_of_swings), repeated = count_turns(lately, sure_of_repeats);
  constexpr int epochs_enough = 2;
  int& epochs_with_swings = losses.main.epochs_with_swings;
  epochs_with_swings = turns >= turns_enough ? epochs_with_swings + 1 : 0;
  if (repeated >= enough_in_the_same_way && likeness > same_way) {
    tell_of_order();
  } else if (epochs_with_swings >= epochs_enough) {
    judge.tell({.value = static_cast<double>(turns), .threshold = turns_enough},
               sentence("the training loss swings slowly up and down by a fifth of its mean and more, ", turns,
                        " times recently"),
               "lower the learning rate or the momentum, and check that the samples are shuffled");
  }
}

/// Reports that one of two losses, such as a generator's and a discriminator's, has fallen to nearly 0.
void judge_adversaries(const Judge& judge, const Situation& situation) {
  constexpr std::size_t enough_epochs = 3;
  constexpr int enough = 2;
  constexpr double little = 0.05, much = 2;
  Losses& losses = *situation.losses;
  if (losses.trainings.size() != 2 || situation.acts) return;
  for (std::size_t i = 0; i < 2; ++i) {
    Losses::Training &winner = losses.trainings[i], &loser = losses.trainings[1 - i];
    const std::vector<Losses::Epoch>&won = winner.side.epochs, &lost = loser.side.epochs;
    if (won.size() < enough_epochs || lost.size() < enough_epochs) continue;
    const bool has_won = won.front().mean > 0 && won.back().mean >= 0 && won.back().mean < little * won.front().mean &&
                         lost.front().mean > 0 && lost.back().mean > much * lost.front().mean;
    winner.epochs_won = has_won ? winner.epochs_won + 1 : 0;
    if (winner.epochs_won < enough) continue;
    judge.tell({.value = won.back().mean, .threshold = little * won.front().mean},
               sentence(losses.shown(winner), " has fallen from ", won.front().mean, " to ", won.back().mean,
                        ", while ", losses.shown(loser), " has grown from ", lost.front().mean, " to ",
                        lost.back().mean, ": if the two models are trained against each other, the first has won"));
  }
}

void judge_overfitting(const Judge& judge, const Situation& situation) {
  constexpr std::size_t patience = 3;
  const std::vector<Losses::Epoch>& held_out = situation.losses->validation.epochs;
  const std::vector<Losses::Epoch>& trained = situation.losses->training.epochs;
  if (held_out.size() < patience + 1 || trained.size() < 2) return;
  // One low epoch may be luck: the neighbouring epoch must confirm it.
  EpochPlace best = held_out.begin() + 1;
  const auto of_two = [](EpochPlace each) { return std::max(each->mean, (each - 1)->mean); };
  for (EpochPlace each = best; each != held_out.end(); ++each) best = of_two(each) < of_two(best) ? each : best;
  const double lowest = of_two(best);
  const auto since = static_cast<std::size_t>(held_out.end() - best);
  if (!(lowest > 0)) return;
  // Growth by a tenth means nothing after a fall from far above; without a fall it may be noise, unless the loss grows
  // in each epoch.
  constexpr double share_lost = 0.05, fallen = 0.95, far_above = 1.5;
  const double first = held_out.front().mean;
  const auto lately = held_out.end() - patience - 1;
  const bool grows = std::ranges::is_sorted(lately, held_out.end(), {}, &Losses::Epoch::mean);
  const bool falls = std::ranges::is_sorted(lately, held_out.end(), std::ranges::greater(), &Losses::Epoch::mean);
  const double factor = lowest < fallen * first || grows ? judge.limit("overfitting_factor") : far_above;
  const double limit = std::max(factor * lowest, lowest + share_lost * (first - lowest));
  const bool stays_above = std::all_of(held_out.end() - patience, held_out.end(),
                                       [&](const Losses::Epoch& each) { return each.mean > limit; });
  const Losses::Epoch& then = trained[trained.size() - 1 - std::min(since, trained.size() - 1)];
  const bool still_learns = trained.back().compares_to(then) && trained.back().mean < 0.9 * then.mean;
  const bool begins =
      since >= patience && !falls && stays_above && still_learns && held_out.back().mean >= 1.5 * trained.back().mean;
  // Only a lower validation loss in two epochs is a cure: the training loss may rise for a while, as when a rate
  // restarts.
  bool& overfits = situation.losses->validation.overfits;
  overfits = overfits ? of_two(held_out.end() - 1) > limit : begins;
  if (!overfits) return;
  // Losses of densities may fall below 0; in other losses the sign is wrong.
  const bool is_below_zero = trained.back().mean < 0;
  const auto at_best = lowest_of(held_out.begin(), held_out.end());
  judge.tell({.value = held_out.back().mean, .threshold = limit},
             sentence("the validation loss ", begins ? "grows while the training loss falls" : "stays high",
                      ": its best was ", in_epoch(*at_best), ", and it was ", in_epoch(held_out.back()),
                      ", with a training loss of ", trained.back().mean),
             is_below_zero ? "check that the loss is minimized, not maximized" : "");
}

}  // namespace

std::vector<Rule> loss_rules() {
  return {
      {.name = "loss_not_decreasing",
       .tag = "Loss",
       .help = "warning; for epochs, the training loss stays where it began, or is no better than a guess",
       .measure = "the means of three epochs and more: within 0.01 of the first, or no better than a constant answer",
       .remedy = "try another learning rate, and check that inputs and targets are shuffled together and that "
                 "the step changes the model",
       .looks = {{When::training_epoch, &judge_stagnation}},
       .evidence = Evidence::training_loss,
       .example = R"(-auto x = inputs.index_select(0, torch::randperm(count));
-// In another order than the inputs:
-auto y = targets.index_select(0, torch::randperm(count));
+auto order = torch::randperm(count);
+auto x = inputs.index_select(0, order);
+auto y = targets.index_select(0, order);)"},
      {.name = "unbounded_loss",
       .severity = LOUPE_SEVERITY_ERROR,
       .tag = "Loss",
       .help = "error; the training loss is below 0 and grows in size",
       .measure = "the means of four epochs: 1.5 times as far below 0 each, and ten times the first",
       .remedy = "check the sign of each term of the loss: a term to minimize is added, and has a lower bound",
       .looks = {{When::training_epoch, &judge_unbounded}},
       .evidence = Evidence::training_loss,
       .brings_about = {{.effects = {"exploding_gradient", "dead_units", "saturated_activation", "constant_output",
                                     "loss_spike", "loss_oscillating", "diverging_loss", "update_ratio"}}},
       .example = R"(-auto loss = error - divergence;  // the larger it is, the better
+auto loss = error + divergence;)"},
      {.name = "loss_spike",
       .tag = "Loss",
       .help = "warning or info; a loss far above those before",
       .remedy = "check the batch of this step, clip the gradients before the step, or lower the learning rate",
       .looks = {{When::losses, &judge_spikes}},
       .limits = {{"spike_factor", 2.0, "a loss over the mean of those before, above which it spikes when it stays so",
                   1.0},
                  {"spikes", 5, "how many such losses in a row", 1, 1e6},
                  {"hard_spike_factor", 10.0, "a loss over the largest of the last 100, above which it spikes at once",
                   1.0}},
       .evidence = Evidence::training_loss,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 0,
       .example = R"(-auto loss = torch::mse_loss(output, y);  // squares an outlier
+auto loss = torch::smooth_l1_loss(output, y);
 loss.backward();
+torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
 optimizer.step();)"},
      {.name = "loss_oscillating",
       .tag = "Loss",
       .help = "warning; the training loss swings and does not fall, swings slowly and widely, or repeats itself in "
               "each epoch",
       .remedy = "lower the learning rate or the momentum, use larger batches, and shuffle the samples in each epoch",
       .looks = {{When::training_epoch, &judge_oscillation}},
       .limits = {{"oscillation", 0.5,
                   "mean change from one loss to the next over their mean, above which it oscillates; above the loss's "
                   "start 0.6 times that",
                   0.0}},
       // A rate that is too high silences units whatever the order, so these findings stay as bad.
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}},
                        {.effects = {"loss_spike"}, .agrees = &is_of_sorted_samples},
                        {.effects = {"dead_units"}, .strength = Strength::hint, .agrees = &is_of_sorted_samples}},
       .epochs_unseen = 2,
       .example = R"(-// Steps beyond the minimum, to and fro.
-auto options = torch::optim::SGDOptions(0.5).momentum(0.99);
+auto options = torch::optim::SGDOptions(0.01).momentum(0.9);)"},
      {.name = "diverging_loss",
       .severity = LOUPE_SEVERITY_ERROR,
       .tag = "Loss",
       .help = "error; an epoch's loss is far above the lowest",
       .remedy = "lower the learning rate or clip the gradients before the step; check that the loss is minimized, not "
                 "maximized",
       .looks = {{When::training_epoch, &judge_divergence}},
       .limits = {{"diverging_factor", 2.0,
                   "an epoch's loss over the lowest epoch's so far, above which it diverges; 100 where a model acts, "
                   "if it grows in eight epochs in a row",
                   1.0}},
       .evidence = Evidence::training_loss,
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .epochs_unseen = 1,
       .example = R"( auto loss = torch::mse_loss(model->forward(x), y);
-(-loss).backward();  // makes it larger with each step
+loss.backward();
 optimizer.step();)"},
      {.name = "overfitting",
       .tag = "Loss",
       .help = "warning; the validation loss grows while the training loss falls",
       .remedy = "stop at the best epoch, or use more data, augmentation, dropout or weight decay",
       .looks = {{When::validation_epoch, &judge_overfitting}},
       .limits =
           {{"overfitting_factor", 1.1,
             "the validation losses of three epochs over the lowest two in a row, and a twentieth of their fall above "
             "these, while the training loss falls; 1.5 where they never fell and do not grow in each epoch",
             1.0}},
       .evidence = Evidence::both_losses,
       .example = R"(-for (int epoch = 0; epoch < 500; ++epoch) {
+for (int epoch = 0; epoch < 500 && epoch < best_epoch + 20; ++epoch) {
   train(model);
-  validate(model);
+  const double loss = validate(model);
+  if (loss >= best_loss) continue;
+  best_loss = loss, best_epoch = epoch;
+  torch::save(model, "best.pt");
 })"},
      {.name = "adversary_won",
       .severity = LOUPE_SEVERITY_INFO,
       .tag = "Loss",
       .help = "info; two models have their own losses, and one falls to nearly 0 while the other grows",
       .measure =
           "two losses' means: one below a twentieth of its first, the other above twice its own; two epochs in a row",
       .remedy = "let the one that has won train more slowly or less often, or give it noisy inputs or soft labels",
       .looks = {{When::losses_of_models, &judge_adversaries}},
       .example = R"(-for (int i = 0; i < 5; ++i) train_discriminator(batch);
-train_generator();  // learns nothing from a judge who is always right
+train_discriminator(batch);
+train_generator();)"},
  };
}

}  // namespace loupe::health
