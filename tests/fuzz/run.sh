#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each. Inputs that break something stay in the build folder, named by libFuzzer.
#   tests/fuzz/run.sh [SECONDS-EACH] [TARGET...]      default: 60 seconds and all targets
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/setup.sh"
packages+=$'\nclang                   compiles for libFuzzer\nlibclang-rt-dev         is libFuzzer, and the sanitizers\n'
seconds=${1:-60}
shift || true
targets=("$@")
if ((${#targets[@]} == 0)); then targets=(config http options plugin record tensor); fi

cd "$root"
export CC=clang CXX=clang++
set_up
build="build-fuzz"
configure "$build" -DCMAKE_BUILD_TYPE=Fast -DLOUPE_BUILD_TESTS=ON -DLOUPE_FUZZ=ON
say "building the fuzz targets in $build"
cmake --build "$build" --parallel "$(default_jobs)" --target "${targets[@]/#/fuzz_}"

# Runs a target. Its output goes to a file, and the end of the file is printed if an input broke something.
fuzz() {
  local target=$1 found="$build/found/$1"
  # New inputs go to a separate folder. Useful ones have to be copied to the corpus by hand.
  mkdir -p "$found"
  if UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 "$build/bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2000 -max_len=8192 -print_final_stats=1 -verbosity=0 -print_funcs=0 -artifact_prefix="$found-" \
    "$found" "tests/fuzz/corpus/$target" >"$found.log" 2>&1; then
    say "$target: $(awk '/number_of_executed_units/ { print $2 }' "$found.log") inputs, none broke anything"
  else
    tail -n 100 "$found.log"
    say "$target: an input broke something; it is kept as $found-*"
    return 1
  fi
}

say "fuzzing ${targets[*]} for $seconds seconds each"
failed=false
running=0
for target in "${targets[@]}"; do
  if ((running == $(nproc))); then
    wait -n || failed=true
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=true
  running=$((running - 1))
done
! $failed
