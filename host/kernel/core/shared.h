#pragma once

/// On a function that parts of the host call: the library exports it, for its own build alone. Never on a class, which
/// would export its inline functions too. tests/structure/private_symbols.txt has them all.
#define LOUPE_SHARED __attribute__((visibility("default")))
