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
      auto& choices = choices_.emplace_back();
      for (const std::string& choice : option.choices) choices.push_back(choice.c_str());
      c_options_.push_back({sizeof(loupe_option), option.type, option.name.c_str(), option.default_value.c_str(),
                            option.help.c_str(), option.minimum, option.maximum, choices.data(), choices.size(),
                            text_or_null(option.names), text_or_null(option.of)});
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
  std::deque<std::vector<const char*>> choices_;
  std::deque<loupe_option> c_options_;
  std::vector<const loupe_option*> pointers_;
};

}  // namespace detail
}  // namespace loupe

#endif
