#include "port/record.h"

#include <loupe/files/fingerprint.h>
#include <loupe/files/gzip.h>
#include <loupe/files/readable.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "command/usage_error.h"
#include "core/bounds.h"
#include "loupe/config_error.h"
#include "record/record_line.h"

namespace loupe::port {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string key_of(uint64_t step, const std::string& what, const std::string& module, const std::string& name,
                   uint64_t index, uint64_t call) {
  std::string key = std::to_string(step);
  for (const std::string& part : {what, module, name, std::to_string(index), std::to_string(call)})
    (key += '\n') += part;
  return key;
}

double number_of(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto named = replay::number_named(json.get<std::string>());
  if (!named) throw Error("'" + json.get<std::string>() + "' is no number");
  return *named;
}

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> numbers;
  for (const Json& each : json) numbers.push_back(number_of(each));
  return numbers;
}

int phase_of(const Tensor& tensor) {
  const char* const order[] = {"parameter", "input", "loss", "output_gradient", "gradient", "update", "buffer"};
  const std::string what = tensor.is("output") ? "input" : tensor.what;
  return static_cast<int>(std::find(std::begin(order), std::end(order), what) - std::begin(order));
}

Tensor tensor_of(const Json& line) {
  Tensor tensor;
  line.at("step").get_to(tensor.step);
  line.at("what").get_to(tensor.what);
  line.at("module").get_to(tensor.module);
  line.at("name").get_to(tensor.name);
  line.at("index").get_to(tensor.index);
  line.at("call").get_to(tensor.call);
  line.at("training").get_to(tensor.training);
  line.at("shape").get_to(tensor.shape);
  line.at("dtype").get_to(tensor.dtype);
  line.at("non_finite").get_to(tensor.non_finite);
  tensor.sum = number_of(line.at("sum"));
  tensor.sum_squares = number_of(line.at("sum_squares"));
  tensor.minimum = number_of(line.at("minimum"));
  tensor.maximum = number_of(line.at("maximum"));
  tensor.values = numbers_of(line.at("values"));
  for (const Json& each : line.at("sums")) tensor.sums.push_back(numbers_of(each));
  constexpr double most = 9e15;  // elements, so that their number is exact
  double numel = 1;
  for (const int64_t size : tensor.shape) numel *= size < 0 ? most : static_cast<double>(std::max<int64_t>(size, 1));
  if (numel >= most || tensor.values.size() != fingerprint_positions(tensor.shape).size())
    throw Error("a tensor does not have as many elements as its shape says");
  return tensor;
}

constexpr std::size_t most_modules = 20'000;  // which are compared each with each

void take(const Json& line, Record& record) {
  const auto kind = line.at("kind").get<std::string>();
  if (kind == "tensor") {
    record.tensors.push_back(tensor_of(line));
  } else if (kind == "module") {
    record.modules.push_back({line.at("name"), line.at("type"), line.at("settings"), line.at("functional")});
    if (record.modules.size() > most_modules)
      throw Error("these are the fingerprints of more than " + std::to_string(most_modules) + " modules");
  } else if (kind == "optimizer") {
    Optimizer& optimizer = record.optimizers.emplace_back();
    line.at("step").get_to(optimizer.step);
    line.at("optimizer").get_to(optimizer.optimizer);
    line.at("group").get_to(optimizer.group);
    line.at("type").get_to(optimizer.type);
    for (const auto& [name, value] : line.items()) {
      if (name == "step" || name == "optimizer" || name == "group" || name == "type" || name == "kind") continue;
      optimizer.settings[name] = value.is_boolean() ? static_cast<double>(value.get<bool>()) : number_of(value);
    }
  }
}

void begin(const Json& line, Record& record) {
  if (!line.is_object() || line.value("kind", "") != "fingerprint")
    throw Error("this is no file of fingerprints; those are written by the lens 'fingerprint' and by loupe_record.py");
  const int format = line.at("format").get<int>();
  if (format != fingerprint_format)
    throw Error("the fingerprints are of format " + std::to_string(format) + ", and this Loupe reads format " +
                std::to_string(fingerprint_format) + "; write them anew, with one version of Loupe");
  line.at("language").get_to(record.language);
  line.at("libtorch").get_to(record.libtorch);
  record.asked = line.value("steps", uint64_t{0});
}

std::string file_at(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return path;
  const fs::path file = fs::path(path) / "fingerprint.jsonl";
  if (!fs::exists(text_file_at(file), none))
    throw UsageError("the folder '" + path +
                     "' has no fingerprint.jsonl; the lens 'fingerprint' writes one in C++, and " +
                     "loupe_record.watch in Python");
  return file.string();
}

}  // namespace

int64_t Tensor::numel() const {
  int64_t numel = 1;
  for (const int64_t size : shape) numel *= size;
  return numel;
}

double Tensor::rms() const {
  const auto finite = static_cast<double>(numel() - non_finite);
  return finite > 0 ? std::sqrt(sum_squares / finite) : 0;
}

const Module* Record::module(const std::string& name) const {
  const auto found = std::find_if(modules.begin(), modules.end(), [&](const auto& each) { return each.name == name; });
  return found != modules.end() ? &*found : nullptr;
}

const Tensor* Record::find(const Tensor& like, const std::string& module) const {
  const auto found = places.find(key_of(like.step, like.what, module, like.name, like.index, like.call));
  return found != places.end() ? &tensors[found->second] : nullptr;
}

const Tensor* Record::find(uint64_t step, const char* what, const std::string& module, const std::string& name) const {
  const auto found = places.find(key_of(step, what, module, name, 0, 0));
  return found != places.end() ? &tensors[found->second] : nullptr;
}

bool Record::has_stepped(uint64_t step) const {
  return std::any_of(optimizers.begin(), optimizers.end(), [&](const Optimizer& each) { return each.step == step; }) ||
         std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& each) { return each.step == step && each.is("update"); });
}

void Record::index_places() {
  places.clear();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& each = tensors[i];
    places[key_of(each.step, each.what, each.module, each.name, each.index, each.call)] = i;
  }
}

Record read_record(const std::string& path) {
  Record record;
  record.file = file_at(path);
  std::size_t number = 0;
  try {
    TextInput input(record.file);
    std::string text;
    while (read_line(input, text)) {
      ++number;
      const auto line = parse_bounded<Json>(text);
      if (number == 1) {
        begin(line, record);
      } else {
        take(line, record);
      }
    }
    if (is_too_long(text)) throw Error(too_long);
    if (!input.fault().empty()) throw Error(input.fault());
    if (number == 0) throw Error("the file is empty");
  } catch (const std::system_error& reason) {
    throw ConfigError(record.file + ": error: the file cannot be read: " + reason.code().message());
  } catch (const Json::parse_error& reason) {
    throw ConfigError(record.file + ":" + std::to_string(number) +
                      ": error: the line is no line of fingerprints: it is no JSON, from its character " +
                      std::to_string(reason.byte) + " on");
  } catch (const Json::exception&) {
    throw ConfigError(record.file + ":" + std::to_string(number) +
                      ": error: the line is no line of fingerprints: something of it is missing, or is not of the " +
                      "type that belongs there");
  } catch (const Error& reason) {
    throw ConfigError(record.file + ":" + std::to_string(std::max<std::size_t>(number, 1)) +
                      ": error: " + reason.what());
  }
  std::stable_sort(record.tensors.begin(), record.tensors.end(), [](const Tensor& a, const Tensor& b) {
    return a.step != b.step ? a.step < b.step : phase_of(a) < phase_of(b);
  });
  for (const Tensor& each : record.tensors) record.steps = std::max(record.steps, each.step);
  record.index_places();
  return record;
}

}  // namespace loupe::port
