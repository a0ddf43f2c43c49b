#include "port/settings.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace loupe::port {
namespace {

std::string stripped(const std::string& text, const std::string& of = " \t\n\"'") {
  const auto begin = text.find_first_not_of(of);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(of) - begin + 1);
}

/// At the commas that no bracket holds.
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

/// In one form for both languages: True and true, (3, 3) and [3, 3] and 3,
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
    // What a language leaves out, or says to be nothing, is what it takes
    // unless it is told.
    const std::string value = plain(equals == std::string::npos ? each : each.substr(equals + 1));
    const std::string name =
        equals == std::string::npos ? "argument " + std::to_string(++position) : stripped(each.substr(0, equals));
    const bool is_said = !value.empty() && (value != "none" || name == "approximate");
    if (is_said) values[name] = value;
  }
  return values;
}

using Values = std::map<std::string, std::string>;

/// What a module takes that its language does not print, because it is the
/// default there; empty where the name has none. By type, for another type may
/// print the same by position: a ZeroPad2d its padding.
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

/// 1 is true where the other says so, and a padding that is valid is none.
bool same(const std::string& a, const std::string& b) {
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
  Values all = own;  // the names alone count
  all.insert(theirs.begin(), theirs.end());
  for (const auto& each : all) {
    const std::string one = value_of(a, own, each.first), other = value_of(b, theirs, each.first);
    if (!one.empty() && !other.empty() && !same(one, other))
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
