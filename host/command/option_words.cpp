#include "command/option_words.h"

#include <loupe/draft/abi/option_names.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "core/text.h"
#include "loader/kind.h"
#include "options/option_set.h"

namespace loupe {

const char* type_word(const loupe_option& option) {
  switch (option.type) {
    case LOUPE_TYPE_BOOLEAN:
      return "boolean";
    case LOUPE_TYPE_INTEGER:
      return "integer";
    case LOUPE_TYPE_NUMBER:
      return "number";
    case LOUPE_TYPE_STRING:
      return "text";
    case LOUPE_TYPE_STRINGS:
      return "list";
    default:
      return "map";
  }
}

std::string limit_words(const loupe_option& option, const loupe_option* named) {
  std::ostringstream text;
  if (option.choice_count > many_names) {
    text << "; one of those below";
  } else if (option.choice_count > 0) {
    text << "; one of";
    for (std::size_t i = 0; i < option.choice_count; ++i) text << (i == 0 ? " " : ", ") << option.choices[i];
  }
  if (const auto kind = kind_named_by(option)) text << "; the name of a " << kind_name(*kind);
  if ((option.flags & LOUPE_DRAFT_OPTION_OPTIONS) != 0 && named != nullptr)
    text << "; what is given to " << named->name;
  if (has_minimum(option)) text << "; at least " << number_text(option.minimum);
  if (has_maximum(option)) text << "; at most " << number_text(option.maximum);
  return text.str();
}

std::string default_words(const loupe_option& option) {
  if ((option.flags & LOUPE_OPTION_REQUIRED) != 0) return "required";
  const YAML::Node value = OptionSet::default_of(option);
  YAML::Emitter text;
  text << YAML::Flow;
  if (value.IsScalar() && option.type == LOUPE_TYPE_STRING) text << YAML::DoubleQuoted;
  text << value;
  return std::string("default ") + text.c_str();
}

}  // namespace loupe
