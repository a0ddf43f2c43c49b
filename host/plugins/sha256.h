#ifndef LOUPE_PLUGINS_SHA256_H
#define LOUPE_PLUGINS_SHA256_H

#include <string>

#include "plugins/plugin_file.h"

namespace loupe {

/// The SHA-256 digest of a whole file, as `sha256sum` prints it: 64 lower-case hexadecimal digits.
std::string sha256_of(const PluginFile& file);

/// Whether a text is such a digest.
bool is_sha256(const std::string& text);

}  // namespace loupe

#endif
