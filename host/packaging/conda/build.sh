#!/usr/bin/env bash
# Builds Loupe for recipe.yaml: in conda's environment, from a copy of the checkout.
set -euo pipefail
cmake -G Ninja -S . -B build-conda ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PREFIX" \
  -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DLOUPE_BUILD_TESTS=OFF -DLOUPE_BUILD_EXAMPLES=OFF \
  -DLOUPE_DYGRAPHS_DIRECTORY="$LOUPE_DYGRAPHS_DIRECTORY"
cmake --build build-conda --parallel "${CPU_COUNT:-2}"
cmake --install build-conda
