#include "port/calls.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "port/numbers.h"

namespace loupe::port {
namespace {

/// How one module runs in one step.
struct Calls {
  std::vector<const Tensor*> inputs;  // the first of each forward
  std::vector<std::string> before;    // which module's output was the last before each
  uint64_t forwards = 0, backwards = 0;
  bool has_inputs() const {
    return inputs.size() == forwards && std::find(inputs.begin(), inputs.end(), nullptr) == inputs.end();
  }
};

using Place = std::pair<uint64_t, std::string>;  // step and module

std::map<Place, Calls> calls_of(const Record& record) {
  std::map<Place, Calls> all;
  std::set<std::string> functions;
  for (const Module& each : record.modules) {
    if (each.functional) functions.insert(each.name);
  }
  std::string last;
  for (const Tensor& each : record.tensors) {
    constexpr uint64_t most = 10'000;
    if (each.step == 0 || each.index != 0 || each.call >= most) continue;
    Calls& calls = all[{each.step, each.module}];
    if (each.is("output")) {
      calls.forwards = std::max(calls.forwards, each.call + 1);
      if (functions.count(each.module) == 0) last = each.module;
    }
    if (each.is("output_gradient")) calls.backwards = std::max(calls.backwards, each.call + 1);
    if (!each.is("input")) continue;
    calls.inputs.resize(std::max<std::size_t>(calls.inputs.size(), each.call + 1), nullptr);
    calls.inputs[each.call] = &each;
    calls.before.resize(calls.inputs.size());
    calls.before[each.call] = last;
  }
  return all;
}

/// The number among the calls of `more` of each call of `fewer`, by their inputs, or else by what runs before them;
/// empty where neither tells.
std::vector<uint64_t> numbers_of(const Calls& fewer, const Calls& more,
                                 const std::map<std::string, std::string>& to_more) {
  constexpr double same = 1e-4;
  std::vector<uint64_t> numbers;
  bool any = false;
  uint64_t next = 0;
  for (uint64_t call = 0; call < fewer.forwards; ++call) {
    const Tensor& input = *fewer.inputs[call];
    const uint64_t last = more.forwards - (fewer.forwards - call);
    const auto has_input = [&](uint64_t other) {
      return difference(input, *more.inputs[other], std::max(input.rms(), more.inputs[other]->rms())) <= same;
    };
    const auto before = to_more.find(fewer.before[call]);
    const auto comes_after = [&](uint64_t other) {
      return before != to_more.end() && before->second == more.before[other];
    };
    uint64_t found = next;
    while (found <= last && !has_input(found)) ++found;
    if (found > last) found = next;
    while (found <= last && !has_input(found) && !comes_after(found)) ++found;
    any = any || found <= last;
    numbers.push_back(found <= last ? found : next);
    next = numbers.back() + 1;
  }
  return any ? numbers : std::vector<uint64_t>();
}

void align(Record& fewer, Record& more, const std::map<std::string, std::string>& to_more) {
  const std::map<Place, Calls> own = calls_of(fewer), others = calls_of(more);
  std::map<Place, std::vector<uint64_t>> forwards, backwards;
  for (const auto& [place, calls] : own) {
    const auto name = to_more.find(place.second);
    const auto other = name != to_more.end() ? others.find({place.first, name->second}) : others.end();
    if (other == others.end() || calls.forwards == 0 || calls.forwards >= other->second.forwards) continue;
    if (!calls.has_inputs() || !other->second.has_inputs()) continue;
    const std::vector<uint64_t> numbers = numbers_of(calls, other->second, to_more);
    if (numbers.empty()) continue;
    forwards[place] = numbers;
    // The last forward is the first backward.
    if (calls.backwards != calls.forwards || other->second.backwards != other->second.forwards) continue;
    for (auto each = numbers.rbegin(); each != numbers.rend(); ++each)
      backwards[place].push_back(other->second.forwards - 1 - *each);
  }
  if (forwards.empty()) return;
  for (Tensor& each : fewer.tensors) {
    const auto& numbers = each.is_forward() ? forwards : backwards;
    if (!each.is_forward() && !each.is("output_gradient")) continue;
    const auto found = numbers.find({each.step, each.module});
    if (found != numbers.end() && each.call < found->second.size()) each.call = found->second[each.call];
  }
  fewer.index_places();
}

}  // namespace

void align_calls(Record& first, Record& second, const Alignment& alignment) {
  std::map<std::string, std::string> to_first;
  for (const auto& each : alignment.to_second) to_first[each.second] = each.first;
  align(first, second, alignment.to_second);
  align(second, first, to_first);
}

}  // namespace loupe::port
