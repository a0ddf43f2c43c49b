#include "script/script_plan.h"

#include <loupe/abi.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "core/forks.h"
#include "core/log.h"

namespace loupe {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t most_ways = 128;  // LibTorch's attention has dozens of paths

/// One name for an operator and for its replacement by the interpreter's optimizer.
std::string usual_name(std::string name) {
  static const auto& others =
      *new std::unordered_map<std::string, std::string>{{"aten::_batch_norm_impl_index", "aten::batch_norm"},
                                                        {"aten::native_batch_norm", "aten::batch_norm"},
                                                        {"aten::cudnn_batch_norm", "aten::batch_norm"},
                                                        {"aten::native_layer_norm", "aten::layer_norm"},
                                                        {"aten::native_group_norm", "aten::group_norm"},
                                                        {"aten::addmm", "aten::linear"},
                                                        {"aten::_convolution", "aten::convolution"},
                                                        {"aten::conv1d", "aten::convolution"},
                                                        {"aten::conv2d", "aten::convolution"},
                                                        {"aten::conv3d", "aten::convolution"},
                                                        {"aten::native_dropout", "aten::dropout"}};
  if (!name.empty() && name.back() == '_') name.pop_back();
  const auto other = others.find(name);
  return other != others.end() ? other->second : name;
}

/// Overloads are called forward__0 and so on; torch.jit.trace calls the method of a second call forward1.
bool is_forward(const std::string& method) {
  if (method.compare(0, 7, "forward") != 0) return false;
  return method.find_first_not_of("_0123456789", 7) == std::string::npos;
}

bool is_tensor(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType;
}

bool lies_in(const Node& node, const Block& block) {
  const Block* around = node.owningBlock();
  while (around != nullptr && around != &block)
    around = around->owningNode() != nullptr ? around->owningNode()->owningBlock() : nullptr;
  return around != nullptr;
}

const torch::jit::GraphFunction* graph_function(torch::jit::Function* function) {
  return function != nullptr && function->isGraphFunction() ? &torch::jit::toGraphFunction(*function) : nullptr;
}

}  // namespace

bool is_view(const std::string& operator_name) {
  static const auto& views = *new std::unordered_set<std::string>{
      "aten::detach",     "aten::t",         "aten::transpose", "aten::numpy_T", "aten::permute", "aten::view",
      "aten::reshape",    "aten::expand",    "aten::expand_as", "aten::squeeze", "aten::alias",   "aten::unsqueeze",
      "aten::contiguous", "aten::to",        "aten::_to_copy",  "aten::select",  "aten::slice",   "aten::as_strided",
      "aten::flatten",    "aten::unflatten", "aten::chunk",     "aten::split",   "aten::unbind",  "aten::size"};
  return views.count(operator_name) != 0;
}

ScriptPlace ScriptProgress::next(const ScriptLayer* owner, int name) {
  // The operator with which a layer began also begins the layer's next run.
  if (owner != nullptr && (owner != last_ || name == first_name_)) {
    last_ = owner;
    first_name_ = name;
    std::fill(counts_.begin(), counts_.end(), 0);
  }
  return {last_, name, name < 0 ? 0 : counts_[static_cast<std::size_t>(name)]++};
}

/// Reads methods in their original form, and the methods that they call.
class ScriptWalk {
 public:
  ScriptWalk(ScriptPlan& plan, const ScriptModel& model, const ScriptElements& elements)
      : plan_(plan), model_(model), elements_(elements) {}

  void number_names(const torch::jit::GraphFunction& function);
  void walk(const torch::jit::GraphFunction& function, ScriptLayer& self);

 private:
  /// One call of a function.
  struct Call {
    std::unordered_map<const Value*, torch::jit::ObjectPtr> modules;
    std::unordered_map<const Value*, const ScriptLayer*> owners;  // the layers of parameters and buffers
    std::unordered_set<const Value*> counts;                      // counts of batches, which batch norms keep
    std::unordered_map<const Node*, bool> returned;               // nodes of the result, and whether it may go on
    std::vector<ScriptLayer*> results;                            // the layers whose result this is
    bool may_go_on = false;                                       // the next operator may continue the result
    ScriptLayer* inside = nullptr;
  };

  void walk_graph(const Graph& graph, Call& call);
  void walk_block(const Block& block, Call& call);
  void walk_attribute(const Node& node, Call& call) const;
  void walk_method(const Node& node, Call& call);
  void walk_call(const torch::jit::GraphFunction* function, const Node& node, std::size_t first, Call& from, Call next);
  void walk_operator(const Node& node, Call& call);
  void walk_branches(const Node& node, Call& call);
  static void find_returned(const Value* value, Call& call, bool may_go_on);

  ScriptPlan& plan_;
  const ScriptModel& model_;
  const ScriptElements& elements_;
  std::vector<ScriptProgress> ways_;  // one for each way that the forward may have taken so far
  std::unordered_set<const Graph*> numbered_;
  int depth_ = 0;
};

void ScriptWalk::number_names(const torch::jit::GraphFunction& function) {
  const std::shared_ptr<Graph> graph = function.graph();
  if (!numbered_.insert(graph.get()).second) return;
  std::vector<const Block*> blocks = {graph->block()};
  while (!blocks.empty()) {
    const Block* block = blocks.back();
    blocks.pop_back();
    for (const Node* node : block->nodes()) {
      for (const Block* below : node->blocks()) blocks.push_back(below);
      if (node->kind() == c10::prim::CallMethod) {
        const auto type = node->input(0)->type()->cast<c10::ClassType>();
        const auto* called = type ? graph_function(type->findMethod(node->s(c10::attr::name))) : nullptr;
        if (called != nullptr) number_names(*called);
      } else if (node->kind() == c10::prim::CallFunction) {
        const auto type = node->input(0)->type()->cast<c10::FunctionType>();
        const auto* called = type ? graph_function(type->function()) : nullptr;
        if (called != nullptr) number_names(*called);
      } else if (!node->kind().is_prim()) {
        plan_.names_.try_emplace(usual_name(node->kind().toQualString()), static_cast<int>(plan_.names_.size()));
      }
    }
  }
}

void ScriptWalk::walk(const torch::jit::GraphFunction& function, ScriptLayer& self) {
  ways_ = {ScriptProgress(plan_.names_.size())};
  const std::shared_ptr<Graph> graph = function.graph();
  Call call;
  call.inside = &self;
  call.results = {&self};
  if (!graph->inputs().empty()) call.modules[graph->inputs()[0]] = self.script();
  walk_graph(*graph, call);
}

void ScriptWalk::walk_graph(const Graph& graph, Call& call) {
  constexpr int deepest = 64;
  if (depth_ >= deepest) return;
  ++depth_;
  if (!call.results.empty() && !graph.outputs().empty()) find_returned(graph.outputs()[0], call, call.may_go_on);
  walk_block(*graph.block(), call);
  --depth_;
}

/// Finds the node that computes the first tensor of a value.
void ScriptWalk::find_returned(const Value* value, Call& call, bool may_go_on) {
  const Node* node = value->node();
  const auto kind = node->kind();
  if (kind == c10::prim::If) {
    std::vector<const Value*> inside, all;
    for (const Block* block : node->blocks()) {
      if (value->offset() >= block->outputs().size()) continue;
      all.push_back(block->outputs()[value->offset()]);
      if (lies_in(*all.back()->node(), *block)) inside.push_back(all.back());
    }
    for (const Value* each : all) {
      // A value passed through on one path may be modified on the other.
      const bool is_passed = std::find(inside.begin(), inside.end(), each) == inside.end();
      find_returned(each, call, may_go_on || (is_passed && !inside.empty()));
    }
  } else if (kind == c10::prim::TupleConstruct || kind == c10::prim::unchecked_cast) {
    if (!node->inputs().empty()) find_returned(node->input(0), call, may_go_on);
  } else if (kind == c10::prim::TupleUnpack) {
    if (value->offset() == 0) find_returned(node->input(0), call, may_go_on);
  } else if (kind == c10::prim::TupleIndex) {
    const auto index = torch::jit::toIValue(node->input(1));
    const Node* tuple = node->input(0)->node();
    if (!index.has_value() || !index->isInt() || tuple->kind() != c10::prim::TupleConstruct) return;
    const auto count = static_cast<int64_t>(tuple->inputs().size());
    const int64_t place = index->toInt() < 0 ? index->toInt() + count : index->toInt();
    if (place >= 0 && place < count) find_returned(tuple->input(static_cast<std::size_t>(place)), call, may_go_on);
  } else if (value->offset() == 0) {
    call.returned.emplace(node, may_go_on);
  }
}

void ScriptWalk::walk_block(const Block& block, Call& call) {
  for (const Node* node : block.nodes()) {
    const auto kind = node->kind();
    if (kind == c10::prim::GetAttr) {
      walk_attribute(*node, call);
    } else if (kind == c10::prim::CallMethod) {
      walk_method(*node, call);
    } else if (kind == c10::prim::CallFunction) {
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      walk_call(type ? graph_function(type->function()) : nullptr, *node, 1, call, {});
    } else if (kind == c10::prim::If) {
      walk_branches(*node, call);
    } else if (kind == c10::prim::Loop) {
      // Walk the body twice: from the state before the loop, and also from the state after a turn.
      for (int turn = 0; turn < 2; ++turn) {
        const std::vector<ScriptProgress> before = ways_;
        walk_block(*node->blocks()[0], call);
        for (const ScriptProgress& each : before) {
          if (ways_.size() < most_ways && std::find(ways_.begin(), ways_.end(), each) == ways_.end())
            ways_.push_back(each);
        }
      }
    } else {
      walk_operator(*node, call);
    }
  }
}

void ScriptWalk::walk_attribute(const Node& node, Call& call) const {
  const auto holder = call.modules.find(node.input(0));
  if (holder == call.modules.end() || holder->second == nullptr) return;
  const auto slot = holder->second->type()->findAttributeSlot(node.s(c10::attr::name));
  if (!slot.has_value()) return;
  const c10::IValue& value = holder->second->getSlot(*slot);
  if (value.isObject()) call.modules[node.output()] = value.toObject();
  // An LSTM keeps its parameters in a list, too.
  if (value.isTensorList() && !value.toTensorVector().empty()) {
    const ScriptLayer* holds = elements_.owner_of(value.toTensorVector()[0]);
    if (holds != nullptr) call.owners[node.output()] = holds;
  }
  if (!value.isTensor()) return;
  if (elements_.is_count(value.toTensor())) call.counts.insert(node.output());
  const ScriptLayer* owner = elements_.owner_of(value.toTensor());
  if (owner != nullptr) call.owners[node.output()] = owner;
}

void ScriptWalk::walk_method(const Node& node, Call& call) {
  const auto self = call.modules.find(node.input(0));
  if (self == call.modules.end() || self->second == nullptr) return;
  const std::string& name = node.s(c10::attr::name);
  Call next;
  ScriptLayer* layer = model_.layer_of(self->second.get());
  if (layer != nullptr && is_forward(name)) next.results.push_back(layer);
  next.inside = layer;
  walk_call(graph_function(self->second->type()->findMethod(name)), node, 0, call, std::move(next));
}

void ScriptWalk::walk_call(const torch::jit::GraphFunction* function, const Node& node, std::size_t first, Call& from,
                           Call next) {
  if (function == nullptr) return;
  if (next.inside == nullptr) next.inside = from.inside;
  const auto returned = from.returned.find(&node);
  if (returned != from.returned.end()) {
    next.results.insert(next.results.end(), from.results.begin(), from.results.end());
    next.may_go_on = returned->second;
  }
  const std::shared_ptr<Graph> graph = function->graph();
  for (std::size_t i = first; i < node.inputs().size() && i - first < graph->inputs().size(); ++i) {
    const Value* given = node.input(i);
    const Value* taken = graph->inputs()[i - first];
    const auto module = from.modules.find(given);
    if (module != from.modules.end()) next.modules[taken] = module->second;
    const auto owner = from.owners.find(given);
    if (owner != from.owners.end()) next.owners[taken] = owner->second;
  }
  walk_graph(*graph, next);
}

void ScriptWalk::walk_branches(const Node& node, Call& call) {
  const std::vector<ScriptProgress> before = ways_;
  std::vector<ScriptProgress> after;
  for (const Block* block : node.blocks()) {
    ways_ = before;
    walk_block(*block, call);
    for (std::size_t i = 0; i < block->outputs().size() && i < node.outputs().size(); ++i) {
      const auto owner = call.owners.find(block->outputs()[i]);
      if (owner != call.owners.end()) call.owners[node.outputs()[i]] = owner->second;
    }
    for (ScriptProgress& each : ways_) {
      if (after.size() < most_ways && std::find(after.begin(), after.end(), each) == after.end())
        after.push_back(std::move(each));
    }
  }
  ways_ = std::move(after);
}

void ScriptWalk::walk_operator(const Node& node, Call& call) {
  const ScriptLayer* owner = nullptr;
  for (const Value* input : node.inputs()) {
    const auto found = call.owners.find(input);
    if (found != call.owners.end() && owner == nullptr) owner = found->second;
  }
  const std::string name = node.kind().toQualString();
  if (node.kind().is_prim()) {
    // Such a node makes a list of parameters, as for an LSTM, or is a cast.
    if (owner != nullptr && node.outputs().size() == 1) call.owners[node.output()] = owner;
    return;
  }
  if (is_view(name)) {
    if (owner != nullptr && !node.outputs().empty() && is_tensor(node.outputs()[0]))
      call.owners[node.outputs()[0]] = owner;
    owner = nullptr;
  }
  if (node.outputs().empty() || !is_tensor(node.outputs()[0])) return;
  if (!node.inputs().empty() && call.counts.count(node.inputs()[0]) != 0) return;
  ScriptPlan::Result result;
  const auto returned = call.returned.find(&node);
  if (returned != call.returned.end()) {
    result.layers = call.results;
    result.may_go_on = returned->second;
  }
  result.is_hidden = call.inside->is_opaque();
  const int number = plan_.name_of(name.c_str());
  if (number < 0) return;  // a method that only this object has
  for (ScriptProgress& progress : ways_) {
    const auto [place, is_new] = plan_.results_.try_emplace(progress.next(owner, number), result);
    if (is_new || place->second.is_unclear) continue;
    if (place->second.layers == result.layers && place->second.is_hidden == result.is_hidden) {
      place->second.may_go_on = place->second.may_go_on || result.may_go_on;
      continue;
    }
    place->second = {{}, false, place->second.is_hidden && result.is_hidden, true};
  }
}

ScriptPlan::ScriptPlan(ScriptModel& model, ScriptLayer& self, const std::string& method) {
  const auto object = self.script();
  const auto* function = object != nullptr ? graph_function(object->type()->findMethod(method)) : nullptr;
  if (function == nullptr) return;
  const std::shared_ptr<const ScriptElements> elements = model.follow_script();
  ScriptWalk walk(*this, model, *elements);
  walk.number_names(*function);
  name_count_ = names_.size();
  walk.walk(*function, self);
}

int ScriptPlan::name_of(const char* name) const {
  const auto found = names_.find(usual_name(name));
  return found != names_.end() ? found->second : -1;
}

const ScriptPlan::Result* ScriptPlan::find(const ScriptPlace& place) const {
  const auto found = results_.find(place);
  return found != results_.end() ? &found->second : nullptr;
}

std::string ScriptPlan::words(const Result& result) const {
  if (!result.layers.empty() && !result.layers.front()->path.empty()) return result.layers.front()->path;
  std::string text;
  for (const auto& [place, each] : results_) {
    if (&each != &result) continue;
    if (place.after != nullptr) text = place.after->path;
    for (const auto& [name, number] : names_) {
      if (number == place.name) text += ":" + name.substr(name.rfind(':') + 1);
    }
  }
  return text;
}

bool ScriptPlan::shows(const ScriptLayer& layer) const {
  return std::any_of(results_.begin(), results_.end(), [&](const auto& each) {
    const auto& layers = each.second.layers;
    return std::find(layers.begin(), layers.end(), &layer) != layers.end();
  });
}

void judge_visibility(ScriptModel& model, const ScriptPlan& plan) {
  for (const auto& module : model.modules()) {
    auto& layer = dynamic_cast<ScriptLayer&>(*module);
    layer.visibility.container = !layer.children().empty();
    layer.visibility.tapped = plan.shows(layer);
    if (layer.visibility.tapped) continue;
    layer.visibility.reason =
        "its result does not come from one distinct operator of its TorchScript, or forward does not call it; its "
        "parameters, gradients and updates are seen";
  }
}

namespace {

/// The plans of one model, by the module and method that a trainer called.
struct Plans {
  std::weak_ptr<ScriptModel> model;
  std::unordered_map<const ScriptLayer*, std::unordered_map<std::string, std::shared_ptr<Planned>>> methods;
};
struct AllPlans {
  ProcessMutex mutex;
  std::unordered_map<const ScriptModel*, Plans> by_model;
};
AllPlans& all_plans() {
  static auto* plans = new AllPlans();
  return *plans;
}

}  // namespace

std::shared_ptr<Planned> plan_of(const std::shared_ptr<ScriptModel>& model, ScriptLayer& layer,
                                 const std::string& method) {
  AllPlans& all = all_plans();
  const std::lock_guard lock(all.mutex);
  for (auto it = all.by_model.begin(); it != all.by_model.end();)
    it = it->second.model.expired() ? all.by_model.erase(it) : std::next(it);
  Plans& plans = all.by_model[model.get()];
  plans.model = model;
  auto& plan = plans.methods[&layer][method];
  if (plan != nullptr) return plan;
  try {
    plan = std::make_shared<Planned>(*model, layer, method);
  } catch (const std::exception& e) {
    plan = std::make_shared<Planned>();
    log(LOUPE_LOG_WARNING, "the TorchScript of '" + method + "' of a " + short_type(layer.name()) +
                               " cannot be read, so nothing that it computes is seen: " + e.what());
  }
  return plan;
}

}  // namespace loupe
