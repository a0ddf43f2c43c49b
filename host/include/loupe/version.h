#pragma once

#define LOUPE_VERSION "1.0.0"

/// Marks the symbols that libloupe_host.so exports.
#define LOUPE_API __attribute__((visibility("default")))
