#!/usr/bin/env bash
# Builds the lens: build.sh [FOLDER] puts dead_layers.so there (default: here). RUSTC names the compiler. With cargo, a
# crate of the type cdylib that depends on sdk/rust does the same.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here}
rustc=("${RUSTC:-rustc}" --edition 2021 -C opt-level=2 -D warnings)
"${rustc[@]}" --crate-type rlib --crate-name loupe -o "$folder/libloupe.rlib" "$here/../../sdk/rust/src/lib.rs"
# A cdylib exports what is marked #[no_mangle], which is the plugin's entry, and nothing else.
"${rustc[@]}" --crate-type cdylib -C strip=symbols -C link-arg=-Wl,-z,defs --extern "loupe=$folder/libloupe.rlib" \
  -o "$folder/dead_layers.so" "$here/dead_layers.rs"
rm "$folder/libloupe.rlib"
