#include "plugins/sha256.h"

#include <sys/types.h>

// After sys/types.h, whose types it uses.
#include <sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace loupe {

std::string sha256_of(const PluginFile& file) {
  constexpr std::uint64_t block = 1 << 20;
  SHA2_CTX context;
  SHA256Init(&context);
  for (std::uint64_t at = 0; at < file.size(); at += block) {
    const auto bytes = file.read(at, std::min(block, file.size() - at));
    SHA256Update(&context, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256Final(digest.data(), &context);
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace loupe
