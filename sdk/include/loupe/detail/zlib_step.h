#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace loupe {
inline namespace v1_0 {
namespace detail {

constexpr int gzip_window = 15 + 16;  // the largest window, plus 16 for gzip's header

/// Lends zlib as much of a text as it can take at once.
inline void lend(z_stream& stream, std::string_view& text) {
  const std::size_t size = std::min(text.size(), std::size_t{1} << 30);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(size);
  text.remove_prefix(size);
}

/// Calls inflate or deflate once, with room for one more piece at the end of `into`.
template <class Step>
int step_into(std::string& into, z_stream& stream, Step&& step) {
  constexpr std::size_t room = std::size_t{256} << 10;
  const std::size_t size = into.size();
  into.resize(size + room);
  stream.next_out = reinterpret_cast<Bytef*>(into.data() + size);
  stream.avail_out = static_cast<uInt>(room);
  const int result = step(stream);
  into.resize(into.size() - stream.avail_out);
  return result;
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
