// Every configuration is either read or refused with a ConfigError.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/config.h"
#include "core/log.h"
#include "loupe/config_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  // Plugins do not depend on the input, and a path of the input must not lead to existing files.
  static const bool prepared = [] {
    ::setenv("HOME", "/nonexistent", 1);
    loupe::set_log_sink([](int, const std::string&) {});
    return true;
  }();
  (void)prepared;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    loupe::Config::from_text(text, "fuzz.yaml", "/nonexistent");
  } catch (const loupe::ConfigError& e) {
    // Each message must begin with a place.
    if (std::string(e.what()).rfind("fuzz.yaml:", 0) != 0) std::abort();
  }
  return 0;
}
