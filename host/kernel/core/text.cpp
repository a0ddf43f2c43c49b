#include "core/text.h"

#include <loupe/text/nearest.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8.h>

#include <algorithm>

namespace loupe {
namespace {

// Lines indented this far are already in a column.
constexpr std::size_t deep = 8;

/// How far the further lines of a line are indented.
std::size_t hanging_indent(const std::string& line, std::size_t indent, std::size_t furthest) {
  std::size_t hanging = indent >= deep ? indent : indent + 2, column = 0;
  for (std::size_t at = 0; at + 2 < line.size(); ++at) {
    if (begins_code_point(line[at])) ++column;
    const bool ends_gap = at > indent && line[at] == ' ' && line[at - 1] == ' ' && line[at + 1] != ' ';
    if (ends_gap && column <= furthest) hanging = column;
  }
  return hanging;
}

}  // namespace

bool begins_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

std::string utf8(std::string_view text) {
  return ::utf8::replace_invalid(text);
}

bool is_utf8(std::string_view text) {
  return ::utf8::is_valid(text);
}

std::string printable(std::string_view text, std::u32string_view kept) {
  std::u32string letters = ::utf8::utf8to32(utf8(text));
  const auto controls = [&](char32_t letter) {
    return (letter < 0x20 || (letter >= 0x7F && letter < 0xA0)) && kept.find(letter) == kept.npos;
  };
  std::replace_if(letters.begin(), letters.end(), controls, U'?');
  return ::utf8::utf32to8(letters);
}

std::string in_columns(const std::vector<std::string>& names, std::size_t width, std::size_t indent) {
  constexpr std::size_t gap = 2;
  std::size_t longest = 0;
  for (const std::string& each : names) longest = std::max(longest, each.size());
  const std::size_t room = width > indent ? width - indent + gap : gap;
  const std::size_t columns = std::max<std::size_t>(1, room / (longest + gap));
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const bool begins_line = at % columns == 0, ends_line = at % columns == columns - 1 || at + 1 == names.size();
    if (begins_line) text += (at == 0 ? "" : "\n") + std::string(indent, ' ');
    text += names[at];
    if (!ends_line) text += std::string(longest - names[at].size() + gap, ' ');
  }
  return text;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) return "; there are none";
  if (const std::string near = nearest(name, known); !near.empty()) return "; did you mean '" + near + "'?";
  if (known.size() > many_names) {
    constexpr std::size_t width = 80, indent = 2;
    return "; known are:\n" + in_columns(known, width, indent);
  }
  return (known.size() == 1 ? "; the only one is: " : "; known are: ") + join(known);
}

std::optional<std::size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return std::max<std::size_t>(size.ws_col, fewest_columns);
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string wrapped_line(const std::string& line, std::size_t columns) {
  if (columns_of(line) <= columns) return line;
  const std::size_t furthest = columns * 3 / 5, begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  // A column with too little room beside it is not used.
  const std::size_t indent = begin > furthest ? deep / 2 : begin;
  const std::size_t hanging = hanging_indent(line, begin, furthest);
  const std::string before(begin > furthest ? indent : std::min(hanging, furthest), ' ');
  std::string text(indent, ' '), gap;
  std::size_t taken = indent;
  for (std::size_t at = begin; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    if (!gap.empty() && taken + gap.size() + columns_of(word) > columns) {
      text += "\n" + before + word;
      taken = before.size() + columns_of(word);
    } else {
      text += gap + word;
      taken += gap.size() + columns_of(word);
    }
    gap = line.substr(end, next - end);
    at = next;
  }
  return text;
}

}  // namespace loupe
