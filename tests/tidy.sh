#!/usr/bin/env bash
# Runs clang-tidy over sdk, plugins and what of the host includes no LibTorch, as .clang-tidy says. Many sources are read together, and headers once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"
packages+=$'\nclang-tidy-14           reads the sources\n'
cd "$root"
set_up
build=${1:-build-tidy}
configure "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
# Nothing is built here, so what a build would generate is empty.
for generated in host/view_page.cpp host/templates.cpp plugins/html/page.cpp; do
  mkdir -p "$build/${generated%/*}" && : >"$build/$generated"
done
say "reading the sources"
# LibTorch's headers of old do not compile by the clang of their time as C++20, which the host asks for; clang++ compiles
# it with a newer LibTorch. The warnings of the build are GCC's.
# It looks for its configuration in the folders above a source, which need not be this one's: unity sources are in the build.
run-clang-tidy-14 -p "$build" -config "$(<.clang-tidy)" -quiet -j "$(default_jobs)" -extra-arg=-Wno-unknown-warning-option \
  '^((?!loupe_host|/host/torch/|/host/inspector/|/host/optional/(script|listeners|run)/).)*$' >"$build/tidy.log" 2>&1 || {
  # What ends without a word was killed, or crashed.
  grep -E -A 3 'warning:|error:' "$build/tidy.log" | head -n 200 || tail -n 40 "$build/tidy.log"
  fail "clang-tidy has something to say (above, and in $build/tidy.log)"
}
