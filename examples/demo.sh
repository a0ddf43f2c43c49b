#!/usr/bin/env bash
# Trains examples/digits with Loupe watching: installs missing packages, builds, trains, and prints where the results are.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'END'
usage: examples/demo.sh [--build FOLDER] [--jobs N] [--epochs N]

Trains a small network on handwritten digits with configs/digits.yaml, and writes to runs/digits/. Then `loupe run`
watches the same trainer, built without Loupe.
  --build FOLDER  the build folder (default: build)
  --jobs N        number of compilers to run at once (default: one per core)
  --epochs N      number of passes over the data (default: 20)
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

say "training the same network without Loupe: $build/bin/loupe run $build/bin/digits_plain 3"
"$build/bin/loupe" run "$build/bin/digits_plain" 3

cat <<END

Done. The results:
  runs/digits/report.html    the report: open it in a browser
  runs/digits/record.jsonl   every value of every epoch, one JSON object per line
  configs/digits.yaml        the configuration: change it, and train again with
                             $build/bin/digits --config configs/digits.yaml
  loupe-runs/digits_plain/   the results of the trainer without Loupe
  $build/bin/loupe view runs loupe-runs
                             serves all of these to your browser, and updates running ones
  $build/bin/loupe list       lists the lenses and visualizers for a configuration
  examples/digits/main.cpp   the trainer, with three lines for Loupe
END
