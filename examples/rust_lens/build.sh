#!/usr/bin/env bash
# Builds a lens: build.sh [FOLDER [LENS.rs]] puts dead_layers.so, or LENS.so, there (default: here). RUSTC names the
# compiler. With cargo, a crate of the type cdylib that depends on sdk/rust does the same.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here}
lens=${2:-$here/dead_layers.rs}
crate=$here/../../sdk/rust
OUT_DIR=$(mktemp -d)
trap 'rm -r "$OUT_DIR"' EXIT
export OUT_DIR CARGO_MANIFEST_DIR=$crate
rustc=("${RUSTC:-rustc}" --edition 2021 -D warnings)
# Cargo would do this by itself: first generate the declarations from the C headers.
"${rustc[@]}" -o "$OUT_DIR/generate" "$crate/build.rs"
"$OUT_DIR/generate" >/dev/null
"${rustc[@]}" -C opt-level=2 --crate-type rlib --crate-name loupe -o "$OUT_DIR/libloupe.rlib" "$crate/src/lib.rs"
# A cdylib exports only functions marked #[no_mangle]: the plugin's entry.
"${rustc[@]}" -C opt-level=2 --crate-type cdylib -C strip=symbols -C link-arg=-Wl,-z,defs \
  --extern "loupe=$OUT_DIR/libloupe.rlib" -o "$folder/$(basename "$lens" .rs).so" "$lens"
