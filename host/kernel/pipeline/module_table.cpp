#include "pipeline/module_table.h"

#include <loupe/error.h>

#include <exception>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/log.h"
#include "core/text.h"
#include "measure/history.h"

namespace loupe {

ModelNode::ModelNode(const std::string& own_name, const std::string& name, const std::string& type)
    : own_name_(utf8(own_name)), name_(utf8(name)), type_(utf8(type)) {
  c_model_ = {
      .struct_size = sizeof(loupe_model), .name = name_.c_str(), .type = type_.c_str(), .own_name = own_name_.c_str()};
}

ModelNode::~ModelNode() {
  while (!modules_.empty()) modules_.pop_back();  // children before their parents
}

std::shared_ptr<ModuleNode> ModelNode::add(uint64_t id, ModuleDescription description, const ModuleNode* parent,
                                           const std::atomic<uint64_t>& step, int64_t history) {
  description.model = own_name_;
  ModuleNode& node = modules_.emplace_back(id, std::move(description), step, history);
  const bool is_loss = (node.c_module()->flags & LOUPE_MODULE_LOSS) != 0;
  node.belong_to(is_loss ? nullptr : &c_model_, parent);
  // The others are found as the model runs, when any thread may read the list.
  if ((node.c_module()->flags & (uint32_t{LOUPE_MODULE_FUNCTIONAL} | uint32_t{LOUPE_DRAFT_MODULE_UNREGISTERED})) == 0) {
    c_modules_.push_back(node.c_module());
    c_model_.modules = c_modules_.data();
    c_model_.module_count = c_modules_.size();
    for (const ParameterDescription& each : node.description().parameters)
      c_model_.parameter_element_count += (each.flags & LOUPE_PARAMETER_BUFFER) != 0 ? 0 : each.numel;
  }
  return {shared_from_this(), &node};
}

ModuleTable::ModuleTable(const std::atomic<uint64_t>& step, int64_t history)
    : step_(step), history_(history), pushes_(std::make_shared<ModuleNode>(0, ModuleDescription{}, step)) {
  pushes_->stand_for_pushes();
}

std::shared_ptr<ModuleNode> ModuleTable::add(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                             const ModuleNode* parent) {
  const uint64_t id = next_id_++;
  auto node = model != nullptr ? model->add(id, std::move(description), parent, step_, history_)
                               : std::make_shared<ModuleNode>(id, std::move(description), step_, history_);
  modules_.push_back(node);
  equal_names_.reset();
  const std::lock_guard lock(index_mutex_);
  by_id_.emplace(id, node.get());
  return node;
}

void ModuleTable::remove(const std::shared_ptr<ModuleNode>& module) {
  forget(*module);
  // Search from the back: the modules of a model are removed last to first.
  const auto found = std::find(modules_.rbegin(), modules_.rend(), module);
  if (found != modules_.rend()) modules_.erase(std::next(found).base());
}

void ModuleTable::forget(const ModuleNode& module) {
  equal_names_.reset();
  const std::lock_guard lock(index_mutex_);
  by_id_.erase(module.c_module()->id);
}

ModuleNode* ModuleTable::find(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() ? found->second : nullptr;
}

ModuleNode& ModuleTable::node_of(const loupe_module* module) {
  if (module == nullptr) return *pushes_;
  const std::lock_guard lock(index_mutex_);
  ModuleNode* const found = find(module->id);
  if (found == nullptr) throw Error("a watch names a module that is not attached", LOUPE_INVALID);
  return *found;
}

bool ModuleTable::has_equal_names() const {
  if (!equal_names_) {
    std::unordered_set<std::string_view> names;
    equal_names_ = std::any_of(modules_.begin(), modules_.end(),
                               [&](const auto& each) { return !names.insert(each->description().name).second; });
  }
  return *equal_names_;
}

SourceLine ModuleTable::place_of(const loupe_finding& finding) const {
  const auto node_where = [&](const auto& holds) {
    const auto found = std::find_if(modules_.begin(), modules_.end(), holds);
    return found != modules_.end() ? found->get() : nullptr;
  };
  const auto is_root = [](const ModuleNode& node) { return (node.description().flags & LOUPE_MODULE_ROOT) != 0; };
  const std::string_view layer = finding.layer != nullptr ? finding.layer : "";
  ModuleNode* node =
      layer.empty() ? nullptr : node_where([&](const auto& each) { return each->description().name == layer; });
  const bool is_of_loss = finding.tag != nullptr && std::string_view(finding.tag) == "Loss";
  if (is_of_loss) {
    ModuleNode* root = node_where([&](const auto& each) {
      const bool is_its = node == nullptr || each->description().model == node->description().model;
      return is_root(*each) && is_its && each->calls().loss.is_known();
    });
    return root != nullptr ? root->calls().loss.source_line() : SourceLine();
  }
  if (node == nullptr) return {};
  return is_root(*node) ? node->calls().step.source_line() : node->calls().forward.source_line();
}

bool ModuleTable::lend(const loupe_module& module, const std::string& name, bool gradient,
                       const ModuleDescription::Take& take) {
  decltype(ModuleDescription::lend) lender;
  {
    const std::lock_guard lock(index_mutex_);
    if (const ModuleNode* found = find(module.id)) lender = found->description().lend;
  }
  return lender && lender(name, gradient, take);
}

std::optional<uint32_t> ModuleTable::flags(const loupe_module& module, std::size_t parameter) {
  const std::lock_guard lock(index_mutex_);
  const ModuleNode* const found = find(module.id);
  return found != nullptr ? found->parameter_flags(parameter) : std::nullopt;
}

uint64_t ModuleTable::unticked() const {
  uint64_t count = 0;
  each([&](ModuleNode& module) { count += module.unticked(); });
  return count;
}

void ModuleTable::warn_of_unticked() const {
  const uint64_t count = unticked();
  // Do not warn while an exception passes, which is more important.
  if (count == 0 || std::uncaught_exceptions() > 0) return;
  log(LOUPE_LOG_WARNING,
      std::to_string(count) + (count == 1 ? " value that came" : " values that came") + " after the last tick " +
          (count == 1 ? "is" : "are") +
          " not shown; end with inspector.tick_epoch(), or call detach() before code that should not be watched");
}

void ModuleTable::warn_of_lacking() const {
  constexpr std::size_t shown_modules = 5;
  std::map<std::string, std::vector<std::string>> lacking;  // names of modules, by what is missing
  for (const auto& module : modules_) {
    for (Stream& stream : module->streams()) {
      if (!stream.take_lacking()) continue;
      const bool is_output = stream.tap() == LOUPE_TAP_FORWARD || stream.tap() == LOUPE_TAP_OUTPUT_GRADIENT;
      auto& names = lacking[(is_output ? "output " : "input ") + std::to_string(stream.index())];
      const std::string name = "'" + module->description().name + "'";
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& [what, names] : lacking) {
    std::string all;
    for (std::size_t i = 0; i < names.size() && i < shown_modules; ++i) all += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > shown_modules) all += " and " + std::to_string(names.size() - shown_modules) + " more modules";
    log(LOUPE_LOG_WARNING, "there is no " + what + " of " + all +
                               ", which a lens requests, so it is not shown; let the lens include only modules "
                               "that have it (counted from 0)");
  }
}

std::string estimate_words(const std::deque<ModuleNode>& modules) {
  constexpr std::size_t most_named = 5;
  std::size_t parameters = 0, estimated = 0;
  std::string names;
  for (const ModuleNode& module : modules) {
    const ModuleDescription& description = module.description();
    for (const ParameterDescription& parameter : description.parameters) {
      if ((parameter.flags & LOUPE_PARAMETER_BUFFER) != 0) continue;
      ++parameters;
      if (measure::Sample(parameter.numel, module.history()).is_whole() || ++estimated > most_named) continue;
      names += (names.empty() ? "" : ", ") + description.name + "." + parameter.name;
    }
  }
  if (estimated == 0) return "";
  if (estimated > most_named) names += " and " + std::to_string(estimated - most_named) + " more";
  return "attach.history: comparisons of steps (correlations, norms of updates) are "
         "estimated from at most " +
         std::to_string(modules.front().history()) + " elements of each of " + std::to_string(estimated) + " of " +
         std::to_string(parameters) + " parameters: " + names +
         "; so are comparisons of outputs with more elements; all else is exact ('history: 0' compares all elements)";
}

}  // namespace loupe
