#include "ranks/common_steps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

namespace loupe::ranks {
namespace {

double median(std::vector<double> numbers) {
  if (numbers.empty()) return NAN;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

/// How likely the ranks have measured the step at this position. Hosts measure pairs of steps: first those at the start
/// of an epoch, then those at multiples of a power of 2.
int likelihood(uint64_t position) {
  return position < 2 ? 64 : std::countr_zero(position / 2);
}

std::vector<uint64_t> common_steps(const std::map<int, RankRecord>& records) {
  constexpr double nearly_all = 0.8;
  std::map<uint64_t, std::size_t> counts;
  for (const auto& [rank, record] : records) {
    for (const MeasuredStep& each : record.measured) ++counts[each.step];
  }
  std::vector<uint64_t> common;
  for (const auto& [step, count] : counts) {
    if (count >= 2 && static_cast<double>(count) >= nearly_all * static_cast<double>(records.size()))
      common.push_back(step);
  }
  return common;
}

void add_up(RankRecord& record, const std::vector<const MeasuredStep*>& steps, const std::vector<std::string>& modes) {
  constexpr std::size_t most_evaluated = 16;
  uint64_t forwards = 0, rows = 0;
  double input_squares = 0, input_elements = 0, gradient_squares = 0;
  std::vector<double> seconds, waited;
  std::vector<uint64_t> evaluated = steps.front()->evaluated;
  for (const MeasuredStep* each : steps) {
    forwards += each->forwards;
    rows += each->rows;
    input_squares += each->input_squares;
    input_elements += each->input_elements;
    gradient_squares += each->gradient_squares;
    record.batches.insert(record.batches.end(), each->batches.begin(), each->batches.end());
    std::vector<uint64_t> still;
    std::set_intersection(evaluated.begin(), evaluated.end(), each->evaluated.begin(), each->evaluated.end(),
                          std::back_inserter(still));
    evaluated = std::move(still);
    if (!std::isfinite(each->seconds) || !std::isfinite(each->waited)) continue;
    seconds.push_back(each->seconds);
    waited.push_back(each->waited);
  }
  record.compared = steps.size();
  record.timed = seconds.size();
  if (forwards > 0) record.batch_size = static_cast<double>(rows) / static_cast<double>(forwards);
  if (input_elements > 0) record.input = std::sqrt(input_squares / input_elements);
  record.gradient = std::isnan(gradient_squares) ? record.device_gradient
                                                 : std::sqrt(gradient_squares / static_cast<double>(steps.size()));
  record.step_seconds = median(std::move(seconds));
  record.waited_seconds = median(std::move(waited));
  for (const uint64_t number : evaluated) {
    if (number < modes.size() && record.evaluated.size() < most_evaluated)
      record.evaluated.push_back(modes[static_cast<std::size_t>(number)]);
  }
}

}  // namespace

bool KeptSteps::has_inputs(uint64_t position) {
  constexpr uint64_t first_steps = 8;
  constexpr int likely = 3;
  return position < first_steps || likelihood(position) >= likely;
}

void KeptSteps::add(uint64_t position, MeasuredStep step) {
  kept_.push_back({position, std::move(step)});
  if (kept_.size() >= 2 * most) prune();
}

std::vector<MeasuredStep> KeptSteps::take() {
  prune();
  std::vector<MeasuredStep> steps;
  for (Kept& each : kept_) steps.push_back(std::move(each.step));
  kept_.clear();
  return steps;
}

void KeptSteps::prune() {
  std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& one, const Kept& other) {
    return likelihood(one.position) > likelihood(other.position);
  });
  if (kept_.size() > most) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(most), kept_.end());
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& one, const Kept& other) { return one.position < other.position; });
}

void compare_common_steps(std::map<int, RankRecord>& records, const std::vector<std::string>& modes) {
  const std::vector<uint64_t> common = common_steps(records);
  if (common.empty()) return;
  for (auto& [rank, record] : records) {
    std::vector<const MeasuredStep*> steps;
    for (const MeasuredStep& each : record.measured) {
      if (std::binary_search(common.begin(), common.end(), each.step)) steps.push_back(&each);
    }
    if (steps.size() == common.size()) add_up(record, steps, modes);
  }
}

}  // namespace loupe::ranks
