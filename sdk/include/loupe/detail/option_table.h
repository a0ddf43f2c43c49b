#ifndef LOUPE_DETAIL_OPTION_TABLE_H
#define LOUPE_DETAIL_OPTION_TABLE_H

#include <loupe/options.h>

#include <deque>
#include <utility>
#include <vector>

namespace loupe {
namespace detail {

/// Declared options in the form that crosses the boundary, with the storage that it points at. Neither copied nor
/// moved.
class OptionStorage {
 public:
  explicit OptionStorage(std::vector<Option> options) : options_(std::move(options)) {
    for (const Option& option : options_) {
      auto& texts = lists_.emplace_back();
      for (const std::string& text : option.texts) texts.push_back(text.c_str());
      defaults_.push_back({sizeof(loupe_option_value), option.type, option.name.c_str(), option.integer, option.number,
                           option.text.c_str(), texts.data(), texts.size(), nullptr});
      auto& choices = lists_.emplace_back();
      for (const std::string& choice : option.choices) choices.push_back(choice.c_str());
      c_options_.push_back({sizeof(loupe_option), option.type, option.name.c_str(), option.help.c_str(),
                            option.is_required ? nullptr : &defaults_.back(), option.minimum, option.maximum,
                            choices.data(), choices.size(), text_or_null(option.names), text_or_null(option.of),
                            option.is_required ? static_cast<uint32_t>(LOUPE_OPTION_REQUIRED) : 0u, 0});
      pointers_.push_back(&c_options_.back());
    }
  }
  OptionStorage(const OptionStorage&) = delete;
  OptionStorage& operator=(const OptionStorage&) = delete;

  const loupe_option* const* pointers() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  static const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

  std::vector<Option> options_;
  std::deque<std::vector<const char*>> lists_;
  std::deque<loupe_option_value> defaults_;
  std::deque<loupe_option> c_options_;
  std::vector<const loupe_option*> pointers_;
};

}  // namespace detail
}  // namespace loupe

#endif
