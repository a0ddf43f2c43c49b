#!/usr/bin/env bash
# Checks on a real GPU that Loupe reports devices correctly.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/setup.sh"

usage() {
  cat <<'END'
usage: tests/gpu.sh make
       tests/gpu.sh run [--cpu] [--build FOLDER]

make, on a machine without a GPU: builds a wheel and a trainer for the LibTorch of a machine with a GPU, and writes them to
build-gpu/bundle. Copy that folder and this checkout to that machine. GPU_TORCH is the version of its Python's torch
(default: 2.11.0), and GPU_CUDA the version of CUDA for which that torch was built (default: 13.0).

run, on the machine with the GPU, which needs Python with that torch, but no network: trains with and without Loupe, compares, and
prints a table. Takes up to 8 minutes; the exit code is 1 if a check failed, and 77 without a GPU.
  --build FOLDER  the folder of the bundle (default: build-gpu)
  --cpu           rehearse the checks on the CPU, with the loupe and the trainer in FOLDER/bin
END
}

most_bytes=60000000 # the most that can be copied to a machine with a GPU

make_bundle() {
  local build=$root/build-gpu python bundle size
  bundle=$build/bundle python=$build/python
  [[ -x $python/bin/pip ]] || python3 -m venv --clear "$python"
  # LibTorch, and only the CUDA headers and the CUDA libraries that its CPU part needs; the rest is gigabytes.
  "$python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "torch==${GPU_TORCH:-2.11.0}" \
    {nvidia-cuda-runtime,nvidia-cuda-cupti,nvidia-cuda-crt}"==${GPU_CUDA:-13.0}.*"
  CMAKE_PREFIX_PATH=$(echo "$python"/lib/python3*/site-packages/torch)
  export CMAKE_PREFIX_PATH
  set_up
  configure "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-w -DLOUPE_BUILD_TESTS=ON -DLOUPE_BUILD_EXAMPLES=ON
  tests/package.sh wheel --build "$build"
  cmake --build "$build" --parallel "$(default_jobs)" --target gpu_trainer gpu_trainer_plain
  rm -rf "$bundle" && mkdir "$bundle"
  cp "$build"/packages/loupe-*.whl "$bundle"
  # Keep the symbols of these programs, by which Loupe finds functions of the program.
  cp "$build/bin/gpu_trainer" "$build/bin/gpu_trainer_plain" "$bundle"
  strip -o "$bundle/libcount_waits.so" "$build/lib/libcount_waits.so"
  size=$(du --summarize --bytes "$bundle" | cut -f 1)
  ((size <= most_bytes)) || fail "$bundle has $size bytes, more than the $most_bytes that can be copied to a machine with a GPU"
  say "made $bundle, $((size / 1000000)) MB, for torch ${GPU_TORCH:-2.11.0}: copy it there, and run 'tests/gpu.sh run'"
}

run_on_gpu() {
  local build=$1 bundle card site
  bundle=$build/bundle
  card=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || card=""
  if [[ -z $card ]]; then
    say "there is no GPU here: nvidia-smi lists none; 'tests/gpu.sh run --cpu' rehearses the checks on the CPU" >&2
    exit 77
  fi
  [[ -x $bundle/gpu_trainer ]] || fail "there is no $bundle/gpu_trainer: make it with 'tests/gpu.sh make', and copy it here"
  torch=$(python_torch)
  [[ -n $torch ]] || fail "python3 has no torch: put a Python with torch first in PATH"
  # The wheel expects LibTorch beside itself, so link it there; the installed packages stay unchanged.
  site=$(mktemp -d)
  # shellcheck disable=SC2064 # expand $site now
  trap "rm -rf '$site'" EXIT
  python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-compile --target "$site" \
    "$bundle"/loupe-*.whl
  ln -s "$torch" "$site/torch"
  LD_LIBRARY_PATH=$bundle:$site/loupe/lib:$torch/lib:$(echo "$torch"/../nvidia/cu*/lib) python3 tests/gpu/checks.py "$bundle" \
    "$site/loupe/bin/loupe" "$build/checks" "$card"
}

what=${1:-}
shift || true
build=$root/build-gpu cpu=false
while (($#)); do
  case $1 in
    --build) build=$(realpath "${2:?--build needs a folder}") && shift 2 ;;
    --cpu) cpu=true && shift ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
cd "$root"
case $what in
  make) make_bundle ;;
  run) if $cpu; then python3 tests/gpu/checks.py "$build/bin" "$build/bin/loupe" "$build/gpu-checks" ""; else run_on_gpu "$build"; fi ;;
  -h | --help) usage ;;
  *) usage >&2 && fail "the first argument must be 'make' or 'run'" ;;
esac
