# The set-up that examples/demo.sh and tests/run.sh share; sourced by both. It installs missing packages with apt, and
# uses sudo only for that.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Each package, with its name in Debian and Ubuntu, and its purpose.
packages=$(
  cat <<'END'
g++                     compiles Loupe
cmake                   configures the build
ninja-build             builds on all cores, and only what has changed
make                    CMake's default, also for a lens's project
pkg-config              finds libdw, and Highway where it brings no CMake file
libboost-dev            Boost.DLL loads plugins
libboost-filesystem-dev Boost.DLL needs it
libyaml-cpp-dev         reads the YAML configuration
nlohmann-json3-dev      writes records and reports
libutfcpp-dev           utfcpp: no invalid UTF-8 gets into records and reports
libhwy-dev              Highway: measures tensors with the vector instructions of the processor
libdw-dev               elfutils: reads from debug information the program's line of a finding
zlib1g-dev              zlib: compresses long records, and reads them
libcli11-dev            reads command lines
libjs-dygraphs          draws the charts of the HTML report
esbuild                 bundles the scripts of the HTML report and of `loupe view` into one file each
libprotozero-dev        writes TensorBoard's event files
libgtest-dev            GoogleTest runs the tests
python3                 checks the README and the report in the tests
END
)
# These are installed only if no LibTorch is found.
libtorch_packages=$(
  cat <<'END'
libtorch-dev            LibTorch itself
libopenblas0-pthread    with the default BLAS, LibTorch computes 20 times slower
END
)

say() { printf 'loupe: %s\n' "$*"; }
fail() {
  printf 'loupe: error: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root and there is no sudo; run as root: $*"
  fi
}

# The number of compilers to run at once, limited by cores and by memory: compiling LibTorch's headers takes up to 2 GB.
default_jobs() {
  local cores memory
  cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # the setting is for trainers, not for compilers
  memory=$(($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) / 2000000))
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# Prints the folder of the LibTorch at the first of these paths that has one. host/cmake/FindLibTorch.cmake finds it in
# the same way: by its headers and libraries.
torch_under() {
  local path library
  for path in "$@"; do
    path=$(sed -E 's,/((share|lib|lib64|lib/[^/]+)/cmake(/Torch)?)?/*$,,' <<<"$path")
    for library in "$path"/lib/libtorch_cpu.so "$path"/lib/*/libtorch_cpu.so "$path"/lib64/libtorch_cpu.so; do
      if [[ -n $path && -f $library && -f ${library%/*}/libc10.so &&
        -f $path/include/torch/csrc/api/include/torch/version.h ]]; then
        echo "$path"
        return
      fi
    done
  done
}

# Prints the folder of Python's torch if a C++ program can be built with it; otherwise prints the reason to standard error.
# Does not import torch, because a CUDA build fails to import without CUDA's libraries; a program needs only few of them.
python_torch() {
  local python folder
  python=$(command -v python3 || command -v python) || return 0
  folder=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
    2>/dev/null) || return 0
  folder=$(torch_under "$folder")
  if [[ -z $folder ]]; then return; fi
  if ! grep -q __cxx11 "$folder/lib/libc10.so"; then
    say "Python's torch in $folder is not used: it was built with the C++ ABI from before C++11" >&2
    return
  fi
  echo "$folder"
}

# Sets torch to the LibTorch to build with: from CMAKE_PREFIX_PATH, else Python's, else Debian's. Empty means that Debian's
# is not installed yet. LOUPE_LIBTORCH=debian always selects Debian's.
find_libtorch() {
  torch=""
  if [[ ${LOUPE_LIBTORCH:-} != debian ]]; then
    local prefixes
    IFS=':;' read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
    torch=$(torch_under "${prefixes[@]}")
    if [[ -z $torch ]]; then torch=$(python_torch); fi
  fi
  torch_is_debians=false
  if [[ -z $torch ]]; then
    torch=$(torch_under /usr)
    torch_is_debians=true
  fi
}

missing_packages() {
  local package status
  for package in "$@"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    if [[ $status != installed ]]; then echo "$package"; fi
  done
}

names_of() { awk 'NF { print $1 }' <<<"$1"; }

install_packages() {
  local wanted missing
  mapfile -t wanted < <(names_of "$packages" && if $torch_is_debians; then names_of "$libtorch_packages"; fi)
  if ! command -v apt-get >/dev/null; then
    say "there is no apt-get here: these packages, whatever their names, must be installed already: ${wanted[*]}"
    return
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if ((${#missing[@]} == 0)); then
    say "everything needed is installed"
    return
  fi
  say "installing ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  as_root "${apt[@]}" update || say "apt could not read all package lists; going on with the available ones"
  if [[ " ${missing[*]} " == *" libtorch-dev "* ]]; then require_recent_libtorch; fi
  local package offered=()
  for package in "${missing[@]}"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      offered+=("$package")
    else
      say "apt offers no $package here; going on without it"
    fi
  done
  if ((${#offered[@]} == 0)); then return; fi
  # Show the hundreds of lines about unpacking only after a failure.
  local log
  log=$(mktemp)
  if ! as_root "${apt[@]}" install -y --no-install-recommends "${offered[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "apt could not install ${offered[*]} (see its output above); is the package registry reachable?"
  fi
  rm -f "$log"
}

require_recent_libtorch() {
  local candidate
  candidate=$(apt-cache policy libtorch-dev | awk '/Candidate:/ { print $2 }')
  if [[ -z $candidate || $candidate == "(none)" ]] || dpkg --compare-versions "$candidate" lt 1.13; then
    fail "apt has no libtorch-dev of 1.13 or later (it offers: ${candidate:-nothing}); install Python's torch by pip," \
      "or name a LibTorch with CMAKE_PREFIX_PATH=/path/to/libtorch, and run this again"
  fi
}

set_up() {
  find_libtorch
  install_packages
  if [[ -z $torch ]]; then torch=$(torch_under /usr); fi
  if [[ -z $torch ]]; then
    fail "found no LibTorch; name one with CMAKE_PREFIX_PATH=/path/to/libtorch, and run this again"
  fi
  say "building with the LibTorch in $torch"
}

# If ccache is installed, the following builds compile through it. Its cache serves every checkout on this machine, in any
# folder.
use_compiler_cache() {
  if ! command -v ccache >/dev/null; then return; fi
  if [[ -n ${LOUPE_CCACHE_DIR:-} ]]; then export CCACHE_DIR=$LOUPE_CCACHE_DIR; fi
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
}

# configure FOLDER CMAKE-ARGUMENTS...: runs CMake, but not again for the same arguments.
configure() {
  local folder=$1
  shift
  local arguments=(-G Ninja "-DCMAKE_PREFIX_PATH=$torch" "$@")
  local stamp="${CXX:-} ${CXXFLAGS:-} ${arguments[*]}"
  if [[ -f $folder/build.ninja && $(cat "$folder/configured" 2>/dev/null) == "$stamp" ]]; then return; fi
  say "configuring $folder"
  # The cache would keep settings of an earlier LibTorch.
  rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  mkdir -p "$folder"
  if ! cmake -S "$root" -B "$folder" "${arguments[@]}" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    fail "CMake could not configure $folder (see its output above)"
  fi
  printf '%s\n' "$stamp" >"$folder/configured"
}
