#pragma once

#include <loupe/options.h>

#include <deque>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// Declared options in the form that crosses the boundary, with their storage. Cannot be copied or moved.
class OptionStorage {
 public:
  explicit OptionStorage(std::vector<Option> options) : options_(std::move(options)) {
    for (const Option& option : options_) {
      auto& texts = lists_.emplace_back();
      for (const std::string& text : option.texts) texts.push_back(text.c_str());
      defaults_.push_back(c_value(option, texts));
      auto& choices = lists_.emplace_back();
      for (const std::string& choice : option.choices) choices.push_back(choice.c_str());
      loupe_option& declared = c_options_.emplace_back();
      declared.struct_size = sizeof declared;
      declared.type = option.type;
      declared.flags = (option.is_required ? uint32_t{LOUPE_OPTION_REQUIRED} : 0u) |
                       (option.minimum ? uint32_t{LOUPE_OPTION_HAS_MINIMUM} : 0u) |
                       (option.maximum ? uint32_t{LOUPE_OPTION_HAS_MAXIMUM} : 0u) | option.drafts;
      declared.name = option.name.c_str();
      declared.help = option.help.c_str();
      declared.default_value = option.is_required ? nullptr : &defaults_.back();
      declared.minimum = option.minimum.value_or(0);
      declared.maximum = option.maximum.value_or(0);
      declared.choices = choices.data();
      declared.choice_count = choices.size();
      pointers_.push_back(&c_options_.back());
    }
  }
  OptionStorage(const OptionStorage&) = delete;
  OptionStorage& operator=(const OptionStorage&) = delete;

  const loupe_option* const* pointers() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  std::vector<Option> options_;
  std::deque<std::vector<const char*>> lists_;
  std::deque<loupe_option_value> defaults_;
  std::deque<loupe_option> c_options_;
  std::vector<const loupe_option*> pointers_;
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
