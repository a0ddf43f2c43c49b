#include "port/alignment.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command/usage_error.h"
#include "config/yaml_text.h"
#include "loupe/config_error.h"
#include "port/numbers.h"

namespace loupe::port {
namespace {

struct Signature {
  std::string name, type;
  std::vector<int64_t> sizes;  // the number of elements of each parameter, which may be transposed
};

std::vector<Signature> signatures(const Record& record) {
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const Tensor& tensor : record.tensors) {
    if (tensor.is("parameter")) sizes[tensor.module].push_back(tensor.numel());
  }
  std::vector<Signature> all;
  for (const Module& module : record.modules) {
    if (module.functional) continue;
    Signature& own = all.emplace_back(Signature{module.name, module.type, {}});
    // PyTorch's name for the Linear in an attention module.
    if (own.type == "NonDynamicallyQuantizableLinear") own.type = "Linear";
    own.sizes = sizes[module.name];
  }
  return all;
}

bool fit(const Signature& a, const Signature& b) {
  if (a.name.empty() || b.name.empty()) return a.name == b.name;  // the model itself
  return a.sizes == b.sizes && (a.type == b.type || !a.sizes.empty());
}

bool has_children(const std::vector<Signature>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name.rfind(name + ".", 0) == 0; });
}

/// Whether each of these is in the other record under its name. A module with children may be of a type of the user's.
bool fit_by_name(const std::vector<Signature>& all, const std::vector<Signature>& others) {
  return std::all_of(all.begin(), all.end(), [&](const Signature& each) {
    return std::any_of(others.begin(), others.end(), [&](const Signature& other) {
      return each.name == other.name &&
             (fit(each, other) || (has_children(all, each.name) && has_children(others, each.name)));
    });
  });
}

/// The longest common subsequence of modules that fit; among equally long ones, that with more equal names.
void align_by_order(const std::vector<Signature>& first, const std::vector<Signature>& second,
                    std::map<std::string, std::string>& to_second) {
  constexpr int pair = 10, same_name = 1;
  constexpr std::size_t most = std::size_t{64} << 20;
  const std::size_t columns = second.size() + 1;
  if ((first.size() + 1) * columns > most)
    throw UsageError(
        "the records have " + std::to_string(first.size()) + " and " + std::to_string(second.size()) +
        " modules whose names differ, which are too many to match; list which are the same in a file for --map");
  std::vector<int> best((first.size() + 1) * columns, 0);
  const auto score = [&](std::size_t i, std::size_t j) {
    return fit(first[i], second[j]) ? pair + (first[i].name == second[j].name ? same_name : 0) : 0;
  };
  for (std::size_t i = first.size(); i-- > 0;) {
    for (std::size_t j = second.size(); j-- > 0;) {
      const int own = score(i, j);
      best[i * columns + j] = std::max({best[(i + 1) * columns + j], best[i * columns + j + 1],
                                        own > 0 ? own + best[(i + 1) * columns + j + 1] : 0});
    }
  }
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    const int own = score(i, j), here = best[i * columns + j];
    if (own > 0 && here == own + best[(i + 1) * columns + j + 1]) {
      to_second[first[i++].name] = second[j++].name;
    } else if (here == best[(i + 1) * columns + j]) {
      ++i;
    } else {
      ++j;
    }
  }
}

void take_given(const std::map<std::string, std::string>& given, const Record& first, const Record& second,
                std::map<std::string, std::string>& to_second) {
  for (const auto& [name, other] : given) {
    for (const auto& [record, wanted] : {std::pair(&first, &name), std::pair(&second, &other)}) {
      if (record->module(*wanted) == nullptr)
        throw UsageError("the map names a module '" + *wanted + "', which '" + record->file + "' has not");
    }
    to_second[name] = other;
  }
}

}  // namespace

const std::string* Alignment::second(const std::string& first) const {
  const auto found = to_second.find(first);
  return found != to_second.end() ? &found->second : nullptr;
}

const std::string* Alignment::first(const std::string& second) const {
  const auto found =
      std::find_if(to_second.begin(), to_second.end(), [&](const auto& each) { return each.second == second; });
  return found != to_second.end() ? &found->first : nullptr;
}

std::string Alignment::yaml() const {
  YAML::Emitter text;
  text << YAML::BeginMap << YAML::Key << "modules" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, other] : to_second) {
    if (name != other) text << YAML::Key << name << YAML::Value << other;
  }
  text << YAML::EndMap << YAML::EndMap;
  return text.c_str();
}

Alignment align_modules(const Record& first, const Record& second, const std::map<std::string, std::string>& given) {
  Alignment alignment;
  auto& to_second = alignment.to_second;
  take_given(given, first, second, to_second);
  std::set<std::string> taken;
  for (const auto& each : to_second) taken.insert(each.second);
  std::vector<Signature> own = signatures(first), others = signatures(second);
  own.erase(std::remove_if(own.begin(), own.end(), [&](const auto& each) { return to_second.count(each.name) != 0; }),
            own.end());
  others.erase(
      std::remove_if(others.begin(), others.end(), [&](const auto& each) { return taken.count(each.name) != 0; }),
      others.end());
  if (fit_by_name(own, others) || fit_by_name(others, own)) {
    for (const Signature& each : own) {
      if (second.module(each.name) != nullptr && taken.count(each.name) == 0) to_second[each.name] = each.name;
    }
  } else {
    align_by_order(own, others, to_second);
  }
  for (const auto& each : to_second) taken.insert(each.second);
  // A remaining module with the same name in both was replaced: another activation, a layer of another size.
  for (const Signature& each : others) {
    const bool is_left = first.module(each.name) != nullptr && to_second.count(each.name) == 0;
    if (is_left && taken.insert(each.name).second) to_second[each.name] = each.name;
  }
  taken.clear();
  for (const auto& [name, other] : to_second) {
    taken.insert(other);
    alignment.by_name = alignment.by_name && name == other;
  }
  // A function is paired with the function of its name if both records have one.
  for (const Module& module : first.modules) {
    if (module.functional && second.module(module.name) != nullptr && taken.insert(module.name).second)
      to_second[module.name] = module.name;
  }
  for (const Module& module : first.modules) {
    if (to_second.count(module.name) == 0) alignment.only_first.push_back(module.name);
  }
  for (const Module& module : second.modules) {
    if (taken.count(module.name) == 0) alignment.only_second.push_back(module.name);
  }
  return alignment;
}

std::map<std::string, std::string> read_module_map(const std::string& file) {
  const auto fail = [&](const YAML::Mark& mark, const std::string& what) {
    const std::string place =
        mark.is_null() ? "" : std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1) + ":";
    throw ConfigError(file + ":" + place + " error: " + what);
  };
  std::map<std::string, std::string> map;
  try {
    Diagnostics diagnostics(file);
    const YAML::Node root = read_yaml(read_beginning(file, max_yaml_bytes), diagnostics);
    if (!root.IsMap() || root.size() != 1 || !root["modules"] || !root["modules"].IsMap())
      fail(root.Mark(),
           "a map of modules has the one key 'modules', with names of the first record's modules and, after "
           "a colon, of the second's");
    for (const auto& each : root["modules"]) {
      if (!each.first.IsScalar() || !each.second.IsScalar()) fail(each.first.Mark(), "a module's name is a text");
      map[each.first.Scalar()] = each.second.Scalar();
    }
  } catch (const std::system_error& reason) {
    fail(YAML::Mark::null_mark(), "the file cannot be read: " + reason.code().message());
  } catch (const ConfigError&) {
    throw;
  } catch (const Error& reason) {
    fail(YAML::Mark::null_mark(), std::string("the file cannot be read: ") + reason.what());
  } catch (const YAML::Exception& reason) {
    fail(reason.mark, reason.msg);
  }
  return map;
}

namespace {

/// How one module runs in one step.
struct Calls {
  std::vector<const Tensor*> inputs;  // the first of each forward
  std::vector<std::string> before;    // the module whose output was the last before each forward
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

/// The number of each call of `fewer` among the calls of `more`, found by its input, or else by the module that runs
/// before it; empty if neither identifies any call.
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
    // Backward passes come in reverse order of the forwards.
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
