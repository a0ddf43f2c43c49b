#!/usr/bin/env bash
# Builds the fuzz targets by clang and runs each. What it finds is left in the build folder, named by libFuzzer.
#   tests/fuzz/run.sh [SECONDS-EACH] [TARGET...]      60 seconds and all of them unless told otherwise
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/setup.sh"
packages+=$'\nclang                   compiles for libFuzzer\nlibclang-rt-dev         is libFuzzer, and the sanitizers\n'
seconds=${1:-60}
shift || true
targets=("$@")
if ((${#targets[@]} == 0)); then targets=(config options record tensor); fi

cd "$root"
export CC=clang CXX=clang++
set_up
build="build-fuzz"
configure "$build" -DCMAKE_BUILD_TYPE=Fast -DLOUPE_BUILD_TESTS=ON -DLOUPE_BUILD_EXAMPLES=OFF -DLOUPE_FUZZ=ON
say "building the fuzz targets in $build"
cmake --build "$build" --parallel "$(default_jobs)" --target "${targets[@]/#/fuzz_}"
for target in "${targets[@]}"; do
  # New inputs go to a folder of their own; those worth keeping are copied to the corpus by hand.
  mkdir -p "$build/found/$target"
  say "fuzzing $target for $seconds seconds"
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 "$build/bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2000 -max_len=8192 -print_final_stats=1 -verbosity=0 -print_funcs=0 -artifact_prefix="$build/found/$target-" \
    "$build/found/$target" "tests/fuzz/corpus/$target"
done
