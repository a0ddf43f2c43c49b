#include "script/script_model.h"

#include <ATen/core/grad_mode.h>

#include <mutex>
#include <utility>

#include "core/forks.h"

namespace loupe {
namespace {

/// The models that are alive, by each of their modules.
struct ScriptModels {
  ProcessMutex mutex;
  std::unordered_map<const c10::ivalue::Object*, std::weak_ptr<ScriptModel>> by_script;
};
ScriptModels& script_models() {
  static auto* models = new ScriptModels();  // threads may run scripts while the program ends
  return *models;
}

const void* elements_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  return tensor.storage().unsafeGetStorageImpl();
}

constexpr std::size_t no_slot = static_cast<std::size_t>(-1);

}  // namespace

std::string script_type(const torch::jit::Module& script) {
  std::string name = script.type()->name()->qualifiedName();
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part != "__torch__" && part.compare(0, 15, "___torch_mangle") != 0) parts.push_back(part);
    begin = end + 1;
  }
  const bool is_libtorchs = parts.size() > 3 && parts[0] == "torch" && parts[1] == "nn" && parts[2] == "modules";
  if (is_libtorchs) return "torch::nn::" + parts.back() + "Impl";
  std::string type;
  for (const std::string& part : parts) type += (type.empty() ? "" : "::") + part;
  return type;
}

ScriptLayer::ScriptLayer(const torch::jit::Module& script)
    : Module(script_type(script)),
      script_(script._ivalue()),
      training_slot_(no_slot),
      is_opaque_(name().compare(0, 11, "torch::nn::") == 0) {
  const auto& type = *script.type();
  for (std::size_t i = 0; i < type.numAttributes(); ++i) {
    const c10::IValue& value = script._ivalue()->getSlot(i);
    const std::string& attribute = type.getAttributeName(i);
    if (attribute == "training" && value.isBool()) training_slot_ = i;
    const bool is_parameter = type.is_parameter(i);
    if (!value.isTensor() || !value.toTensor().defined() || (!is_parameter && !type.is_buffer(i))) continue;
    const at::Tensor& tensor = value.toTensor();
    slots_.push_back({i, attribute, is_parameter, tensor, elements_of(tensor)});
    if (is_parameter) {
      register_parameter(attribute, tensor, tensor.requires_grad());
    } else {
      register_buffer(attribute, tensor);
    }
  }
  visibility.opaque = is_opaque_;
}

bool ScriptLayer::follow() {
  const auto object = script();
  if (object == nullptr) return false;
  if (training_slot_ != no_slot) {
    const bool trains = object->getSlot(training_slot_).toBool();
    if (trains != is_training()) train(trains);
  }
  bool changed = false;
  for (Slot& slot : slots_) {
    const c10::IValue& value = object->getSlot(slot.index);
    if (!value.isTensor()) continue;
    const at::Tensor& tensor = value.toTensor();
    const void* elements = elements_of(tensor);
    if (tensor.is_same(slot.tensor) && elements == slot.elements) continue;
    changed = true;
    slot.tensor = tensor;
    slot.elements = elements;
    if (at::Tensor* known = slot.is_parameter ? parameters_.find(slot.name) : nullptr) *known = tensor;
  }
  return changed;
}

const ScriptLayer* ScriptElements::owner_of(const at::Tensor& tensor) const {
  const auto found = owners_.find(elements_of(tensor));
  return found != owners_.end() ? found->second : nullptr;
}

bool ScriptElements::is_count(const at::Tensor& tensor) const {
  return counts_.count(elements_of(tensor)) != 0;
}

ScriptModel::ScriptModel(const torch::jit::Module& script) : ScriptLayer(script) {
  by_script_[script._ivalue().get()] = this;
  add_children(*this, script);
  follow_script();
}

ScriptModel::~ScriptModel() {
  ScriptModels& all = script_models();
  const std::lock_guard lock(all.mutex);
  for (auto it = all.by_script.begin(); it != all.by_script.end();)
    it = it->second.expired() ? all.by_script.erase(it) : std::next(it);
}

std::shared_ptr<ScriptModel> ScriptModel::of(const torch::jit::Module& script) {
  ScriptLayer* layer = nullptr;
  const auto known = find(script._ivalue().get(), layer);
  if (known != nullptr && layer == known.get()) return known;
  auto made = std::make_shared<ScriptModel>(script);
  ScriptModels& all = script_models();
  const std::lock_guard lock(all.mutex);
  for (const auto& [object, each] : made->by_script_) all.by_script[object] = made;
  return made;
}

std::shared_ptr<ScriptModel> ScriptModel::find(const c10::ivalue::Object* script, ScriptLayer*& layer) {
  ScriptModels& all = script_models();
  std::shared_ptr<ScriptModel> model;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_script.find(script);
    if (found != all.by_script.end()) model = found->second.lock();
  }
  if (model == nullptr || !model->script_lives()) return nullptr;
  layer = model->layer_of(script);
  return layer != nullptr ? model : nullptr;
}

void ScriptModel::add_children(ScriptLayer& layer, const torch::jit::Module& script) {
  for (const auto& child : script.named_children()) {
    const auto known = by_script_.find(child.value._ivalue().get());
    if (known != by_script_.end()) {
      if (known->second == this) continue;
      layer.register_module(child.name, std::static_pointer_cast<ScriptLayer>(known->second->shared_from_this()));
      continue;
    }
    const auto made = std::make_shared<ScriptLayer>(child.value);
    by_script_[child.value._ivalue().get()] = made.get();
    layers_.push_back(made);
    made->path = layer.path.empty() ? child.name : layer.path + "." + child.name;
    layer.register_module(child.name, made);
    add_children(*made, child.value);
  }
}

std::shared_ptr<const ScriptElements> ScriptModel::follow_script() {
  const std::lock_guard lock(mutex_);
  bool changed = elements_ == nullptr;
  // Start at the root: train() of a module also applies to its children. Without the attribute, eval() of the script
  // changes nothing, and a validation is known by its missing gradients.
  const bool has_gradients = at::GradMode::is_enabled();
  if (training_slot_ == no_slot && is_training() != has_gradients) train(has_gradients);
  changed = follow() || changed;
  for (const auto& layer : layers_) changed = layer->follow() || changed;
  if (!changed) return elements_;
  const auto elements = std::make_shared<ScriptElements>();
  const auto learn = [&](const ScriptLayer& layer) {
    for (const Slot& slot : layer.slots_) {
      if (slot.elements == nullptr) continue;
      if (slot.tensor.is_floating_point() || slot.tensor.is_complex()) {
        elements->owners_.try_emplace(slot.elements, &layer);
      } else {
        elements->counts_.insert(slot.elements);
      }
    }
  };
  learn(*this);
  for (const auto& layer : layers_) learn(*layer);
  elements_ = elements;
  return elements;
}

ScriptLayer* ScriptModel::layer_of(const c10::ivalue::Object* script) const {
  const auto found = by_script_.find(script);
  return found != by_script_.end() ? found->second : nullptr;
}

}  // namespace loupe
