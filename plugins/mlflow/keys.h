#ifndef LOUPE_MLFLOW_KEYS_H
#define LOUPE_MLFLOW_KEYS_H

#include <cstddef>
#include <string>
#include <string_view>

namespace loupe::mlflow {

/// A name as MLflow takes it for metrics, parameters and tags: letters, digits and a few marks, no empty part of a
/// path. Two names may become one; `train loss` and `train_loss` do not.
inline std::string key_of(std::string_view name) {
  constexpr std::size_t longest = 250;
  std::string key;
  for (const char each : name) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
    const char mark = is_plain || std::string_view("_-. /").find(each) != std::string_view::npos ? each : '_';
    const bool begins_a_part = key.empty() || key.back() == '/';
    key += begins_a_part && (mark == '/' || mark == '.') ? '_' : mark;  // it would be normalized as a path
  }
  if (key.size() > longest) key.resize(longest);
  if (key.empty() || key.back() == '/') key += '_';
  return key;
}

/// What fits into a parameter or tag.
inline std::string cut(std::string text) {
  constexpr std::size_t longest = 5000;
  if (text.size() <= longest) return text;
  text.resize(longest - 4);
  return text + " ...";
}

}  // namespace loupe::mlflow

#endif
