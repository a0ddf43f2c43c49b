#!/usr/bin/env bash
# Runs clang-tidy over the SDK, the plugins and the host's sources without LibTorch, as .clang-tidy says, in a unity build.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"
packages+=$'\nclang-tidy-14           reads the sources\n'
cd "$root"
set_up
build=${1:-build-tidy}
configure "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
# Nothing is built here, so generated sources are empty.
for generated in host/view_page.cpp host/templates.cpp plugins/html/page.cpp; do
  mkdir -p "$build/${generated%/*}" && : >"$build/$generated"
done
say "reading the sources"
# Old headers of LibTorch do not compile as C++20, which the host needs, with the clang of their time; clang++ compiles it
# with a newer LibTorch. The build's warnings are for GCC.
# clang-tidy searches its configuration above each source; the unity sources are in the build folder, so pass it here.
run-clang-tidy-14 -p "$build" -config "$(<.clang-tidy)" -quiet -j "$(default_jobs)" -extra-arg=-Wno-unknown-warning-option \
  '^((?!loupe_(host|listeners|part_(run|script|services))|/host/torch/|/host/inspector/|/host/optional/(script|listeners|run|services)/).)*$' >"$build/tidy.log" 2>&1 || {
  # No warnings in the log mean that clang-tidy was killed or crashed, so print the log's end.
  grep -E -A 3 'warning:|error:' "$build/tidy.log" | head -n 200 || tail -n 40 "$build/tidy.log"
  fail "clang-tidy found faults (see above and $build/tidy.log)"
}
