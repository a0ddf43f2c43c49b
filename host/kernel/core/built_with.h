#pragma once

/// What the version of LibTorch follows, in the file of the watching library, that it was built with: `loupe run` reads
/// it before it loads that library.
#define LOUPE_BUILT_WITH_MARK "loupe-was-built-with-libtorch="
