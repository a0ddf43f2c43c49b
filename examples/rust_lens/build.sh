#!/usr/bin/env bash
# Builds the lens: build.sh [FOLDER] puts dead_layers.so there (default: here). RUSTC names the compiler.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A cdylib exports what is marked #[no_mangle], which is the plugin's entry, and nothing else.
"${RUSTC:-rustc}" --edition 2021 --crate-type cdylib -C opt-level=2 -C strip=symbols -C link-arg=-Wl,-z,defs -D warnings \
  -o "${1:-$here}/dead_layers.so" "$here/dead_layers.rs"
