#!/usr/bin/env bash
# Makes the frozen files of a version of the boundary: its headers, and plugins built with them. Every later host loads those
# plugins. After the release the files in the folder never change; SHA256SUMS checks that. Needs root and Debian 12.
#   tests/abi/freeze.sh VERSION           freezes this tree, once: tests/abi/VERSION has the sources and texts of VERSION only
#   tests/abi/freeze.sh --again VERSION   freezes again over the existing files, until the version is released
#   tests/abi/freeze.sh --check VERSION   rebuilds the plugins from the folder's files, and names those that differ in a bit
# layers.tar.gz has the other sources of the plugins: the headers of the C++ layer, and the Rust layer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
how=once
case ${1:-} in --again | --check) how=${1#--} && shift ;; esac
version=${1:?'VERSION is missing, such as 1.0'}
folder=$PWD/tests/abi/$version
if [[ $how == once && -e $folder/SHA256SUMS ]]; then
  echo "error: $folder is frozen" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
tools=(clang clang-14 g++ g++-12 g++-aarch64-linux-gnu libc++-dev libc++abi-dev libstdc++-12-dev lld rustc)
if ! dpkg --status "${tools[@]}" >/dev/null 2>&1; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${tools[@]}" >/dev/null
fi
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# Installs the standard library of Rust for the other processor, in the version of Debian's compiler.
rust_for_aarch64() {
  local had_arm64=true
  dpkg --print-foreign-architectures | grep -qx arm64 || had_arm64=false
  dpkg --add-architecture arm64 && apt-get update -qq
  (cd "$work" && apt-get download -qq libstd-rust-dev:arm64 && dpkg -x libstd-rust-dev_*.deb arm64)
  $had_arm64 || dpkg --remove-architecture arm64
}

# build OUT: builds the plugins of both processors in a copy, as paths of this machine would change the plugins' bytes.
build() (
  mkdir -p "$1/x86_64" "$1/aarch64" "$work/layers"
  out=$(realpath "$1")
  tar -xf "$folder/layers.tar.gz" -C "$work/layers"
  cd "$folder"
  echo '{ global: loupe_plugin_entry; local: *; };' >"$work/exports"
  flags=(-O2 -fPIC -shared -fvisibility=hidden -ffile-prefix-map="$work/layers=." "-Wl,--build-id=none"
    "-Wl,--version-script=$work/exports" "-Wl,--gc-sections" -ffunction-sections -s -I include -I "$work/layers/include")
  c() { "$1" -std=c11 "${@:4}" "${flags[@]}" -o "$out/$2" "$3.c"; }
  cpp() { "$1" -std=c++17 -fvisibility-inlines-hidden "${@:4}" "${flags[@]}" -o "$out/$2" "$3.cpp"; }
  for source in kinds whole; do
    prefix=$([[ $source == kinds ]] || echo whole_)
    c /usr/bin/gcc "x86_64/${prefix}c_gcc.so" $source
    c /usr/bin/clang "x86_64/${prefix}c_clang.so" $source
    cpp /usr/bin/g++ "x86_64/${prefix}cpp_gcc.so" $source
    cpp /usr/bin/clang++ "x86_64/${prefix}cpp_clang_libcxx.so" $source -stdlib=libc++
    c aarch64-linux-gnu-gcc "aarch64/${prefix}c_gcc.so" $source
    c /usr/bin/clang "aarch64/${prefix}c_clang.so" $source --target=aarch64-linux-gnu -fuse-ld=lld
    cpp aarch64-linux-gnu-g++ "aarch64/${prefix}cpp_gcc.so" $source
    cpp /usr/bin/clang++ "aarch64/${prefix}cpp_clang.so" $source --target=aarch64-linux-gnu -fuse-ld=lld
  done

  # build.rs reads the headers beside the layer.
  rm -rf "$work/layers/include/loupe/abi"
  cp -r include/loupe/abi "$work/layers/include/loupe"
  export OUT_DIR=$work/layers CARGO_MANIFEST_DIR=$work/layers/rust
  rustc=/usr/bin/rustc
  "$rustc" --edition 2021 -o "$work/generate" "$work/layers/rust/build.rs"
  "$work/generate" >/dev/null
  for target in x86_64 aarch64; do
    arguments=(--edition 2021 --target "$target-unknown-linux-gnu" -C opt-level=s -C codegen-units=1 --remap-path-prefix "$work=.")
    if [[ $target == aarch64 ]]; then
      arguments+=(-L "$work/arm64/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib" -C linker=aarch64-linux-gnu-gcc)
    fi
    "$rustc" "${arguments[@]}" --crate-type rlib --crate-name loupe -o "$work/libloupe.rlib" "$work/layers/rust/src/lib.rs"
    for source in lens whole; do
      "$rustc" "${arguments[@]}" --crate-type cdylib --crate-name $source -C lto=fat -C strip=symbols \
        --extern "loupe=$work/libloupe.rlib" -o "$out/$target/$([[ $source == lens ]] || echo whole_)rust.so" $source.rs
    done
  done
)

# check BUILT: compares these plugins with the folder's. A different version of a compiler changes the bytes, and is reported.
check() {
  local file same=0 others=0
  for file in "$folder"/{x86_64,aarch64}/*.so; do
    file=${file#"$folder/"}
    if cmp -s "$folder/$file" "$1/$file"; then ((same += 1)); else echo "the rebuilt $file differs" && ((others += 1)); fi
  done
  for file in "$1"/*/*.so; do
    [[ -e $folder/${file#"$1/"} ]] || { echo "${file#"$1/"} is not in $folder" && ((others += 1)); }
  done
  if ! diff "$folder/tools.txt" <(dpkg-query -W "${tools[@]}"); then echo "these compilers have different versions"; fi
  echo "$same plugins of $version are rebuilt bit by bit, $others are not"
  ((others == 0 && same >= 8))
}

rust_for_aarch64
if [[ $how == check ]]; then
  (cd "$folder" && sha256sum --check --quiet SHA256SUMS)
  build "$work/built"
  check "$work/built"
  exit
fi

rm -rf "$folder"/{include,x86_64,aarch64,abi.txt,cpp_defaults.txt,layers.tar.gz,tools.txt,SHA256SUMS}
mkdir -p "$folder/include/loupe/abi"
cp sdk/include/loupe/abi.h "$folder/include/loupe"
cp sdk/include/loupe/abi/*.h "$folder/include/loupe/abi"
python3 tests/abi/frozen.py --write sdk/include "$folder/abi.txt" gcc
python3 tests/abi/cpp_defaults.py --write "$folder/cpp_defaults.txt" sdk/include host/include
dpkg-query -W "${tools[@]}" >"$folder/tools.txt"
mkdir "$work/layers"
g++ -std=c++17 -I sdk/include -MM "$folder"/{kinds,whole}.cpp | tr ' ' '\n' | grep '^sdk/include/' | grep -v '^sdk/include/loupe/abi' |
  sort -u >"$work/layer.txt"
find sdk/rust/build.rs sdk/rust/src -type f | sort >>"$work/layer.txt"
tar --create --transform 's|^sdk/||' --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 --files-from "$work/layer.txt" |
  gzip -9n >"$folder/layers.tar.gz"
build "$folder"
sums=$(cd "$folder" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
echo "$sums" >"$folder/SHA256SUMS"

# Build again in different folders, to check that the bytes do not change.
rm -r "$work/layers" && build "$work/built"
check "$work/built"
