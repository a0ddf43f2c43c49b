#include "port/record.h"

#include <loupe/files/fingerprint.h>
#include <loupe/files/gzip.h>
#include <loupe/files/readable.h>
#include <loupe/internal/bounds.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "command/usage_error.h"
#include "loupe/config_error.h"
#include "record/reader/record_line.h"

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
  if (!named) throw Error("'" + json.get<std::string>() + "' is not a number");
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

constexpr std::size_t most_modules = 20'000;  // each is compared with each other

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
    throw Error("this is not a file of fingerprints; the lens 'fingerprint' and loupe_record.py write those");
  const int format = line.at("format").get<int>();
  if (format != fingerprint_format)
    throw Error("the fingerprints have format " + std::to_string(format) + ", and this Loupe reads format " +
                std::to_string(fingerprint_format) + "; write both again with one version of Loupe");
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
                      ": error: the line is not a line of fingerprints: it is not JSON, from character " +
                      std::to_string(reason.byte) + " on");
  } catch (const Json::exception&) {
    throw ConfigError(record.file + ":" + std::to_string(number) +
                      ": error: the line is not a line of fingerprints: something of it is missing, or is not of the " +
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

namespace {

std::string stripped(const std::string& text, const std::string& of = " \t\n\"'") {
  const auto begin = text.find_first_not_of(of);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(of) - begin + 1);
}

/// Splits a list at the commas outside of brackets.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Writes a setting in one form for both languages: True and true, (3, 3) and [3, 3] and 3,
/// 'bilinear' and kBilinear.
std::string plain(const std::string& text) {
  std::string value = stripped(text);
  if (value.size() > 1 && (value.front() == '(' || value.front() == '[')) {
    std::string all;
    std::set<std::string> different;
    for (const std::string& each : split(value.substr(1, value.size() - 2))) {
      if (stripped(each).empty()) continue;
      const std::string own = plain(each);
      different.insert(own);
      all += (all.empty() ? "" : " x ") + own;
    }
    return different.size() == 1 ? *different.begin() : all;
  }
  double number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
  if (!value.empty() && end.ec == std::errc() && end.ptr == value.data() + value.size()) return rounded_text(number, 6);
  if (value.size() > 1 && value[0] == 'k' && std::isupper(static_cast<unsigned char>(value[1])) != 0) value.erase(0, 1);
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value;
}

std::map<std::string, std::string> read(const std::string& settings) {
  std::map<std::string, std::string> values;
  std::size_t position = 0;
  for (const std::string& each : split(settings)) {
    const auto equals = each.find('=');
    // A value that a language leaves out, or prints as none, is the default.
    const std::string value = plain(equals == std::string::npos ? each : each.substr(equals + 1));
    const std::string name =
        equals == std::string::npos ? "argument " + std::to_string(++position) : stripped(each.substr(0, equals));
    const bool is_said = !value.empty() && (value != "none" || name == "approximate");
    if (is_said) values[name] = value;
  }
  return values;
}

using Values = std::map<std::string, std::string>;

/// The default of a setting that the module's language does not print; empty if the name has none. It depends on the
/// type, because another type may print the same name by position: a ZeroPad2d its padding.
std::string default_of(const std::string& type, const std::string& name) {
  static const Values convolution = {{"padding", "0"}, {"output_padding", "0"}, {"dilation", "1"},
                                     {"groups", "1"},  {"bias", "true"},        {"padding_mode", "zeros"}};
  static const Values recurrent = {{"num_layers", "1"},     {"bias", "true"},   {"batch_first", "false"},
                                   {"dropout", "0"},        {"proj_size", "0"}, {"bidirectional", "false"},
                                   {"nonlinearity", "tanh"}};
  static const Values embedding = {{"padding_idx", "none"},
                                   {"max_norm", "none"},
                                   {"norm_type", "2"},
                                   {"scale_grad_by_freq", "false"},
                                   {"sparse", "false"}};
  static const Values pool = {{"padding", "0"}, {"dilation", "1"}, {"ceil_mode", "false"}};
  static const Values norm = {
      {"affine", "true"}, {"elementwise_affine", "true"}, {"bias", "true"}, {"track_running_stats", "true"}};
  static const std::pair<const char*, const Values&> all[] = {
      {"Conv", convolution}, {"LSTM", recurrent}, {"GRU", recurrent},  {"RNN", recurrent}, {"Embedding", embedding},
      {"MaxPool", pool},     {"BatchNorm", norm}, {"LayerNorm", norm}, {"GroupNorm", norm}};
  for (const auto& [prefix, defaults] : all) {
    const auto found = type.rfind(prefix, 0) == 0 ? defaults.find(name) : defaults.end();
    if (found != defaults.end()) return found->second;
  }
  return "";
}

/// Whether two settings are the same: 1 is true, and a valid padding is no padding.
bool are_equal(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) -> std::string {
    return text == "true" ? "1" : text == "false" || text == "valid" ? "0" : text;
  };
  return number(a) == number(b);
}

bool is_flag(const std::string& name) {
  return name == "nesterov" || name == "amsgrad" || name == "centered";
}

std::string count_of(std::ptrdiff_t groups) {
  return (groups == 1 ? "there is " : "there are ") + std::to_string(groups) +
         (groups == 1 ? " group of parameters" : " groups of parameters");
}

std::string sentence(const std::string& name, const std::string& a, const std::string& b, const Record& first,
                     const Record& second) {
  return name + " is " + a + " in " + first.called + " and " + b + " in " + second.called;
}

}  // namespace

std::vector<std::string> other_settings(const Module& a, const Module& b, const Record& first, const Record& second) {
  std::vector<std::string> others;
  const Values own = read(a.settings), theirs = read(b.settings);
  const auto value_of = [](const Module& module, const Values& values, const std::string& name) {
    const auto found = values.find(name);
    return found != values.end() ? found->second : default_of(module.type, name);
  };
  Values all = own;  // only the names count
  all.insert(theirs.begin(), theirs.end());
  for (const auto& each : all) {
    const std::string one = value_of(a, own, each.first), other = value_of(b, theirs, each.first);
    if (!one.empty() && !other.empty() && !are_equal(one, other))
      others.push_back(sentence(each.first, one, other, first, second));
  }
  return others;
}

std::vector<std::string> other_settings(uint64_t step, const Record& first, const Record& second) {
  std::vector<std::string> others;
  const auto groups = [&](const Record& record) {
    return std::count_if(record.optimizers.begin(), record.optimizers.end(),
                         [&](const auto& each) { return each.step == step; });
  };
  const auto own_groups = groups(first), other_groups = groups(second);
  const bool several = own_groups > 1;
  if (own_groups != other_groups && own_groups > 0 && other_groups > 0)
    others.push_back(count_of(own_groups) + " in " + first.called + " and " + std::to_string(other_groups) + " in " +
                     second.called);
  for (const Optimizer& own : first.optimizers) {
    if (own.step != step) continue;
    const auto found = std::find_if(second.optimizers.begin(), second.optimizers.end(), [&](const Optimizer& other) {
      return other.step == step && other.optimizer == own.optimizer && other.group == own.group;
    });
    if (found == second.optimizers.end()) continue;
    const std::string of = several ? " of group " + std::to_string(own.group) : "";
    if (found->type != own.type) {
      std::string text = sentence("the optimizer", own.type, found->type, first, second);
      const bool decay = std::min(own.type, found->type) == "Adam" && std::max(own.type, found->type) == "AdamW" &&
                         own.settings.count("weight_decay") != 0;
      if (decay)
        text +=
            ": Adam adds the weight decay to the gradient, AdamW takes it "
            "off the weights";
      others.push_back(text);
    }
    for (const auto& [name, value] : own.settings) {
      const auto other = found->settings.find(name);
      if (other == found->settings.end() || std::abs(other->second - value) <= 1e-6 * std::abs(value)) continue;
      const auto text = [flag = is_flag(name)](double each) {
        return !flag ? rounded_text(each, 6) : each != 0 ? std::string("true") : std::string("false");
      };
      others.push_back(sentence(name + of, text(value), text(other->second), first, second));
    }
  }
  return others;
}

std::string times_text(std::size_t own, const Record& first, std::size_t theirs, const Record& second) {
  const auto text = [](std::size_t times) {
    return times == 1 ? std::string("once") : times == 2 ? std::string("twice") : std::to_string(times) + " times";
  };
  const bool more = own > theirs;
  return text(std::max(own, theirs)) + " in " + (more ? first : second).called + " and " + text(std::min(own, theirs)) +
         " in " + (more ? second : first).called;
}

}  // namespace loupe::port
