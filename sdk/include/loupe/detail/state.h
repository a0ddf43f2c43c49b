#pragma once

#include <loupe/error.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Writes numbers and texts as bytes that are the same on every machine: little-endian, doubles as IEEE 754.
class StateWriter {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((value >> shift) & 0xff);
  }
  void real(double value) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value, "a double has 64 bits");
    std::memcpy(&bits, &value, sizeof bits);
    number(bits);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void reals(const std::vector<double>& values) {
    number(values.size());
    for (const double value : values) real(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what a StateWriter wrote, in the same order. Every function throws Error if the bytes end too early.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view taken = take(8);
    for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(taken[static_cast<std::size_t>(i)]);
    return value;
  }
  double real() {
    const std::uint64_t bits = number();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  /// The number of items that follow, each of at least 8 bytes: a count too large for the rest is refused before memory
  /// is allocated.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size() / 8) throw Error("the state is cut short", LOUPE_INVALID);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) throw Error("the state is cut short", LOUPE_INVALID);
    return std::string(take(static_cast<std::size_t>(size)));
  }
  std::vector<double> reals() {
    std::vector<double> values(static_cast<std::size_t>(count()));
    for (double& value : values) value = real();
    return values;
  }
  /// Throws Error if bytes are left.
  void finish() const {
    if (!bytes_.empty()) throw Error("the state has data after its end", LOUPE_INVALID);
  }

 private:
  std::string_view take(std::size_t size) {
    if (bytes_.size() < size) throw Error("the state is cut short", LOUPE_INVALID);
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

}  // namespace v1_0
}  // namespace loupe
