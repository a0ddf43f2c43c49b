#!/usr/bin/env bash
# Made the frozen files of a version of the boundary, once: its headers, and plugins built with them. Every later host loads
# those plugins, and nothing in the folder is ever edited again; SHA256SUMS says so. Needs root and Debian 12.
#   tests/abi/freeze.sh VERSION      tests/abi/VERSION must hold kinds.c, kinds.cpp and lens.rs, and no more
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=${1:?'VERSION is missing, such as 1.0'}
folder=$PWD/tests/abi/$version
if [[ -e $folder/SHA256SUMS ]]; then
  echo "error: $folder is frozen" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
apt-get update -qq
apt-get install -y -qq --no-install-recommends clang g++ g++-aarch64-linux-gnu libc++-dev libc++abi-dev libstdc++-12-dev lld rustc >/dev/null
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
echo '{ global: loupe_plugin_entry; local: *; };' >"$work/exports"
mkdir -p "$folder/include/loupe/abi" "$folder/x86_64" "$folder/aarch64"
cp sdk/include/loupe/abi.h "$folder/include/loupe"
cp sdk/include/loupe/abi/*.h "$folder/include/loupe/abi"
python3 tests/abi/frozen.py --write sdk/include "$folder/abi.txt" gcc
python3 tests/abi/cpp_defaults.py --write "$folder/cpp_defaults.txt" sdk/include host/include

flags=(-O2 -fPIC -shared -fvisibility=hidden -ffile-prefix-map="$PWD=." "-Wl,--build-id=none" "-Wl,--version-script=$work/exports" "-Wl,--gc-sections" -ffunction-sections -s -I sdk/include)
c() { "$1" -std=c11 "${@:3}" "${flags[@]}" -o "$folder/$2" "$folder/kinds.c"; }
cpp() { "$1" -std=c++17 -fvisibility-inlines-hidden "${@:3}" "${flags[@]}" -o "$folder/$2" "$folder/kinds.cpp"; }
c gcc x86_64/c_gcc.so
c clang x86_64/c_clang.so
cpp g++ x86_64/cpp_gcc.so
cpp clang++ x86_64/cpp_clang_libcxx.so -stdlib=libc++
c aarch64-linux-gnu-gcc aarch64/c_gcc.so
c clang aarch64/c_clang.so --target=aarch64-linux-gnu -fuse-ld=lld
cpp aarch64-linux-gnu-g++ aarch64/cpp_gcc.so
cpp clang++ aarch64/cpp_clang.so --target=aarch64-linux-gnu -fuse-ld=lld

# Debian's compiler with the standard library of either processor.
rustc=/usr/bin/rustc
dpkg --add-architecture arm64 && apt-get update -qq
(cd "$work" && apt-get download -qq libstd-rust-dev:arm64 && dpkg -x libstd-rust-dev_*.deb arm64)
export OUT_DIR=$work CARGO_MANIFEST_DIR=$PWD/sdk/rust
"$rustc" --edition 2021 -o "$work/generate" sdk/rust/build.rs
"$work/generate" >/dev/null
for target in x86_64 aarch64; do
  arguments=(--edition 2021 --target "$target-unknown-linux-gnu" -C opt-level=s -C codegen-units=1 --remap-path-prefix "$PWD=.")
  if [[ $target == aarch64 ]]; then
    arguments+=(-L "$work/arm64/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib" -C linker=aarch64-linux-gnu-gcc)
  fi
  "$rustc" "${arguments[@]}" --crate-type rlib --crate-name loupe -o "$work/libloupe.rlib" sdk/rust/src/lib.rs
  "$rustc" "${arguments[@]}" --crate-type cdylib -C lto=fat -C strip=symbols --extern "loupe=$work/libloupe.rlib" \
    -o "$folder/$target/rust.so" "$folder/lens.rs"
done
dpkg --remove-architecture arm64
(cd "$folder" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum >SHA256SUMS)
