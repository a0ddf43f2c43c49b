// `loupe compare --port`: finds where two records of fingerprints first depart, and why, or that they agree.

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "command/tool.h"
#include "port/alignment.h"
#include "port/comparison.h"
#include "port/reasons.h"
#include "port/record.h"

namespace loupe::port {
namespace {

std::string quoted(const std::string& module) {
  return module.empty() ? "the model" : "'" + module + "'";
}

/// "output gradient" for "output_gradient".
std::string spaced(std::string what) {
  std::replace(what.begin(), what.end(), '_', ' ');
  return what;
}

std::string share(const Comparison::Departure& departure) {
  const bool is_known = std::isfinite(departure.share) && departure.share > 0;
  if (!is_known) return "";
  const Tensor& tensor = departure.known();
  const bool is_exact = static_cast<int64_t>(tensor.values.size()) == tensor.numel();
  return (is_exact ? " (by " : " (by at least ") + rounded_text(departure.share, 2) +
         (tensor.numel() == 1 ? " of its size)" : " of its norm)");
}

/// "in step 1, in the forward of 'bn1': its input agrees to 6e-07, its output does not (0.31)".
std::string place_of(const Comparison& comparison, const Record& first, const Record& second) {
  const Comparison::Departure& departure = *comparison.departure;
  const Tensor& tensor = departure.known();
  const bool is_lacking = departure.first == nullptr || departure.second == nullptr;
  const std::string step = std::to_string(tensor.step),
                    differs = is_lacking ? " is only in " + (departure.first != nullptr ? first : second).called
                                         : " differs" + share(departure);
  const std::string named = "'" + tensor.full_name() + "'";
  const std::string index = tensor.index > 0 ? std::to_string(tensor.index) + " " : "";
  const std::string call = tensor.call > 0 ? ", call " + std::to_string(tensor.call + 1) : "";
  if (tensor.is("parameter")) return "before the first step: the parameter " + named + differs;
  if (tensor.is("buffer"))
    return (tensor.step == 0 ? "before the first step" : "after step " + step) + ": the buffer " + named + differs;
  if (tensor.is("gradient")) return "in step " + step + ": the gradient of " + named + differs;
  if (tensor.is("update")) return "in step " + step + ": the update of " + named + differs;
  if (tensor.is("loss")) return "in step " + step + ": the loss" + differs;
  if (tensor.is("output_gradient"))
    return "in step " + step + ", in the backward pass: the gradient of the output of " + quoted(tensor.module) +
           differs;
  if (tensor.is("input")) {
    const std::string place =
        "in step " + step + call + ": the input " + index + "of " + quoted(tensor.module) + differs;
    const Tensor* before = comparison.before;
    return before == nullptr
               ? place
               : place + ", right after the " + before->what + " of " + quoted(before->module) + ", which agrees";
  }
  const bool has_input = first.find(tensor.step, "input", tensor.module) != nullptr;
  return "in step " + step + ", in the forward of " + quoted(tensor.module) + call + ": " +
         (has_input ? "its input agrees" + (comparison.inputs > 0 ? " to " + rounded_text(comparison.inputs, 2) : "") +
                          ", its output "
                    : "its output ") +
         index + "does not" + share(departure);
}

std::string agreement(const Comparison& comparison) {
  return std::to_string(comparison.agreeing) + (comparison.agreeing == 1 ? " tensor" : " tensors") +
         (comparison.largest > 0 ? ", to " + rounded_text(comparison.largest, 2) : ", exactly");
}

/// Names the first module for which `differ` is true, and counts the others: "'fc1' and 2 more modules".
struct Modules {
  std::string first;
  std::size_t count = 0;
  void add(const std::string& module) {
    if (count++ == 0) first = quoted(module);
  }
  std::string text() const {
    return first + (count > 1 ? " and " + std::to_string(count - 1) + (count > 2 ? " more modules" : " more") : "");
  }
};

/// Modules that run in another mode.
std::vector<std::string> other_modes(const Record& first, const Record& second, const Alignment& alignment) {
  std::vector<std::string> others;
  for (const bool training : {true, false}) {
    Modules modules;
    for (const Module& module : first.modules) {
      const std::string* name = alignment.second(module.name);
      const Tensor* own = name != nullptr ? first.find(1, "output", module.name) : nullptr;
      const Tensor* other = own != nullptr ? second.find(*own, *name) : nullptr;
      if (other != nullptr && own->training == training && other->training != training) modules.add(module.name);
    }
    if (modules.count == 0) continue;
    others.push_back(modules.text() + (modules.count > 1 ? ": they are" : ": it is") + " in training mode in " +
                     (training ? first : second).called + " and in evaluation mode in " +
                     (training ? second : first).called);
  }
  return others;
}

/// Modules that run forward, or else backward, more often in one record, in the first step where any does.
std::vector<std::string> other_counts(const Record& first, const Record& second, const Alignment& alignment) {
  const auto counts = [](const Record& record, const char* what, uint64_t step) {
    std::map<std::string, std::size_t> all;
    for (const Tensor& each : record.tensors) {
      if (each.step == step && each.is(what) && each.index == 0) ++all[each.module];
    }
    return all;
  };
  for (uint64_t step = 1; step <= std::min(first.steps, second.steps); ++step) {
    if (!first.has_stepped(step) || !second.has_stepped(step)) continue;
    for (const char* what : {"output", "output_gradient"}) {
      const auto own = counts(first, what, step), theirs = counts(second, what, step);
      Modules modules;
      std::string times;
      for (const Module& module : first.modules) {
        const std::string* name = alignment.second(module.name);
        const auto one = own.find(module.name), other = name != nullptr ? theirs.find(*name) : theirs.end();
        if (one == own.end() || other == theirs.end()) continue;
        const std::string text = times_text(one->second, first, other->second, second);
        if (one->second == other->second || (!times.empty() && text != times)) continue;
        times = text;
        modules.add(module.name);
      }
      const bool backward = what == std::string("output_gradient");
      if (modules.count > 0)
        return {modules.text() + (modules.count > 1 ? " run " : " runs ") + (backward ? "backward " : "") + times +
                ", first in step " + std::to_string(step)};
    }
  }
  return {};
}

std::vector<std::string> settings_besides(const Record& first, const Record& second, const Alignment& alignment,
                                          const std::vector<std::string>& reasons) {
  std::vector<std::string> others;
  const auto add = [&](const std::string& subject, const std::string& text) {
    const bool known = std::any_of(reasons.begin(), reasons.end(),
                                   [&](const std::string& each) { return each.find(text) != std::string::npos; });
    const std::string whole = subject + text;
    if (!known && std::find(others.begin(), others.end(), whole) == others.end()) others.push_back(whole);
  };
  for (const Module& module : first.modules) {
    const std::string* name = alignment.second(module.name);
    if (name == nullptr) continue;
    for (const std::string& each : other_settings(module, *second.module(*name), first, second))
      add(quoted(module.name) + ": ", each);
  }
  for (const std::string& each : other_settings(1, first, second)) add("the optimizer: ", each);
  for (const std::string& each : other_modes(first, second, alignment)) add("", each);
  for (const std::string& each : other_counts(first, second, alignment)) add("", each);
  return others;
}

void tell_rounding(const Comparison& comparison, std::ostream& out) {
  constexpr std::size_t most_names = 3;
  std::string names;
  std::size_t named = 0;
  for (const std::string& each : comparison.moved_by_rounding) {
    if (++named <= most_names) names += (names.empty() ? "'" : ", '") + each + "'";
  }
  if (named > most_names) names += " and " + std::to_string(named - most_names) + " more";
  if (comparison.explained > 0)
    out << comparison.explained << " more differ only by rounding: the gradient of " << names
        << " is 0 but for rounding, and the optimizer makes steps of it.\n";
  if (const Tensor* first = comparison.first_unsure) {
    const std::string of = first->is("loss") ? "" : " of " + quoted(first->module);
    out << "Not compared: " << comparison.unsure << (comparison.unsure == 1 ? " tensor, the " : " tensors from the ")
        << spaced(first->what) << of << " in step " << first->step << (comparison.unsure == 1 ? "" : " on")
        << ", which differ by more than rounding, but not by more than rounding may have grown to; train both in "
           "float64, or with SGD.\n";
  }
}

/// Whether one record ends within its last step, for example because the program failed.
bool is_cut(const Record& one, const Record& other) {
  return one.steps <= other.steps && other.has_stepped(one.steps) && !one.has_stepped(one.steps);
}

/// Reports where one record ends before the other. Returns whether it does.
bool tell_end(const Record& one, const Record& other, std::ostream& out) {
  const bool within = is_cut(one, other);
  if (!within && (one.steps >= other.steps || one.steps >= one.asked)) return false;
  out << "Not compared: what follows ";
  if (within && !one.tensors.empty()) {
    const Tensor& last = one.tensors.back();
    out << "the " << spaced(last.what) << (last.is("loss") ? "" : " of " + quoted(last.module)) << " in ";
  }
  out << "step " << one.steps << ", where " << one.called << " ends.\n";
  return true;
}

/// Lists the data that only one of the records has, which is therefore not compared.
void tell_left_out(const Record& one, const Record& other, const std::vector<std::string>& modules, std::ostream& out) {
  const auto has = [](const Record& record, const char* what) {
    return std::any_of(record.tensors.begin(), record.tensors.end(), [&](const Tensor& each) { return each.is(what); });
  };
  for (const char* what : {"output", "loss", "output_gradient", "gradient", "update"}) {
    if (has(one, what) && !has(other, what) && !is_cut(other, one)) {
      out << "Not compared: " << other.called << " has no " << spaced(what) << ".\n";
    }
  }
  std::string names;
  for (const std::string& name : modules) {
    const Module& module = *one.module(name);
    if (!module.functional) names += (names.empty() ? "" : ", ") + quoted(name) + " (" + module.type + ")";
  }
  if (!names.empty()) out << "Not compared: only " << one.called << " has " << names << ".\n";
}

/// Names the first parameter whose type differs, and counts those that differ in the same way.
void tell_types(const Record& first, const Record& second, const Alignment& alignment, std::ostream& out) {
  const Tensor *one = nullptr, *other = nullptr;
  std::size_t all = 0, others = 0;
  for (const Tensor& each : first.tensors) {
    const std::string* module = each.is("parameter") ? alignment.second(each.module) : nullptr;
    const Tensor* its = module != nullptr ? second.find(each, *module) : nullptr;
    if (its == nullptr) continue;
    ++all;
    if (each.dtype == its->dtype) continue;
    if (one == nullptr) one = &each, other = its;
    if (each.dtype == one->dtype && its->dtype == other->dtype) ++others;
  }
  if (one == nullptr) return;
  const std::string of = others == all ? "The parameters are "
                                       : std::to_string(others) + " of the " + std::to_string(all) + " parameters are ";
  out << of << one->dtype << " in " << first.called << " and " << other->dtype << " in " << second.called
      << (others == all ? "" : ", such as '" + one->full_name() + "'") << ".\n";
}

void name_records(Record& first, Record& second, const std::string& one, const std::string& other) {
  first.called = first.language;
  second.called = second.language;
  if (first.language != second.language) return;
  const auto folder = [](const std::string& path) {
    const auto name = std::filesystem::path(path).lexically_normal();
    return (name.has_filename() ? name : name.parent_path()).filename().string();
  };
  const bool distinct = folder(one) != folder(other);
  first.called = distinct ? folder(one) : one;
  second.called = distinct ? folder(other) : other;
}

/// Returns the exit code of the command: 0 if the records agree, 1 if they depart, 2 if they agree but could not be
/// compared to the end. Throws UsageError and ConfigError for records that cannot be read.
/// @param map  a file that lists which modules are the same; empty for none
int tell_departure(const std::string& one, const std::string& other, const std::string& map, std::ostream& out) {
  Record first = read_record(one), second = read_record(other);
  name_records(first, second, one, other);
  const Alignment alignment =
      align_modules(first, second, map.empty() ? std::map<std::string, std::string>() : read_module_map(map));
  align_calls(first, second, alignment);
  const Comparison comparison = compare_records(first, second, alignment);
  const std::string both = first.called + " and " + second.called;
  std::vector<std::string> reasons;
  if (comparison.departure) {
    out << both << " depart " << place_of(comparison, first, second) << ".\n";
    reasons = Reasons(first, second, alignment, comparison).find();
    for (const std::string& each : reasons) out << "- " << each << ".\n";
    out << (comparison.agreeing > 0 ? "Everything before agrees: " + agreement(comparison)
                                    : std::string("It is the first that is compared"))
        << ".\n";
  } else if (comparison.agreeing == 0) {
    out << both << " have nothing to compare: no tensor of one is in the other.\n";
  } else {
    out << both << " agree in " << comparison.steps << (comparison.steps == 1 ? " step" : " steps")
        << (comparison.unsure > 0 ? " as far as they can be compared: " : ": ") << agreement(comparison) << ".\n";
  }
  tell_rounding(comparison, out);
  const bool first_ends = tell_end(first, second, out), second_ends = tell_end(second, first, out);
  for (const std::string& each : settings_besides(first, second, alignment, reasons)) {
    out << (comparison.departure ? "Also different: " : "Different, though no number beyond rounding shows it: ")
        << each << ".\n";
  }
  tell_types(first, second, alignment, out);
  tell_left_out(first, second, alignment.only_first, out);
  tell_left_out(second, first, alignment.only_second, out);
  if (!alignment.by_name && map.empty())
    out << "The modules are aligned by order, type and shape, as this file for --map says; change it where it is "
           "wrong:\n"
        << alignment.yaml() << "\n";
  if (comparison.departure || comparison.agreeing == 0) return 1;
  return comparison.unsure > 0 || first_ends || second_ends ? 2 : 0;
}

}  // namespace
}  // namespace loupe::port

int main(int count, char** arguments) {
  std::vector<std::string> records;
  std::string map;
  return loupe::tool_main(
      count, arguments,
      [&](CLI::App& app) {
        CLI::App* command = app.add_subcommand("port", "Compare a port with its original, for 'loupe compare --port'");
        command->add_option("records", records, "The original's record and the port's")->required()->expected(2);
        command->add_option("--map", map, "A YAML file that lists which modules are the same");
        return command;
      },
      [&](loupe::Outputs& outputs) {
        return loupe::port::tell_departure(records[0], records[1], map, outputs.wrapped);
      });
}
