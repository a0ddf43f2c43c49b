#include "fingerprint/writing.h"

#include <loupe/files/fingerprint.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <utility>

namespace loupe::fingerprint {
namespace {

/// Writes one line of JSON, member by member, at the end of a text.
class JsonLine {
 public:
  JsonLine(std::string& text, const char* kind) : text_(text) { (text_ += "{\"kind\":") += json_text(kind); }

  JsonLine& raw(const char* key, const std::string& json) {
    (((text_ += ',') += json_text(key)) += ':') += json;
    return *this;
  }
  JsonLine& text(const char* key, std::string_view value) { return raw(key, json_text(value)); }
  JsonLine& number(const char* key, double value) { return raw(key, json_number(value)); }
  JsonLine& whole(const char* key, uint64_t value) { return raw(key, std::to_string(value)); }
  JsonLine& flag(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  void done() { text_ += "}\n"; }

 private:
  std::string& text_;
};

template <class Items, class Text>
std::string json_list(const Items& items, Text&& text) {
  std::string json;
  for (const auto& each : items) json += (json.empty() ? "[" : ",") + text(each);
  return (json.empty() ? "[" : json) + "]";
}

std::string json_numbers(const std::vector<double>& numbers) {
  return json_list(numbers, [](double number) { return json_number(number); });
}

std::string dtype_of(const loupe_tensor& tensor) {
  const std::string bits = std::to_string(tensor.dtype_bits);
  switch (tensor.dtype_code) {
    case LOUPE_DTYPE_INT:
      return "int" + bits;
    case LOUPE_DTYPE_UINT:
      return "uint" + bits;
    case LOUPE_DTYPE_FLOAT:
      return "float" + bits;
    case LOUPE_DTYPE_BFLOAT:
      return "bfloat" + bits;
    case LOUPE_DTYPE_COMPLEX:
      return "complex" + bits;
    case LOUPE_DTYPE_BOOL:
      return "bool";
    default:
      return "other";
  }
}

std::vector<int64_t> shape_of(const loupe_tensor& tensor) {
  return {tensor.sizes, tensor.sizes + tensor.dim};
}

std::string key_of(const Place& place) {
  return place.module + '\n' + place.name;
}

}  // namespace

std::string Writing::name_of(const Module& module) const {
  const std::string path = module.path(), model = module.model();
  if (model == first_model_) return path;
  return path.empty() ? model : model + "." + path;
}

void Writing::add(const Module& module) {
  const std::lock_guard lock(mutex_);
  if (modules_.empty()) {
    first_model_ = module.model();
    model_type_ = module.type();
  }
  Known& known = modules_.emplace_back(Known{module.id(), name_of(module), module.raw(), {}, {}});
  for (std::size_t i = 0; i < module.parameter_count(); ++i) {
    const Parameter& parameter = module.parameter(i);
    (is_buffer(parameter) ? known.buffers : known.parameters).emplace_back(parameter.name);
  }
  JsonLine(text_, "module")
      .text("name", known.name)
      .text("type", module.type())
      .text("settings", module.settings())
      .flag("functional", module.is_functional())
      .done();
}

void Writing::forget(const Module& module) {
  const std::lock_guard lock(mutex_);
  modules_.erase(
      std::remove_if(modules_.begin(), modules_.end(), [&](const Known& each) { return each.id == module.id(); }),
      modules_.end());
}

/// Called before the first event, when all weights are loaded.
bool Writing::begin() {
  if (step_ > steps_) return false;
  if (has_begun_) return true;
  has_begun_ = true;
  step_ = 0;
  for (const Known& each : modules_) {
    for (const std::string& name : each.parameters) {
      const Place place{"parameter", each.name, name};
      host_.lend_parameter(each.module, name.c_str(), false, [&](const loupe_tensor& tensor) {
        std::vector<double>& values = values_[key_of(place)];
        if (copy(place, tensor, values)) write(place, shape_of(tensor), dtype_of(tensor), values, true, 0, 0);
      });
    }
  }
  write_buffers();
  step_ = 1;
  return true;
}

void Writing::write_buffers() {
  for (const Known& each : modules_) {
    for (const std::string& name : each.buffers) {
      host_.lend_parameter(each.module, name.c_str(), false, [&](const loupe_tensor& tensor) {
        write({"buffer", each.name, name}, tensor, true, 0, 0);
      });
    }
  }
}

uint64_t Writing::next_call(const Place& place) {
  return calls_[place.what + ('\n' + place.module)]++;
}

void Writing::take(const Place& place, const Event& event, bool inputs) {
  const std::lock_guard lock(mutex_);
  if (!begin()) return;
  forward_since_step_ = true;
  const uint64_t call = next_call(place);
  for (std::size_t i = 0; i < (inputs ? event.input_count() : event.output_count()); ++i) {
    write(place, *(inputs ? event.input(i) : event.output(i)).raw(), event.training(), static_cast<uint32_t>(i), call);
  }
}

void Writing::take_gradient(const Place& place, const Event& event) {
  const std::lock_guard lock(mutex_);
  if (!event.tensor() || !begin()) return;
  const bool of_parameter = !place.name.empty();
  write(place, *event.tensor().raw(), of_parameter || event.training(), 0, of_parameter ? 0 : next_call(place));
}

void Writing::take_update(const Place& place, const loupe_tensor& tensor) {
  const std::lock_guard lock(mutex_);
  if (!begin()) return;
  std::vector<double> now, change;
  if (!copy(place, tensor, now)) return;
  std::vector<double>& before = values_[key_of(place)];
  if (before.size() == now.size()) {
    std::transform(now.begin(), now.end(), before.begin(), std::back_inserter(change), std::minus<>());
    write(place, shape_of(tensor), dtype_of(tensor), change, true, 0, 0);
  }
  before = std::move(now);
}

void Writing::take_loss(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (!event.is_loss() || !begin()) return;
  // Trainers push the loss of a step before the optimizer steps or after.
  const bool of_last = !forward_since_step_ && step_ > 1;
  const Place place{"loss", ""};
  const uint64_t step = step_;
  if (of_last) --step_;
  write(place, {}, "float32", {event.scalar()}, event.training(), 0, of_last ? 0 : next_call(place));
  step_ = step;
}

void Writing::end_step(const loupe_step& step) {
  const std::lock_guard lock(mutex_);
  if (!begin()) return;
  if (step.optimizer != nullptr) write_optimizer(*step.optimizer);
  if (step.at.step == clock_) return;  // steps of another optimizer do not count
  clock_ = step.at.step;
  write_buffers();
  calls_.clear();
  forward_since_step_ = false;
  ++step_;
}

void Writing::write_optimizer(const loupe_optimizer& optimizer) {
  const std::size_t which = optimizers_.try_emplace(optimizer.id, optimizers_.size()).first->second;
  const std::string type = optimizer.type;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const loupe_parameter_group& group = *optimizer.groups[i];
    JsonLine line(text_, "optimizer");
    line.whole("step", step_).whole("optimizer", which).text("type", type).whole("group", i);
    if (const auto rate = learning_rate_of(group)) line.number("lr", *rate);
    if (const auto decay = weight_decay_of(group)) line.number("weight_decay", *decay);
    for (std::size_t k = 0; group.settings != nullptr && k < group.settings->value_count; ++k) {
      const loupe_option_value& setting = *group.settings->values[k];
      if (setting.type == LOUPE_TYPE_BOOLEAN) line.flag(setting.name, setting.integer != 0);
      if (setting.type == LOUPE_TYPE_INTEGER || setting.type == LOUPE_TYPE_NUMBER)
        line.number(setting.name, setting.number);
    }
    line.done();
  }
}

bool Writing::copy(const Place& place, const loupe_tensor& tensor, std::vector<double>& elements) {
  try {
    elements = host_.copy(tensor);
    return true;
  } catch (const Error& reason) {
    if (!std::exchange(has_warned_, true)) {
      host_.warn(std::string("a tensor (") + place.what + " of '" + place.module + "') is left out, as are others " +
                 "like it: " + reason.what());
    }
    return false;
  }
}

void Writing::write(const Place& place, const loupe_tensor& tensor, bool training, uint32_t index, uint64_t call) {
  std::vector<double> elements;
  if (!copy(place, tensor, elements)) return;
  write(place, shape_of(tensor), dtype_of(tensor), elements, training, index, call);
}

void Writing::write(const Place& place, const std::vector<int64_t>& shape, const std::string& dtype,
                    const std::vector<double>& elements, bool training, uint32_t index, uint64_t call) {
  const TensorSummary summary = summarize(shape, elements);
  JsonLine line(text_, "tensor");
  line.whole("step", step_).text("what", place.what).text("module", place.module).text("name", place.name);
  line.whole("index", index).whole("call", call).flag("training", training);
  line.raw("shape", json_list(shape, [](int64_t size) { return std::to_string(size); })).text("dtype", dtype);
  line.whole("non_finite", static_cast<uint64_t>(summary.non_finite));
  line.number("sum", summary.sum).number("sum_squares", summary.sum_squares);
  line.number("minimum", summary.minimum).number("maximum", summary.maximum);
  line.raw("values", json_numbers(summary.values)).raw("sums", json_list(summary.sums, json_numbers)).done();
}

bool Writing::is_complete() const {
  const std::lock_guard lock(mutex_);
  return step_ > steps_;
}

uint64_t Writing::steps_taken() const {
  const std::lock_guard lock(mutex_);
  return step_ - 1;
}

bool Writing::has_begun() const {
  const std::lock_guard lock(mutex_);
  return has_begun_;
}

std::string Writing::new_text() {
  const std::lock_guard lock(mutex_);
  if (!has_begun_) return "";
  std::string text;
  if (!std::exchange(is_headed_, true)) {
    const loupe_run* run = host_.run();
    JsonLine(text, "fingerprint")
        .whole("format", fingerprint_format)
        .text("language", "C++")
        .text("libtorch", run != nullptr && run->framework_version != nullptr ? run->framework_version : "")
        .text("model", model_type_)
        .whole("steps", steps_)
        .done();
  }
  return text + std::exchange(text_, "");
}

}  // namespace loupe::fingerprint
