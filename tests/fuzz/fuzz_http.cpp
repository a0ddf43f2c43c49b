// All bytes at the port of `loupe view` are either read as a request or refused.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "view/http.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  try {
    const loupe::view::Request request = loupe::view::parsed_request({reinterpret_cast<const char*>(data), size});
    if (request.method.empty() || request.method.find(' ') != std::string::npos) std::abort();
  } catch (const loupe::view::Refusal& refusal) {
    if (refusal.status != 400 && refusal.status != 411) std::abort();  // malformed, or in chunks
  }
  return 0;
}
