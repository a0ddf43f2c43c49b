#!/usr/bin/env bash
# Installs missing packages, builds everything and runs the tests. CI runs this command.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"

usage() {
  cat <<'END'
usage: tests/run.sh [--sanitize [address|thread]] [--only FOLDERS] [--nightly] [--set-up] [--build FOLDER] [--jobs N]
                    [-- CTEST-ARGUMENTS...]

  --sanitize      use AddressSanitizer and UndefinedBehaviorSanitizer, in a separate build folder; with "thread", run the
                  tests of threads with ThreadSanitizer in another folder (LibTorch itself is built without it)
  --only FOLDERS  build and run only the tests in these folders of tests/, for example "torch threads"
  --nightly       also run the long tests of tests/nightly.sh
  --set-up        only install missing packages
  --build FOLDER  the build folder (default: build-tests, build-sanitize or build-sanitize-thread)
  --jobs N        number of compilers and tests to run at once (default: one per core)
  Arguments after -- go to ctest: tests/run.sh -- -R example runs the tests with "example" in their names.
All checkouts share the cache of ccache; LOUPE_CCACHE_DIR names a different folder for it.
END
}

build=""
jobs=$(default_jobs)
sanitize=OFF
only=()
only_set_up=false
left_out=(--label-exclude '^nightly$')
while (($#)); do
  case $1 in
    --sanitize)
      sanitize=address && shift
      case ${1:-} in address | thread) sanitize=$1 && shift ;; esac
      ;;
    --only) read -r -a only <<<"${2:?--only needs folders of tests/}" && shift 2 ;;
    --nightly) left_out=() && shift ;;
    --set-up) only_set_up=true && shift ;;
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift 2 ;;
    --) shift && break ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
cd "$root"
packages+=$(
  cat <<'END'

mold                    links the tests in less time
ccache                  compiles again only what has changed
libcpp-httplib-dev      asks the server of `loupe view`
END
)
# These packages are only for tests; most folders need none of them.
if ((${#only[@]} == 0)) || [[ " ${only[*]} " =~ \ (check|examples|parity|port|python|report|view|visualizers)\  ]]; then
  packages+=$(
    cat <<'END'

chromium                opens the report as its reader does
chromium-driver         controls it
python3-selenium        writes its commands
python3-torch           loads the tensors that Loupe saves
python3-venv            makes environments for TensorBoard and pandas
rustc                   compiles examples/rust_lens
libc++-dev              for plugins built with the other standard library
libc++abi-dev           libc++ needs it
abigail-tools           compares the layouts of classes for programs
groff-base              checks the manual's pages
mandoc                  checks them, too
zsh                     tests the completion of commands
libgloo-dev             lets processes of examples/ranks communicate: headers for LibTorch's Gloo
END
  )
fi
if [[ ${CXX:-} == clang* ]]; then
  packages+=$'\nlibclang-rt-dev         sanitizers for programs that some tests build\n'
fi
# The build type is that of README, or the fastest to build with a sanitizer.
type=Release
if [[ $sanitize != OFF ]]; then type=Fast; fi
if [[ -z $build ]]; then
  build="build-tests"
  if [[ $sanitize == address ]]; then build="build-sanitize"; fi
  if [[ $sanitize == thread ]]; then build="build-sanitize-thread"; fi
fi

set_up
if $only_set_up; then exit; fi
use_compiler_cache
configure "$build" "-DCMAKE_BUILD_TYPE=$type" -DLOUPE_WERROR=ON -DLOUPE_BUILD_TESTS=ON -DLOUPE_BUILD_EXAMPLES=ON \
  "-DLOUPE_SANITIZE=$sanitize"
# LibTorch itself is built without ThreadSanitizer, so run only the folders whose tests get no false reports.
if [[ $sanitize == thread && ${#only[@]} == 0 ]]; then only=(threads ranks); fi
targets=()
for folder in "${only[@]}"; do targets+=(--target "tests/$folder/all"); done
# The target night builds the programs that only nightly tests start.
if ((${#left_out[@]} == 0 && ${#only[@]} == 0)); then targets=(--target all --target night); fi
say "building Loupe, its examples and its tests in $build (some minutes the first time)"
cmake --build "$build" --parallel "$jobs" "${targets[@]}"

# Tests run side by side, so each computes on one core; one more test than cores, as tests with a browser often wait.
export OMP_NUM_THREADS=1
# The checker tests every call between host and plugins against its contract.
export LOUPE_CHECK=strict
case $sanitize in
  address)
    # LeakSanitizer guesses the thread-local variables of a library that is loaded late, and may crash there.
    export ASAN_OPTIONS=intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    ;;
  thread) export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$root/tests/threads/libtorch.supp" ;;
esac
# A sanitizer of GCC 12 sometimes finds no room for its shadow memory if the kernel places mappings too randomly.
run=()
if [[ $sanitize != OFF ]] && setarch --addr-no-randomize true 2>/dev/null; then run=(setarch --addr-no-randomize); fi
say "running the tests"
status=0
if ((${#only[@]} == 0)); then only=(.); fi
for folder in "${only[@]}"; do
  "${run[@]}" ctest --test-dir "$build/tests/$folder" --parallel "$((jobs + 1))" --timeout 400 --output-on-failure \
    --no-tests=error "${left_out[@]}" "$@" || status=$?
done
exit "$status"
