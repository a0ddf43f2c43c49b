#include "console/text.h"

#include <locale.h>
#include <loupe/text/number_text.h>
#include <wchar.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace loupe::console {
namespace {

// Created when the plugin is opened, while other threads do not fork: the creation and the first conversion take a
// lock, and a child that the program forks in that moment would wait for the lock forever. If this is null, the
// thread's locale does not change.
const locale_t utf8_locale = [] {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), before = uselocale(utf8);
  mbstate_t state{};
  mbrtowc(nullptr, "a", 1, &state);
  uselocale(before);
  return utf8;
}();

/// While it lives, the C functions of this thread read UTF-8.
class Utf8 {
 public:
  Utf8() : before_(uselocale(utf8_locale)) {}
  ~Utf8() { uselocale(before_); }
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;

 private:
  locale_t before_;
};

struct Glyph {
  std::string text;
  std::size_t width;
};

std::vector<Glyph> glyphs(const std::string& text) {
  const Utf8 utf8;
  std::vector<Glyph> found;
  mbstate_t state{};
  for (std::size_t at = 0; at < text.size();) {
    wchar_t character = 0;
    const std::size_t length = mbrtowc(&character, text.data() + at, text.size() - at, &state);
    if (length > text.size()) {  // invalid or cut off
      found.push_back({"\xEF\xBF\xBD", 1});
      state = {};
      ++at;
      continue;
    }
    const std::size_t bytes = length == 0 ? 1 : length;
    const int width = wcwidth(character);
    if (character == 0 || width < 0) {
      found.push_back({"?", 1});
    } else {
      found.push_back({text.substr(at, bytes), static_cast<std::size_t>(width)});
    }
    at += bytes;
  }
  return found;
}

std::size_t width_of(const std::vector<Glyph>& text) {
  std::size_t width = 0;
  for (const Glyph& glyph : text) width += glyph.width;
  return width;
}

std::string joined(const std::vector<Glyph>& text) {
  std::string whole;
  for (const Glyph& glyph : text) whole += glyph.text;
  return whole;
}

// Shortens text to `width` columns. Keeps at most `head` columns of its beginning, and fills the rest from its end.
std::string cut(const std::vector<Glyph>& text, std::size_t head, std::size_t width) {
  std::string shown;
  std::size_t taken = 1;  // the ellipsis
  for (const Glyph& glyph : text) {
    if (taken + glyph.width > std::min(head + 1, width)) break;
    shown += glyph.text;
    taken += glyph.width;
  }
  std::size_t tail = text.size();
  while (tail > 0 && taken + text[tail - 1].width <= width) taken += text[--tail].width;
  shown += "…";
  for (; tail < text.size(); ++tail) shown += text[tail].text;
  return shown;
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return width_of(glyphs(text));
}

std::string harmless(const std::string& text) {
  return joined(glyphs(text));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  return width == 0 ? "" : cut(glyphs(text), width / 2, width);
}

std::string shortened_end(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  return width == 0 ? "" : cut(glyphs(text), width - 1, width);
}

std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::vector<Glyph>> split;
  for (const std::string& name : names) split.push_back(glyphs(name));
  const auto cut_all = [&](std::size_t head) {
    std::vector<std::string> cuts;
    for (const auto& name : split) cuts.push_back(width_of(name) <= width ? joined(name) : cut(name, head, width));
    return cuts;
  };
  std::vector<std::string> best;
  std::size_t most = 0;
  // Search from the middle outwards, since the ends of names are the most informative.
  for (std::size_t step = 0; step < width && most < names.size(); ++step) {
    const std::size_t away = (step + 1) / 2;
    const std::size_t head = step % 2 == 1 ? width / 2 - std::min(away, width / 2) : std::min(width / 2 + away, width);
    std::vector<std::string> cuts = cut_all(head);
    const std::size_t different = std::set<std::string>(cuts.begin(), cuts.end()).size();
    if (different <= most) continue;
    most = different;
    best = std::move(cuts);
  }
  return best.empty() ? std::vector<std::string>(names.size()) : best;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = shortened(text.substr(at, end - at), width);
    at = end + 1;
    if (word.empty()) continue;
    if (lines.back().empty()) {
      lines.back() = word;
    } else if (display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t rows) {
  std::vector<std::string> lines = wrapped(text, width);
  if (rows == 0 || lines.size() <= rows) return lines;
  lines[rows - 1] = shortened_end(lines[rows - 1] + ' ' + lines[rows], width);
  lines.resize(rows);
  return lines;
}

std::string ascii(const std::string& text) {
  static const auto& alike = *new std::map<std::string, char>{
      {"─", '-'}, {"━", '='}, {"│", '|'}, {"·", '-'}, {"…", '~'}, {"→", '>'}, {"σ", 's'}, {"×", 'x'}, {"▁", '_'},
      {"▂", '.'}, {"▃", '-'}, {"▄", '~'}, {"▅", '='}, {"▆", '+'}, {"▇", '*'}, {"█", '#'}, {"■", '#'}, {"✓", '+'}};
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto is_ascii = [&](std::size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
    if (is_ascii(at)) {
      plain += text[at++];  // control sequences are copied too
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_ascii(end)) ++end;
    for (const Glyph& glyph : glyphs(text.substr(at, end - at))) {
      const auto found = alike.find(glyph.text);
      plain += found != alike.end() ? std::string(1, found->second) : std::string(glyph.width, '?');
    }
    at = end;
  }
  return plain;
}

std::string left_aligned(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return taken < width ? text + std::string(width - taken, ' ') : text;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return taken < width ? std::string(width - taken, ' ') + text : text;
}

std::string short_number(double value, Digits digits) {
  if (const char* name = non_finite_name(value)) return name;
  constexpr int kept = 4;
  char text[400];
  const auto format = [&](std::chars_format as, int precision) {
    return std::string(text, std::to_chars(text, text + sizeof text, value, as, precision).ptr);
  };
  if (digits == Digits::decimals && std::abs(value) < 1000) return format(std::chars_format::fixed, kept);
  if (std::abs(value) < 1e6 && value == std::trunc(value)) return format(std::chars_format::fixed, 0);
  if (std::abs(value) < 1e-4 || std::abs(value) >= 1e6) return format(std::chars_format::scientific, kept - 1);
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return format(std::chars_format::fixed, std::max(0, kept - before_point));
}

std::string shortest_number(double value) {
  std::string text = short_number(value);
  const std::size_t point = text.find('.'), exponent = std::min(text.find('e'), text.size());
  if (point == std::string::npos) return text;
  const std::size_t last = text.find_last_not_of('0', exponent - 1), end = last == point ? last : last + 1;
  return text.erase(end, exponent - end);
}

namespace {

constexpr std::array<const char*, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The height of each value, from 0 to 1; NaN for values that are not finite.
std::vector<double> heights(const std::vector<double>& values, Scale scale) {
  const bool positive =
      std::all_of(values.begin(), values.end(), [](double value) { return value > 0 || !std::isfinite(value); });
  const bool logarithmic = scale == Scale::logarithmic && positive;
  const auto height = [&](double value) { return logarithmic ? std::log(value) : value; };

  double low = scale == Scale::unit ? 0 : INFINITY;
  double high = scale == Scale::unit ? 1 : -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, height(value));
    high = std::max(high, height(value));
  }
  // Rounding noise, which is no news, is flat. Halve before subtracting: the difference of two large numbers may
  // overflow.
  constexpr double noise = 1e-4;
  const double size = logarithmic ? 1 : std::max(std::abs(low), std::abs(high));
  const bool is_flat = scale != Scale::unit && !(high / 2 - low / 2 > noise * (size / 2));
  std::vector<double> shares;
  for (const double value : values) {
    const double share = !is_flat ? (height(value) / 2 - low / 2) / (high / 2 - low / 2) : 0;
    shares.push_back(std::isfinite(value) ? share : NAN);
  }
  return shares;
}

std::size_t eighths(double share, std::size_t rows) {
  const std::size_t count = blocks.size() * rows;
  return std::min(static_cast<std::size_t>(share * static_cast<double>(count)), count - 1) + 1;
}

}  // namespace

std::string sparkline(const std::vector<double>& values, Scale scale) {
  std::string line;
  for (const double share : heights(values, scale)) line += std::isnan(share) ? "×" : blocks[eighths(share, 1) - 1];
  return line;
}

std::vector<std::string> curve(const std::vector<double>& values, Scale scale, std::size_t width, std::size_t rows) {
  const std::vector<double> shares = heights(values, scale);
  std::vector<std::string> lines(rows);
  for (std::size_t column = 0; column < width && !shares.empty(); ++column) {
    const double share = shares[column * shares.size() / width];
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t below = (rows - 1 - row) * blocks.size();
      if (std::isnan(share)) {
        lines[row] += row + 1 == rows ? "×" : " ";
      } else {
        const std::size_t filled = eighths(share, rows);
        lines[row] += filled <= below ? " " : blocks[std::min(filled - below, blocks.size()) - 1];
      }
    }
  }
  return lines;
}

std::string colored(const std::string& text, const char* code, const Layout& layout) {
  return layout.color ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

std::size_t visible_width(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = std::min(text.find('m', at), text.size());
    } else {
      plain += text[at];
    }
  }
  return display_width(plain);
}

std::string heading(const std::string& title, const Layout& layout) {
  const std::string shown = shortened(title, layout.width - 6);
  std::string rest;
  for (std::size_t column = display_width(shown) + 4; column < layout.width; ++column) rest += "─";
  return colored("── ", dim, layout) + colored(shown, bold, layout) + colored(" " + rest, dim, layout) + '\n';
}

}  // namespace loupe::console
