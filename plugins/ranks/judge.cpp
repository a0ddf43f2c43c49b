// Compares the settings, data and numbers of the ranks of a run. replicas.cpp compares their replicas.

#include "ranks/judge.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace loupe::ranks {
namespace {

/// The median; of an even count the larger of the two middle numbers.
double upper_median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

/// "'x' is 1 in ranks 0 and 1, and 2 in rank 2"; empty if all have the same.
template <class Value>
std::string difference(const Said& said, const std::string& name, Value&& value) {
  constexpr std::size_t most = 4;
  std::map<std::string, std::size_t> places;
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const auto& [rank, record] : said.records) {
    const auto [known, is_new] = places.emplace(value(record), groups.size());
    if (is_new) groups.emplace_back(known->first, std::vector<int>());
    groups[known->second].second.push_back(rank);
  }
  if (groups.size() < 2) return "";
  std::string text = name;
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i)
    text += (i == 0                   ? " "
             : i + 1 == groups.size() ? " and "
                                      : ", ") +
            groups[i].first + " in " + detail::list_of_ranks(groups[i].second);
  return groups.size() <= most ? text : text + " and others in the other ranks";
}

/// Whether a count differs between ranks by more than an uneven division of batches explains, which leaves one rank one
/// more.
bool differs(const Said& said, uint64_t RankRecord::*count) {
  uint64_t fewest = UINT64_MAX, most = 0;
  for (const auto& [rank, record] : said.records) {
    fewest = std::min(fewest, record.*count);
    most = std::max(most, record.*count);
  }
  return most > fewest + 2 && static_cast<double>(most) > 1.1 * static_cast<double>(fewest);
}

/// Whether most ranks reported a loss for each step, and all of them some losses. Otherwise the numbers of losses do
/// not show the numbers of batches.
bool have_losses_of_each_batch(const Said& said) {
  std::size_t often = 0;
  for (const auto& [rank, record] : said.records) {
    if (record.losses == 0) return false;
    often += record.losses >= record.steps ? 1 : 0;
  }
  return 2 * often > said.records.size();
}

/// A short name for a fingerprint, since fingerprints are not readable: "A", "B".
std::string letter_of(uint64_t number, std::vector<uint64_t>& known) {
  auto place = std::find(known.begin(), known.end(), number);
  if (place == known.end()) place = known.insert(known.end(), number);
  return std::string("of kind ") + static_cast<char>('A' + std::min<std::ptrdiff_t>(place - known.begin(), 25));
}

}  // namespace

void Judge::judge(const Said& said, const std::vector<NamedTensor>& tensors, const Tell& tell) {
  raised_.clear();
  judge_settings(said);
  judge_replicas(said, tensors);
  judge_modes(said);
  judge_batches(said);
  judge_masks(said);
  judge_non_finite(said);
  judge_times(said);
  judge_balance(said);
  for (auto& [key, raised] : raised_) {
    const auto known = standing_.find(key);
    if (known == standing_.end()) {
      tell(raised.finding);
    } else if (known->second.essence != raised.essence || known->second.finding.severity != raised.finding.severity) {
      tell(raised.finding);
    }
  }
  for (auto& [key, standing] : standing_) {
    if (raised_.count(key) > 0) continue;
    standing.finding.is_over = true;
    tell(standing.finding);
  }
  standing_ = std::move(raised_);
}

void Judge::raise(Finding finding, std::string essence) {
  const std::string key = finding.rule + '\n' + finding.layer + '\n' + finding.parameter;
  raised_[key] = {std::move(finding), std::move(essence)};
}

void Judge::keep(const std::function<bool(const Finding&)>& is_its) {
  for (const auto& each : standing_) {
    if (is_its(each.second.finding)) raised_.insert(each);
  }
}

int Judge::in_a_row(const std::string& key, bool is_so) {
  if (!is_so) {
    rows_.erase(key);
    return 0;
  }
  return ++rows_[key];
}

void Judge::judge_settings(const Said& said) {
  std::vector<uint64_t> models, configs;
  std::vector<std::string> parts = {
      difference(said, "the model is", [&](const RankRecord& record) { return letter_of(record.model, models); }),
      difference(said, "the configuration is",
                 [&](const RankRecord& record) { return letter_of(record.config, configs); }),
      difference(said, "Loupe is", [](const RankRecord& record) { return record.loupe_version; }),
      difference(said, "LibTorch is", [](const RankRecord& record) { return record.framework_version; }),
      difference(said, "the learning rate is",
                 [](const RankRecord& record) { return number_text(record.learning_rate); })};
  const auto add_count = [&](const char* name, uint64_t RankRecord::*count) {
    if (differs(said, count))
      parts.push_back(difference(said, std::string("the number of ") + name + " since the last tick is",
                                 [&](const RankRecord& record) { return std::to_string(record.*count); }));
  };
  add_count("steps", &RankRecord::steps);
  if (have_losses_of_each_batch(said)) add_count("training losses, one for each batch,", &RankRecord::losses);
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  if (text.empty()) return;
  Finding finding;
  finding.rule = "ranks_differ";
  finding.message = "the ranks run with different settings: " + text;
  finding.advice = "start all ranks with the same program, configuration and settings, or check why they differ";
  raise(std::move(finding), text);
}

/// Finds layers that depend on the mode and are in eval mode in only some ranks.
void Judge::judge_modes(const Said& said) {
  std::map<std::string, std::vector<int>> ranks_of;
  std::vector<int> all;
  for (const auto& [rank, record] : said.records) {
    if (record.compared == 0) continue;
    all.push_back(rank);
    for (const std::string& module : record.evaluated) ranks_of[module].push_back(rank);
  }
  if (all.size() < 2)
    return keep([](const Finding& finding) { return finding.rule == "ranks_differ" && !finding.layer.empty(); });
  std::map<std::vector<int>, std::vector<std::string>> by_ranks;
  for (const auto& [module, ranks] : ranks_of) {
    if (ranks.size() < all.size()) by_ranks[ranks].push_back(module);
  }
  for (const auto& [ranks, modules] : by_ranks) {
    std::vector<int> others;
    std::set_difference(all.begin(), all.end(), ranks.begin(), ranks.end(), std::back_inserter(others));
    std::string which = modules.front();
    if (modules.size() > 1)
      which += " and " + std::to_string(modules.size() - 1) + (modules.size() > 2 ? " more layers" : " more layer");
    Finding finding;
    finding.rule = "ranks_differ";
    finding.layer = modules.front();
    finding.message = which + (modules.size() > 1 ? " are" : " is") + " in eval mode while " +
                      detail::list_of_ranks(ranks) + (ranks.size() > 1 ? " train" : " trains") + ", and not while " +
                      detail::list_of_ranks(others) + (others.size() > 1 ? " do" : " does");
    finding.advice =
        "call train() on the whole model in every rank before it trains, or eval() on that layer in all of them";
    raise(std::move(finding), detail::list_of_ranks(ranks) + which);
  }
}

void Judge::judge_batches(const Said& said) {
  constexpr std::size_t fewest = 3;
  if (std::all_of(said.records.begin(), said.records.end(),
                  [](const auto& each) { return each.second.batches.size() < fewest; }))
    return keep([](const Finding& finding) { return finding.rule == "same_data"; });
  std::map<std::vector<uint64_t>, std::vector<int>> by_batches;
  for (const auto& [rank, record] : said.records) {
    const bool is_known = std::find(record.batches.begin(), record.batches.end(), 0) == record.batches.end();
    const bool varies = std::set<uint64_t>(record.batches.begin(), record.batches.end()).size() >= fewest;
    if (is_known && varies) by_batches[record.batches].push_back(rank);
  }
  std::string text;
  std::size_t compared = 0;
  for (const auto& [batches, ranks] : by_batches) {
    if (ranks.size() < 2) continue;
    text += (text.empty() ? "" : "; ") + detail::list_of_ranks(ranks);
    compared = batches.size();
  }
  if (text.empty()) return;
  Finding finding;
  finding.rule = "same_data";
  finding.message = text + " train on identical batches: all of the " + std::to_string(compared) +
                    " that were compared since the last tick are the same, bit for bit";
  finding.advice =
      "give each rank a separate part: a DistributedRandomSampler with the world's size and the rank, or another "
      "seed";
  raise(std::move(finding), text);
}

void Judge::judge_masks(const Said& said) {
  constexpr int fewest_each = 8, fewest = 64;
  const auto& first = said.records.begin()->second.batches;
  if (std::all_of(said.records.begin(), said.records.end(),
                  [](const auto& each) { return each.second.batches.empty(); }))
    return keep([](const Finding& finding) { return finding.rule == "same_dropout"; });
  if (std::all_of(said.records.begin(), said.records.end(),
                  [&](const auto& each) { return each.second.batches == first; }))
    return;  // the same data explain the same masks
  std::map<std::string, std::vector<std::pair<int, const std::string*>>> by_module;
  for (const auto& [rank, record] : said.records) {
    for (const auto& [module, mask] : record.masks) by_module[module].emplace_back(rank, &mask);
  }
  std::string modules;
  std::vector<int> ranks;
  for (const auto& [module, masks] : by_module) {
    bool all_same = masks.size() > 1;
    for (std::size_t i = 1; i < masks.size() && all_same; ++i) {
      const std::string &first = *masks[0].second, &other = *masks[i].second;
      int kept = 0, dropped = 0;
      for (std::size_t at = 0; at < std::min(first.size(), other.size()) && all_same; ++at) {
        if (first[at] == '?' || other[at] == '?') continue;
        all_same = first[at] == other[at];
        (first[at] == 'k' ? kept : dropped) += 1;
      }
      all_same = all_same && kept >= fewest_each && dropped >= fewest_each && kept + dropped >= fewest;
    }
    if (!all_same) continue;
    modules += (modules.empty() ? "" : ", ") + module;
    ranks.clear();
    for (const auto& mask : masks) ranks.push_back(mask.first);
  }
  if (modules.empty()) return;
  Finding finding;
  finding.rule = "same_dropout";
  finding.severity = LOUPE_SEVERITY_INFO;
  finding.message =
      detail::list_of_ranks(ranks) + " drop the same elements of their different batches (" + modules + ")";
  finding.advice = "seed each rank differently after the model is made: torch::manual_seed(seed + rank)";
  raise(std::move(finding), modules);
}

void Judge::judge_non_finite(const Said& said) {
  // The loss is known for every step, but outputs and gradients only for measured steps.
  if (!judge_origin(said, &RankRecord::non_finite)) judge_origin(said, &RankRecord::bad_loss);
}

bool Judge::judge_origin(const Said& said, RankRecord::NonFinite RankRecord::*kind) {
  const RankRecord::NonFinite* first = nullptr;
  for (const auto& [rank, record] : said.records) {
    const RankRecord::NonFinite& own = record.*kind;
    if (own.is_there() && (first == nullptr || own.step < first->step)) first = &own;
  }
  if (first == nullptr) return false;
  std::vector<int> origins, receivers;
  uint64_t received = UINT64_MAX;
  bool is_seen_at_once = true;
  for (const auto& [rank, record] : said.records) {
    const RankRecord::NonFinite& own = record.*kind;
    if (own.step == first->step) {
      origins.push_back(rank);
      is_seen_at_once = is_seen_at_once && own.finite_before == own.step;
      continue;
    }
    if (own.finite_before <= first->step) return false;  // an earlier one may have gone unseen
    if (!own.is_there()) continue;
    receivers.push_back(rank);
    received = std::min(received, own.step);
  }
  if (origins.size() == said.records.size()) return false;  // all ranks have it, so none is to blame
  if (origins.size() > 1 && !is_seen_at_once) return false;
  Finding finding;
  finding.rule = "rank_non_finite";
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.layer = first->module;
  finding.message = "the first NaN or Inf appeared in " + detail::list_of_ranks(origins) + ", after step " +
                    std::to_string(first->step) + ", in " + first->what +
                    (first->module.empty() ? "" : " of " + first->module);
  if (!receivers.empty()) {
    finding.message += "; " + detail::list_of_ranks(receivers) + " had none before step " + std::to_string(received) +
                       ": it reached them through the averaged gradients";
  }
  finding.advice =
      "check that rank's data and its record (rank-N in the run's folder); the other ranks did nothing wrong";
  finding.first_step = first->step;
  raise(std::move(finding), detail::list_of_ranks(origins));
  return true;
}

/// Finds a straggler: the rank that delays the others waits the least itself.
void Judge::judge_times(const Said& said) {
  constexpr double slow = 0.1, very_slow = 0.2, fewest_answers = 0.8;
  constexpr double least_seconds = 0.002;  // processes on a busy machine take about this much time from each other
  constexpr int patience = 3;
  constexpr uint64_t fewest_steps = 8;
  std::vector<double> waits;
  int culprit = -1;
  double least = 0, step = 0;
  for (const auto& [rank, record] : said.records) {
    if (!(record.step_seconds > 0) || !(record.waited_seconds >= 0) || record.timed < fewest_steps) continue;
    if (waits.empty() || record.waited_seconds < least) {
      culprit = rank;
      least = record.waited_seconds;
    }
    waits.push_back(record.waited_seconds);
    step = std::max(step, record.step_seconds);
  }
  const bool enough = waits.size() >= 2 && static_cast<double>(waits.size()) >= fewest_answers * said.world_size;
  if (!enough) return keep([](const Finding& finding) { return finding.rule == "straggler"; });
  const double seconds = upper_median(waits) - least, lag = seconds >= least_seconds ? seconds / step : 0;
  int ticks = 0;
  for (const auto& [rank, record] : said.records) {
    const int row = in_a_row("straggler " + std::to_string(rank), rank == culprit && lag >= slow);
    if (rank == culprit) ticks = row;
  }
  if (ticks < patience) return;
  Finding finding;
  finding.rule = "straggler";
  finding.severity = lag >= very_slow ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_WARNING;
  finding.message = "rank " + std::to_string(culprit) + " is slowest: between backward and step the others wait " +
                    rounded_text(upper_median(waits) * 1e3) + " of " + rounded_text(step * 1e3) + " ms, it waits " +
                    rounded_text(least * 1e3) + " ms (medians of the last " + std::to_string(ticks) + " ticks)";
  finding.advice =
      "check what that rank does more than the others: its host, its share of the data, its data loader, its clock "
      "rate";
  finding.value = lag;
  finding.threshold = slow;
  raise(std::move(finding), std::to_string(culprit));
}

void Judge::judge_balance_of(const Said& said, const Number& number) {
  constexpr int patience = 3;
  std::vector<double> all;
  const auto is_known = [&](const RankRecord& record) {
    return std::isfinite(record.*number.value) && record.*number.value > 0;
  };
  for (const auto& [rank, record] : said.records) {
    if (is_known(record)) all.push_back(record.*number.value);
  }
  const bool are_two = number.of_two && all.size() == 2;
  const bool enough = all.size() >= 3 || are_two;  // with two ranks nobody knows which one is odd
  if (!enough)
    return keep(
        [&](const Finding& finding) { return finding.rule == "rank_imbalance" && finding.parameter == number.name; });
  std::sort(all.begin(), all.end());
  const double middle = are_two ? all.front() : all[all.size() / 2];
  for (const auto& [rank, record] : said.records) {
    const double own = record.*number.value;
    bool is_odd = false;
    if (is_known(record)) {
      // As factors: the distance to the nearest other number, and the spread of the other numbers. Only the first or
      // last number can be farther away than that.
      const bool is_first = own == all.front(), is_last = own == all.back();
      const std::size_t last = all.size() - 1;
      const double spread = is_first ? all[last] / all[1] : all[last - 1] / all[0];
      const double nearest = is_first ? all[1] / own : is_last ? own / all[last - 1] : 1;
      is_odd = nearest >= number.most && nearest >= spread && (is_last || !are_two);
    }
    const std::string name = "rank " + std::to_string(rank);
    const int ticks = in_a_row(number.name + name, is_odd);
    if (ticks < patience || (number.cause != nullptr && rows_.count(number.cause + name) > 0)) continue;
    Finding finding;
    finding.rule = "rank_imbalance";
    finding.layer = name;
    finding.parameter = number.name;
    finding.message = std::string("the ") + number.name + " of " + name + " is " + rounded_text(own) +
                      (are_two ? ", that of the other rank " : ", that of the middle rank ") + rounded_text(middle) +
                      ", in the last " + std::to_string(ticks) + " ticks";
    finding.advice = number.advice;
    finding.value = own;
    finding.threshold = middle;
    raise(std::move(finding), number.name);
  }
}

void Judge::judge_balance(const Said& said) {
  constexpr const char *share = "check whether its part of the data is like that of the others",
                       *inputs = "root mean square of the inputs";
  judge_balance_of(
      said, {inputs, 2, &RankRecord::input, "prepare the inputs alike in every rank: the same scale and normalization",
             nullptr, /*of_two=*/true});
  judge_balance_of(said, {"batch size", 1.5, &RankRecord::batch_size, share});
  // Ranks that train separate models also have separate losses, so these are not compared.
  const bool is_one_model = std::none_of(raised_.begin(), raised_.end(), [](const auto& each) {
    const Finding& finding = each.second.finding;
    return finding.severity == LOUPE_SEVERITY_ERROR &&
           (finding.rule == "replica_drift" || finding.rule == "gradients_not_averaged");
  });
  if (!is_one_model) return;
  const bool knows_inputs =
      std::all_of(said.records.begin(), said.records.end(), [](const auto& each) { return each.second.input > 0; });
  const char* const labels =
      knows_inputs ? "compare its labels with those of the others: its inputs are as large as theirs" : share;
  judge_balance_of(said, {"training loss", 2, &RankRecord::loss, labels, inputs});
  judge_balance_of(said, {"gradient norm", 3, &RankRecord::gradient, share, inputs});
}

}  // namespace loupe::ranks
