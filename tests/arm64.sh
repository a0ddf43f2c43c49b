#!/usr/bin/env bash
# Builds Loupe for AArch64 with Debian's cross compiler, runs tests under QEMU's user emulation, and watches a trainer there.
# Needs root, to make the kernel start AArch64 programs with QEMU.
#   tests/arm64.sh [FOLDERS [CTEST-ARGUMENTS...]]      these folders of tests/ (default: "measure core torch")
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"
cd "$root"

folders=${1:-measure core torch}
build=$root/build-arm64
debian=$build/debian # unpacked libraries and headers for AArch64 from Debian's packages; none is installed
libraries=/usr/lib/aarch64-linux-gnu

# The libraries that Loupe is built with have the same package names as on this machine.
arm64_packages=$(names_of "$packages"$'\n'"$libtorch_packages" | grep -E '^lib|-dev$' | paste -sd,)
packages=$(
  cat <<'END'
g++-aarch64-linux-gnu   compiles for AArch64
qemu-user-static        runs what it compiled
mmdebstrap              unpacks the packages of another architecture
END
)
torch_is_debians=false
install_packages

# Makes the kernel start AArch64 programs with QEMU until this script ends, unless it already does.
binfmt=/proc/sys/fs/binfmt_misc
let_programs_start() {
  [[ -e $binfmt/register ]] || as_root mount -t binfmt_misc binfmt_misc "$binfmt" ||
    fail "this kernel cannot start programs for another processor: it has no binfmt_misc"
  if [[ -e $binfmt/qemu-aarch64 ]]; then return; fi
  as_root tee "$binfmt/register" </usr/lib/binfmt.d/qemu-aarch64.conf >/dev/null ||
    fail "this kernel does not allow registering QEMU for AArch64 programs ($binfmt/register)"
  trap 'echo -1 | as_root tee "$binfmt/qemu-aarch64" >/dev/null' EXIT
}

make_debian() {
  if [[ $(cat "$debian.packages" 2>/dev/null) == "$arm64_packages" ]]; then return; fi
  say "unpacking LibTorch and the other libraries for AArch64 into $debian"
  as_root rm -rf "$debian"
  mkdir -p "$build"
  as_root mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$arm64_packages" \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$debian"
  # Remove programs and system files, as QEMU uses those of this machine.
  as_root rm -rf "${debian:?}"/{bin,dev,etc,sbin,tmp,usr/bin,usr/sbin,var}
  # Make absolute links relative to the unpacked system, and add the links that an installation would make.
  local to link
  while read -r to link; do as_root ln -sfr "$debian$to" "$link"; done < <(find "$debian" -lname '/*' -printf '%l %p\n')
  as_root ln -sfr "$debian$libraries"/openblas-pthread/lib*.so.* "$debian$libraries"
  echo "$arm64_packages" >"$debian.packages"
}

let_programs_start
make_debian
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT $debian)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${kind} ONLY)
endforeach()
END
export CMAKE_TOOLCHAIN_FILE=$build/toolchain.cmake CMAKE_PREFIX_PATH=$debian/usr QEMU_LD_PREFIX=$debian
export PKG_CONFIG_SYSROOT_DIR=$debian PKG_CONFIG_LIBDIR=$debian$libraries/pkgconfig:$debian/usr/share/pkgconfig
tests/abi/host/frozen.sh --compile aarch64-linux-gnu-gcc tests/abi/1.0/aarch64 qemu-aarch64-static -L /usr/aarch64-linux-gnu
# The emulator is slow.
tests/run.sh --only "$folders" --build "$build/tests" -- --timeout 1200 "${@:2}"

# Run the plugins that were built for AArch64 with the headers of 1.0 in this host.
cmake --build "$build/tests" --parallel "$(default_jobs)" --target frozen_tests loupe loupe_run digits_plain
"$build/tests/bin/frozen_tests" >"$build/frozen.txt" 2>&1 || fail "plugins of 1.0: $(cat "$build/frozen.txt")"
work=$build/watched
rm -rf "$work" && mkdir "$work" && cd "$work"
export OMP_NUM_THREADS=1
"$build/tests/bin/digits_plain" 1 >plain.txt
"$build/tests/bin/loupe" run --require "$build/tests/bin/digits_plain" 1 >watched.txt 2>watched.log ||
  fail "loupe run: $(cat watched.log)"
cmp plain.txt watched.txt || fail "the trainer's output differs while it is watched"
if ! grep -q "10 of 10 modules tapped" watched.log || grep -q "warning" watched.log; then
  fail "not every module is watched: $(cat watched.log)"
fi
[[ -s loupe-runs/digits_plain/report.html ]] || fail "there is no report of the run: $(cat watched.log)"
"$build/tests/bin/loupe" diagnose loupe-runs/digits_plain >/dev/null || fail "diagnose reports an error for a sound trainer"
say "watched on AArch64: $(grep -o "[0-9]* of [0-9]* modules tapped" watched.log)"
