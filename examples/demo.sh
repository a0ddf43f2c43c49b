#!/usr/bin/env bash
# Trains examples/digits with Loupe watching: installs missing packages, builds, trains, and prints where the results are.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'END'
usage: examples/demo.sh [--build FOLDER] [--jobs N] [--epochs N]

Trains a small network on handwritten digits with configs/digits.yaml; its values land in runs/digits/. Then the same
trainer, built without Loupe, is watched by `loupe run`.
  --build FOLDER  where to build (default: build)
  --jobs N        how many compilers at once (default: one a core)
  --epochs N      how often to go through the data (default: 20)
END
}

build=build
jobs=$(default_jobs)
epochs=20
while (($#)); do
  case $1 in
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift 2 ;;
    --epochs) epochs=${2:?--epochs needs a number} && shift 2 ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
cd "$root"

set_up
use_compiler_cache
configure "$build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON
say "building Loupe and the example (some minutes the first time)"
cmake --build "$build" --parallel "$jobs" --target digits digits_plain

say "training: $build/bin/digits --config configs/digits.yaml --epochs $epochs"
"$build/bin/digits" --config configs/digits.yaml --epochs "$epochs"

say "training the same without Loupe in it: $build/bin/loupe run $build/bin/digits_plain 3"
"$build/bin/loupe" run "$build/bin/digits_plain" 3

cat <<END

Done. Where to look:
  runs/digits/report.html    the report: open it in a browser
  runs/digits/record.jsonl   every value of every epoch, one JSON object a line
  configs/digits.yaml        what was watched: change it, and train again with
                             $build/bin/digits --config configs/digits.yaml
  loupe-runs/digits_plain/   the same of the trainer that was built without Loupe
  $build/bin/loupe view runs loupe-runs
                             serves all of these to your browser, and follows those that still train
  $build/bin/loupe list      the lenses and visualizers that a YAML may name
  examples/digits/main.cpp   the trainer: three lines of it are Loupe's
END
