#include "command/port_settings.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

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

/// In one form for both languages: True and true, (3, 3) and [3, 3] and 3, 'bilinear' and kBilinear.
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
    // What a language leaves out, or says to be nothing, is what it takes unless it is told.
    const std::string value = plain(equals == std::string::npos ? each : each.substr(equals + 1));
    const std::string name =
        equals == std::string::npos ? "argument " + std::to_string(++position) : stripped(each.substr(0, equals));
    if (!value.empty() && value != "none") values[name] = value;
  }
  return values;
}

std::string sentence(const std::string& name, const std::string& a, const std::string& b, const Record& first,
                     const Record& second) {
  return name + " is " + a + " in " + first.called + " and " + b + " in " + second.called;
}

}  // namespace

std::vector<std::string> other_settings(const Module& a, const Module& b, const Record& first, const Record& second) {
  std::vector<std::string> others;
  const auto own = read(a.settings), theirs = read(b.settings);
  for (const auto& [name, value] : own) {
    const auto found = theirs.find(name);
    if (found != theirs.end() && found->second != value)
      others.push_back(sentence(name, value, found->second, first, second));
  }
  return others;
}

std::vector<std::string> other_settings(uint64_t step, const Record& first, const Record& second) {
  std::vector<std::string> others;
  const auto several = std::count_if(first.optimizers.begin(), first.optimizers.end(),
                                     [&](const auto& each) { return each.step == step; }) > 1;
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
      if (decay) text += ": Adam adds the weight decay to the gradient, AdamW takes it off the weights";
      others.push_back(text);
    }
    for (const auto& [name, value] : own.settings) {
      const auto other = found->settings.find(name);
      if (other == found->settings.end() || std::abs(other->second - value) <= 1e-6 * std::abs(value)) continue;
      others.push_back(sentence(name + of, rounded_text(value, 6), rounded_text(other->second, 6), first, second));
    }
  }
  return others;
}

}  // namespace loupe::port
