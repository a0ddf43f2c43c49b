#pragma once

/// The mark before the LibTorch version in the file of the watching library: `loupe run` reads it before it loads that
/// library.
#define LOUPE_BUILT_WITH_MARK "loupe-was-built-with-libtorch="
