#include <algorithm>
#include <string>
#include <vector>

#include "port/reasons.h"

namespace loupe::port {

/// Modules that ran since the last tensor that agrees, in one record alone.
bool Reasons::modules_between(const Tensor& a) {
  const Tensor *from = comparison_.before, *others_from = counterpart(from), *to = counterpart(&a);
  const auto ran = [&](const Record& record, const Tensor* begin, const Tensor* end, bool functional) {
    std::vector<const Module*> modules;
    if (end == nullptr) return modules;
    for (const Tensor* each = begin != nullptr ? begin + 1 : record.tensors.data(); each < end; ++each) {
      if (each->step != a.step || !each->is("output") || each->index != 0) continue;
      const Module* module = record.module(each->module);
      if (module != nullptr && module->functional == functional) modules.push_back(module);
    }
    return modules;
  };
  // In another order one of them may have come before.
  if (others_from != nullptr && to != nullptr && to < others_from) return false;
  const auto own = ran(first_, from, &a, false), theirs = ran(second_, others_from, to, false);
  bool any = false;
  // Of functions one language shows none.
  const auto function_of = [&](const Record& record) -> std::string {
    const bool is_first = &record == &first_;
    const auto functions = is_first ? ran(first_, from, &a, true) : ran(second_, others_from, to, true);
    return functions.size() == 1 ? ", and the function '" + functions[0]->type + "' in " + record.called : "";
  };
  const auto tell = [&](const Module& module, const Record& record, const Record& other, const std::string* name) {
    const auto is_inside = [&](const Module& each) { return each.name.rfind(module.name + ".", 0) == 0; };
    // A container that only calls its children may be recorded in one language alone.
    if (name != nullptr && (name->empty() || std::any_of(record.modules.begin(), record.modules.end(), is_inside)))
      return;
    const bool is_seen =
        name == nullptr || std::any_of(other.tensors.begin(), other.tensors.end(),
                                       [&](const auto& each) { return each.is("output") && each.module == *name; });
    any = true;
    say("'" + module.name + "' (" + module.type + (is_seen ? ") runs in between in " : ") is seen in between in ") +
        record.called + " alone" + (own.size() + theirs.size() == 1 ? function_of(other) : ""));
  };
  const auto is_pair = [&](const Module* one, const Module* other) {
    const std::string* name = alignment_.second(one->name);
    return name != nullptr && *name == other->name;
  };
  for (const Module* each : own) {
    if (std::none_of(theirs.begin(), theirs.end(), [&](const Module* other) { return is_pair(each, other); }))
      tell(*each, first_, second_, alignment_.second(each->name));
  }
  for (const Module* each : theirs) {
    if (std::none_of(own.begin(), own.end(), [&](const Module* other) { return is_pair(other, each); }))
      tell(*each, second_, first_, alignment_.first(each->name));
  }
  return any;
}

}  // namespace loupe::port
