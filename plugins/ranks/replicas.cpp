// Checks whether the ranks still train the same model.

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ranks/judge.h"
#include "ranks/prints.h"

namespace loupe::ranks {
namespace {

/// Whether both fingerprints are known and different.
bool differ(const std::vector<uint64_t>& one, const std::vector<uint64_t>& other, std::size_t at) {
  return at < one.size() && at < other.size() && are_comparable(one[at], other[at]) && one[at] != other[at];
}

/// The first index, among those for which `counts` is true, at which any group differs from the first group.
template <class Numbers, class Counts>
std::optional<std::size_t> first_difference(const std::vector<Said::Group>& groups, Numbers&& numbers,
                                            Counts&& counts) {
  std::optional<std::size_t> first;
  if (groups.empty()) return first;
  const std::vector<uint64_t>& reference = numbers(groups.front().replica);
  for (const Said::Group& group : groups) {
    const std::vector<uint64_t>& other = numbers(group.replica);
    for (std::size_t i = 0; i < std::min(reference.size(), other.size()) && (!first || i < *first); ++i) {
      if (counts(i) && differ(reference, other, i)) first = i;
    }
  }
  return first;
}

/// The ranks grouped by value, the largest group first.
std::vector<std::vector<int>> parts_of(const std::map<uint64_t, std::vector<int>>& by_value) {
  std::vector<std::vector<int>> parts;
  for (const auto& [value, ranks] : by_value) {
    parts.push_back(ranks);
    std::sort(parts.back().begin(), parts.back().end());
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& one, const auto& other) {
    return one.size() != other.size() ? one.size() > other.size() : one < other;
  });
  return parts;
}

/// The ranks grouped by their number at one index.
template <class Numbers>
std::vector<std::vector<int>> split(const Said& said, std::size_t at, Numbers&& numbers) {
  std::map<uint64_t, std::vector<int>> by_value;
  for (const Said::Group& group : said.replicas) {
    const std::vector<uint64_t>& own = numbers(group.replica);
    std::vector<int>& ranks = by_value[at < own.size() ? own[at] : 0];
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return parts_of(by_value);
}

/// One optimizer state of a parameter; the ranks are grouped by the value that they keep.
struct KeptState {
  std::size_t tensor;
  std::string name;
  std::vector<std::vector<int>> parts;
};

/// The first optimizer state that differs between ranks, among the parameters for which `counts` is true. Ranks that do
/// not keep a parameter's state are ignored, since states may be divided among ranks.
template <class Counts>
std::optional<KeptState> first_different_state(const std::vector<Said::Group>& groups, Replica::States Replica::*states,
                                               Counts&& counts) {
  std::map<std::pair<std::size_t, std::string>, std::map<uint64_t, std::vector<const Said::Group*>>> places;
  for (const Said::Group& group : groups) {
    for (const auto& [name, prints] : group.replica.*states) {
      for (std::size_t i = 0; i < prints.size(); ++i) {
        if (prints[i] != 0 && counts(i)) places[{i, name}][prints[i]].push_back(&group);
      }
    }
  }
  for (const auto& [place, by_print] : places) {
    if (by_print.size() < 2 || !are_comparable(by_print.begin()->first, by_print.rbegin()->first)) continue;
    std::map<uint64_t, std::vector<int>> by_value;
    for (const auto& [print, of] : by_print) {
      for (const Said::Group* group : of)
        by_value[print].insert(by_value[print].end(), group->ranks.begin(), group->ranks.end());
    }
    return KeptState{place.first, place.second, parts_of(by_value)};
  }
  return std::nullopt;
}

/// Whether all ranks keep some optimizer state of the parameter.
bool all_keep(const std::vector<Said::Group>& groups, std::size_t tensor) {
  return !groups.empty() && std::all_of(groups.begin(), groups.end(), [&](const Said::Group& group) {
    const Replica::States& states = group.replica.states;
    return std::any_of(states.begin(), states.end(),
                       [&](const auto& each) { return tensor < each.second.size() && each.second[tensor] != 0; });
  });
}

/// "rank 2 from ranks 0, 1 and 3", "rank 0 from rank 1": the smaller group first.
std::string who(const std::vector<std::vector<int>>& parts) {
  if (parts.size() > 2) return "the ranks from each other (" + std::to_string(parts.size()) + " different ones)";
  return detail::list_of_ranks(parts.back()) + " from " + detail::list_of_ranks(parts.front());
}

const std::vector<uint64_t>& gradients_at(const Replica& replica, uint64_t step) {
  static const auto& none = *new std::vector<uint64_t>();
  for (const Replica::Gradients& each : replica.gradients) {
    if (each.step == step) return each.used;
  }
  return none;
}

/// The group that a rank is in.
const Said::Group& group_of(const Said& said, int rank) {
  return *std::find_if(said.replicas.begin(), said.replicas.end(), [&](const Said::Group& group) {
    return std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
  });
}

/// How gradients differ from others that have the same signs.
struct Scaling {
  std::optional<double> factor;  ///< their ratio at the first step that differs, if it is the same for all elements
  std::optional<double> limit;   ///< the largest element, if the others have larger ones
};

/// Empty if some gradients differ in more than their scale, or no scale was found.
std::optional<Scaling> scaling_of(const Replica& replica, const Replica& reference) {
  constexpr double rounding = 0.01, fewest_times = 1.02;
  Scaling scaling;
  std::size_t steps = 0;
  bool is_multiple = true, is_limited = true;
  for (const Replica::Gradients& theirs : reference.gradients) {
    const auto own = std::find_if(replica.gradients.begin(), replica.gradients.end(),
                                  [&](const Replica::Gradients& each) { return each.step == theirs.step; });
    if (own == replica.gradients.end() || own->used == theirs.used) continue;
    if (own->shape.signs == 0 || own->shape.signs != theirs.shape.signs) return std::nullopt;
    const double factor = own->shape.norm / theirs.shape.norm;
    if (steps++ == 0) {
      scaling.factor = factor;
      scaling.limit = own->shape.largest;
    }
    is_multiple = is_multiple && std::max(factor, 1 / factor) > fewest_times &&
                  std::abs(own->shape.largest / theirs.shape.largest / factor - 1) < rounding;
    is_limited = is_limited && std::abs(own->shape.largest / *scaling.limit - 1) < rounding &&
                 theirs.shape.largest > own->shape.largest * fewest_times;
  }
  if (steps == 0 || !is_multiple) scaling.factor.reset();
  if (steps < 2 || !is_limited || is_multiple) scaling.limit.reset();
  return scaling.factor || scaling.limit ? std::optional(scaling) : std::nullopt;
}

/// "those of rank 2 are 0.1 times those of ranks 0 and 1; …" if the gradients differ only in their scale; otherwise
/// empty.
std::string scaling_text(const Said& said, const std::vector<std::vector<int>>& parts) {
  const Replica& reference = group_of(said, parts.front().front()).replica;
  std::vector<Scaling> scalings;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto scaling = scaling_of(group_of(said, parts[i].front()).replica, reference);
    if (!scaling) return "";
    scalings.push_back(*scaling);
  }
  if (scalings.size() != 1) return "each rank clips or scales them differently, as they differ only in scale";
  const std::string odd = detail::list_of_ranks(parts.back()), others = detail::list_of_ranks(parts.front());
  // If both groups have the same size, it is unknown which one is wrong.
  const std::string who = parts.back().size() < parts.front().size() ? odd : "one of the two";
  if (scalings.front().limit)
    return "those of " + odd + " have no element above " + rounded_text(*scalings.front().limit) +
           " and the signs of " + others + ": their values are clipped only in " + odd;
  const double factor = *scalings.front().factor;
  const double ranks = said.world_size;
  const auto is_about = [&](double expected) { return std::abs(factor / expected - 1) < 1e-3; };
  std::string text = "those of " + odd + " are " + rounded_text(factor) + " times those of " + others;
  if (ranks > 1 && (is_about(ranks) || is_about(1 / ranks)))
    return text + ", by the number of ranks: some divide the sum by it, and the others do not";
  return text + ": they are clipped or scaled only in " + who;
}

}  // namespace

void Judge::judge_replicas(const Said& said, const std::vector<NamedTensor>& tensors) {
  const auto is_known = [](const Said::Group& group) {
    const std::vector<uint64_t>& prints = group.replica.parameters;
    return std::any_of(prints.begin(), prints.end(), [](uint64_t print) { return print != 0; });
  };
  // The model may be destroyed before the last tick. That does not resolve open findings.
  const bool is_any_known = std::any_of(said.replicas.begin(), said.replicas.end(), is_known);
  if (knew_parameters_ && !is_any_known) {
    return keep([](const Finding& finding) {
      return finding.rule == "replica_drift" || finding.rule == "gradients_not_averaged";
    });
  }
  knew_parameters_ = is_any_known;
  if (said.replicas.empty()) return;
  for (const auto& [rank, record] : said.records) {
    if (record.model != said.records.begin()->second.model) return;  // the rule ranks_differ reports this
  }
  const auto is_parameter = [&](std::size_t i) { return i < tensors.size() && !tensors[i].is_buffer; };
  const auto is_buffer = [&](std::size_t i) { return i < tensors.size() && tensors[i].is_buffer; };
  const auto now = [](const Replica& replica) -> const std::vector<uint64_t>& { return replica.parameters; };
  const auto start = [](const Replica& replica) -> const std::vector<uint64_t>& { return replica.start; };
  const auto name = [&](std::size_t i) {
    return tensors[i].layer + (tensors[i].layer.empty() ? "" : ".") + tensors[i].name;
  };
  const auto finding_at = [&](std::size_t i, const std::string& rule, uint32_t severity) {
    Finding finding;
    finding.rule = rule;
    finding.severity = severity;
    finding.layer = tensors[i].layer;
    finding.parameter = tensors[i].name;
    return finding;
  };

  std::size_t steps = 0, different_steps = 0;
  uint64_t first_step = 0;
  std::size_t first_gradient = 0, compared_gradients = 0, different_gradients = 0;
  for (const Replica::Gradients& each : said.replicas.front().replica.gradients) {
    const auto at = first_difference(
        said.replicas,
        [&](const Replica& replica) -> const std::vector<uint64_t>& { return gradients_at(replica, each.step); },
        is_parameter);
    const auto has_step = [&](const Said::Group& group) { return !gradients_at(group.replica, each.step).empty(); };
    const bool is_compared =
        said.replicas.size() == 1 || std::count_if(said.replicas.begin(), said.replicas.end(), has_step) >= 2;
    steps += is_compared ? 1 : 0;
    if (!at) continue;
    if (different_steps++ > 0) continue;
    first_step = each.step;
    first_gradient = *at;
    const std::vector<uint64_t>& reference = gradients_at(said.replicas.front().replica, each.step);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      if (reference[i] == 0 || !is_parameter(i)) continue;
      ++compared_gradients;
      different_gradients += std::any_of(said.replicas.begin(), said.replicas.end(), [&](const Said::Group& group) {
        return differ(reference, gradients_at(group.replica, each.step), i);
      });
    }
  }
  // If ranks step by separate gradients and then average parameters, their optimizer states differ as well.
  const auto has_equal_gradients = [&](std::size_t i) {
    const auto& used = said.replicas.front().replica.gradients;
    return steps > 0 && different_steps == 0 && is_parameter(i) &&
           std::any_of(used.begin(), used.end(),
                       [&](const auto& each) { return i < each.used.size() && each.used[i] != 0; });
  };
  const auto state = first_different_state(said.states, &Replica::states, has_equal_gradients);
  const bool is_from_start =
      state && first_different_state(said.states, &Replica::first_states, has_equal_gradients).has_value();
  const std::string equal_gradients =
      steps == 0 ? "the gradients that they used could not be compared"
                 : "the gradients that they used were equal in " +
                       (steps == 1 ? "the step that was compared"
                                   : "all " + std::to_string(steps) + " steps that were compared");
  const std::string advice_on_states =
      is_from_start ? "let all ranks restore their optimizers' states from the same checkpoint, or none of them, and "
                      "compare the optimizers' settings"
                    : "compare the optimizers' settings, and check what replaces or writes to their states in only one "
                      "rank; if nothing does, memory is corrupted (check that rank's machine)";

  const auto at = first_difference(said.replicas, now, is_parameter);
  if (!at) {
    if (state) {
      Finding finding = finding_at(state->tensor, "replica_drift", LOUPE_SEVERITY_ERROR);
      finding.message = "the states of the ranks' optimizers now differ: " + who(state->parts) + ", first in '" +
                        state->name + "' of " + name(state->tensor) + ", while all parameters are still equal; " +
                        (is_from_start ? "they already differed after the first step" : equal_gradients);
      finding.advice = advice_on_states;
      raise(std::move(finding), who(state->parts));
    }
    // Each rank normalizes by its own batches. This is not a fault, but it surprises users who evaluate on one rank.
    const auto buffer = first_difference(said.buffers, now, is_buffer);
    if (!buffer) return;
    Finding finding = finding_at(*buffer, "replica_drift", LOUPE_SEVERITY_INFO);
    finding.message = "the buffer " + name(*buffer) +
                      " differs between ranks, because each saw different batches; all parameters are equal";
    finding.advice = "average the buffers over the ranks before one of them evaluates or saves the model";
    return raise(std::move(finding), "buffers");
  }

  // If only a few gradients differ, they were averaged and changed afterwards.
  const auto gradient_parts = split(said, first_gradient, [&](const Replica& replica) -> const std::vector<uint64_t>& {
    return gradients_at(replica, first_step);
  });
  const std::string scaled = different_steps > 0 ? scaling_text(said, gradient_parts) : "";
  const bool no_average =
      scaled.empty() && steps > 0 && different_steps * 2 >= steps && 2 * different_gradients >= compared_gradients;
  if (no_average) {
    Finding finding = finding_at(first_gradient, "gradients_not_averaged", LOUPE_SEVERITY_ERROR);
    finding.message = "the gradients that the optimizers use differ between ranks, in " +
                      std::to_string(different_steps) + " of the " + std::to_string(steps) +
                      " steps that were compared, first at step " + std::to_string(first_step) + " in " +
                      name(first_gradient) + ": " + who(gradient_parts) + "; each rank trains a separate model";
    finding.advice =
        "between backward() and step(), add up each parameter's gradient over all ranks (allreduce) and divide it by "
        "their number";
    raise(std::move(finding), who(gradient_parts));
  }

  const auto parts = split(said, *at, now);
  const auto at_start = first_difference(said.replicas, start, is_parameter);
  if (no_average && !at_start) return;  // the missing average explains the drift
  Finding finding = finding_at(*at, "replica_drift", LOUPE_SEVERITY_ERROR);
  finding.message = "the ranks' parameters now differ: " + who(parts) + ", first in " + name(*at) + "; ";
  std::map<uint64_t, std::vector<int>> by_steps;
  std::set<double> rates;
  for (const auto& [rank, record] : said.records) {
    by_steps[record.all_steps].push_back(rank);
    rates.insert(record.learning_rate);
  }
  if (at_start) {
    finding.message += "they differed before the first step";
    finding.advice =
        "give all ranks the same seed before the model is made, or the same checkpoint, or send rank 0's "
        "parameters to all";
  } else if (by_steps.size() > 1) {
    const auto most = std::max_element(by_steps.begin(), by_steps.end(), [](const auto& one, const auto& other) {
      return one.second.size() < other.second.size();
    });
    for (const auto& [count, ranks] : by_steps) {
      if (count == most->first) continue;
      finding.message += detail::list_of_ranks(ranks) + " made " + std::to_string(count) + " steps and the others " +
                         std::to_string(most->first);
      break;
    }
    finding.advice = "make every rank step as often: a batch that one rank leaves out must be left out by all";
  } else if (rates.size() > 1) {
    finding.message += "their learning rates differ";
    finding.advice = "give all ranks the same learning rate and schedule";
  } else if (!scaled.empty()) {
    finding.message += "the gradients that they used differed at step " + std::to_string(first_step) +
                       ", but had one direction: " + scaled;
    finding.advice = "clip and scale gradients after they are averaged, and alike in every rank";
  } else if (different_steps > 0) {
    finding.message += "the gradients that they used differed at step " + std::to_string(first_step) + ", first in " +
                       name(first_gradient);
    finding.advice = "check what changes gradients after they are averaged, or a collective that one rank skipped";
  } else if (state) {
    finding.message += equal_gradients + ", but their optimizers' states differ, first '" + state->name + "' of " +
                       name(state->tensor) + (is_from_start ? ", already after the first step" : "");
    finding.advice = advice_on_states;
  } else {
    finding.message += equal_gradients;
    if (all_keep(said.states, *at)) finding.message += ", and their optimizers' states are equal";
    finding.advice =
        "compare the optimizers' settings, and check what writes to parameters in only one rank; if nothing does, "
        "memory is corrupted (check that rank's machine)";
  }
  raise(std::move(finding), who(parts));
}

}  // namespace loupe::ranks
