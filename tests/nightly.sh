#!/usr/bin/env bash
# Runs the tests that take too long for every change.
#   tests/nightly.sh [PART...]      (default: all parts)
#
# Each part, the minutes that it takes on two cores beside other work, with its build, and its content:
#
# part         | minutes             | content
# addresses    | 88                  | all tests by day under AddressSanitizer and UndefinedBehaviorSanitizer
# threads      | 38                  | the tests of threads and ranks under ThreadSanitizer, ten times
# slow         | 18                  | the tests with the label `nightly`: all browser tests (report_browser, view_browser),
#              |                     | Python's reader with pandas and mypy, TensorBoard and trackers by pip, every new plugin,
#              |                     | every way to build Loupe in a project, each header compiled by the other compiler,
#              |                     | benchmarks, and the rehearsal of the checks on a GPU
# zoo          | 6, and the build    | the zoo with five seeds
# long         | 1, and the build    | runs of 20,000 epochs and of 300 models
# kills        | 4, and the build    | 100 trainers killed at any moment
# ranks        | 40, and the build   | 100 runs of four processes killed at any moment
# fuzz         | 60, and the build   | six targets of fuzzing, ten minutes each
# tidy         | 19                  | clang-tidy
# plain        | not measured        | every build type with both compilers, each source compiled separately
# parts        | 27                  | Loupe as a part of other projects, built as a whole in C++17 and C++20
# frozen       | 3, and the build    | the frozen files of 1.0, rebuilt bit by bit, and mistakes that a maintainer might make,
#              |                     | each found by a test
# older        | 13                  | today's plugins in earlier hosts
# libtorch     | 17                  | a LibTorch between the oldest and the newest
# debian13     | 16                  | the tests in a bare Debian 13
# demo         | 9 in a bare Debian  | the commands of README.md, in an empty folder
# packages     | 28 for Debian 13    | Debian packages on Debian 12 and 13, as root
# arm64        | 34                  | the tests on AArch64, emulated
# instructions | 18                  | the instructions that watching adds, compared with the last release
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"
source "$root/tests/bare.sh"
source "$root/tests/readme/printed.sh"
cd "$root"
use_compiler_cache

addresses() { tests/run.sh --sanitize address; }

threads() { tests/run.sh --sanitize thread -- --repeat until-fail:10; }

# build TARGET...: builds the programs of the parts below, without a sanitizer.
build_folder="build-nightly"
build() {
  tests/run.sh --set-up
  find_libtorch
  configure "$build_folder" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_TESTS=ON -DLOUPE_BUILD_EXAMPLES=ON
  cmake --build "$build_folder" --parallel "$(default_jobs)" --target "$@"
}

zoo() {
  build zoo
  OMP_NUM_THREADS=1 "$build_folder/bin/zoo" --seeds 5 --recall 0.95 --healthy 0.98
}

# Counts the allocations and bytes that a long run takes at its end.
long() {
  build allocation_tests
  "$build_folder/bin/allocation_tests" --gtest_also_run_disabled_tests --gtest_filter='LongRuns.*'
}

# Every epoch that the console has shown must be in the record, except that each may show the last one first, and the
# record must be readable.
kills() {
  build digits loupe
  local folder=$build_folder/killed trainer shown recorded number all=0
  rm -rf "$folder" && mkdir -p "$folder"
  cat >"$folder/monitor.yaml" <<'END'
run: {dir: run}
lenses: [health, loss_metrics, output_activation, gradient_geometry, parameter_difference]
visualizers: [record, csv, html, console]
END
  for ((number = 1; number <= 100; ++number)); do
    OMP_NUM_THREADS=1 "$build_folder/bin/digits" --config "$folder/monitor.yaml" --out "$folder" --epochs 100000 \
      >"$folder/output" 2>&1 &
    trainer=$!
    sleep "$((1 + RANDOM % 2)).$((RANDOM % 1000))"
    kill -KILL "$trainer"
    wait "$trainer" 2>/dev/null || true
    shown=$(grep -c '^── .* · epoch' "$folder/output" || true)
    recorded=$(grep -c '"kind":"tick".*}$' "$folder/run/record.jsonl" 2>/dev/null || true)
    if ((recorded + 1 < shown)); then fail "kill $number: $shown epochs were shown, ${recorded:-0} are recorded"; fi
    if ((recorded == 0)); then continue; fi # killed before the first epoch
    "$build_folder/bin/loupe" replay "$folder/run/record.jsonl" --visualizer csv --out "$folder/again" >/dev/null
    rm -rf "$folder/run" "$folder/again"
    ((all += recorded)) || true
  done
  say "100 trainers killed after $all epochs, and no epoch lost"
}

ranks() {
  build digits
  tests/ranks/kills.sh "$build_folder" 100 4
}

fuzz() { tests/fuzz/run.sh 600; }

# Sets newer_torch.
install_newer_torch() {
  local python=$root/build-nightly-2.13/python
  [[ -x $python/bin/pip ]] || python3 -m venv --clear "$python"
  "$python/bin/python" -m pip install --quiet torch==2.13.0
  newer_torch=$(echo "$python"/lib/python3*/site-packages/torch)
}

tidy() { tests/tidy.sh; }

slow() {
  build all night
  OMP_NUM_THREADS=1 LOUPE_CHECK=strict ctest --test-dir "$build_folder" --label-regex '^nightly$' --no-tests=error \
    --parallel "$(default_jobs)" --output-on-failure
}

# Compiles each source separately, with both compilers and every build type; CI compiles several sources together. Debian's
# clang does not compile Debian's LibTorch as C++20.
plain() {
  local type
  tests/run.sh --set-up
  find_libtorch
  install_newer_torch
  for type in Release RelWithDebInfo Debug; do
    cmake -G Ninja -B "build-nightly-plain/gcc-$type" -DLOUPE_UNITY_BUILD=OFF "-DCMAKE_BUILD_TYPE=$type" "-DCMAKE_PREFIX_PATH=$torch"
    CC=clang CXX=clang++ cmake -G Ninja -B "build-nightly-plain/clang-$type" -DLOUPE_UNITY_BUILD=OFF \
      "-DCMAKE_BUILD_TYPE=$type" "-DCMAKE_PREFIX_PATH=$newer_torch"
    cmake --build "build-nightly-plain/gcc-$type" --parallel "$(default_jobs)"
    cmake --build "build-nightly-plain/clang-$type" --parallel "$(default_jobs)"
  done
}

parts() {
  build loupe # an install copies this build
  local standard check
  find_libtorch
  for standard in 17 20; do
    for check in trains_with_add_subdirectory trains_with_fetch_content; do
      LOUPE_STANDARD=$standard LOUPE_CMAKE=cmake LOUPE_BUILD=$build_folder LOUPE_SOURCE=$root \
        LOUPE_LIBDIR=lib LOUPE_WORK=$root/$build_folder/parts-$standard LOUPE_TORCH=$torch LOUPE_SANITIZER="" \
        CXX=${CXX:-c++} tests/install/check.sh "$check"
    done
  done
}

frozen() {
  build loupe loupe_host loupe_plugins frozen_tests
  tests/abi/mistakes.py "$build_folder"
  tests/abi/freeze.sh --check 1.0
}

# Runs today's plugins in the host of each earlier minor version; before the first tag, in the tree that last froze 1.0.
older() {
  local commit commits source
  build digits loupe loupe_plugins
  find_libtorch
  mapfile -t commits < <(git tag --list 'v1.*.0')
  if ((${#commits[@]} == 0)); then
    mapfile -t commits < <(git log --format=%H -1 -- tests/abi/1.0/SHA256SUMS)
  fi
  ((${#commits[@]} > 0)) || fail "the history has neither a tag v1.0.0 nor the commit that froze 1.0: fetch the whole history"
  for commit in "${commits[@]}"; do
    source=$root/build-nightly-older/$commit
    rm -rf "$source" && mkdir -p "$source"
    git archive "$commit" | tar -x -C "$source"
    cmake -G Ninja -S "$source" -B "$source/build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON "-DCMAKE_PREFIX_PATH=$torch"
    cmake --build "$source/build" --parallel "$(default_jobs)" --target digits loupe loupe_plugins
    tests/abi/older_host.sh "$source/build" "$build_folder"
  done
}

# Tests a LibTorch between the oldest and the newest, which CI tests. Uses clang++, as CI does with the newest.
libtorch() {
  install_newer_torch
  CC=clang CXX=clang++ CMAKE_PREFIX_PATH=$newer_torch \
    tests/run.sh --only "programs threads torch zoo" --nightly --build build-nightly-2.13
}

# Tests with LibTorch 2.6 and GCC 14 in a bare Debian 13, where tests/run.sh installs the packages.
debian13() {
  packages="debootstrap makes bare systems" torch_is_debians=false
  install_packages
  bare=$(mktemp -d /var/tmp/loupe-debian13.XXXXXX)
  trap 'rm -rf --one-file-system "$bare"' EXIT
  make_bare trixie "$bare"
  copy_into "$bare"
  in_bare "$bare" /loupe/tests/run.sh --only programs
  rm -rf --one-file-system "$bare"
}

# Runs the commands for building from source in README.md in an empty folder, cloning this checkout.
demo() {
  local folder
  folder=$(mktemp -d /var/tmp/loupe-demo.XXXXXX)
  publish "$root" "$folder/published/loupe"
  mkdir "$folder/first"
  (cd "$folder/first" && bash -euo pipefail -c "$(printed_commands "$root/README.md" "The source" | from_here "$folder/published/loupe")")
  rm -rf "$folder"
}

# Makes the packages in one bare Debian, then installs, tries and removes them in a second one. Needs root.
packages() {
  local release
  packages="debootstrap makes bare systems" torch_is_debians=false
  install_packages
  bare=$(mktemp -d /var/tmp/loupe-packages.XXXXXX)
  trap 'rm -rf --one-file-system "$bare"' EXIT
  for release in bookworm trixie; do
    make_bare "$release" "$bare/$release"
    make_bare "$release" "$bare/$release/bare"
    copy_into "$bare/$release"
    in_bare "$bare/$release" /loupe/tests/package.sh deb --root /bare
  done
}

arm64() { tests/arm64.sh; }

# Compares the instructions that watching adds to a step with those of the last release.
instructions() {
  command -v valgrind >/dev/null || fail "valgrind, which counts instructions, is missing: apt-get install valgrind"
  build bench_program bench_program_inspected loupe_bench # and the plugins
  tests/benchmarks/instructions.py "$build_folder"
}

all=(addresses threads slow zoo long kills ranks fuzz tidy plain parts frozen older libtorch debian13 demo packages arm64 instructions)
if (($# == 0)); then set -- "${all[@]}"; fi
for part in "$@"; do
  [[ " ${all[*]} " == *" $part "* ]] || fail "'$part' is not a part of the nightly tests; the parts are ${all[*]}"
  say "nightly: $part" && "$part"
done
