#pragma once

/// Marks functions that parts of the host call: the library exports them only for its own build. Never mark a class:
/// that would export its inline functions too. tests/structure/private_symbols.txt lists all of them.
#define LOUPE_SHARED __attribute__((visibility("default")))
