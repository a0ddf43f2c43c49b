#!/usr/bin/env bash
# Trains examples/ranks in several processes with Loupe watching: installs missing packages, builds, trains, and prints where
# the results are: one console, one report.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

usage() {
  cat <<'END'
usage: examples/ranks/demo.sh [--plant NAME] [--ranks N] [--epochs N] [--build FOLDER] [--jobs N]

Trains a small network on handwritten digits in N processes with examples/ranks/monitor.yaml, and writes to
runs/ranks/.
  --plant NAME    a fault, or a healthy variant (default: none; 'list' prints all)
  --ranks N       number of processes, 1 to 64 (default: 4)
  --epochs N      number of passes over the data (default: 6)
  --build FOLDER  the build folder (default: build)
  --jobs N        number of compilers to run at once (default: one per core)
END
}

build=build
jobs=$(default_jobs)
plant=none
ranks=4
epochs=6
while (($#)); do
  case $1 in
    --plant) plant=${2:?--plant needs a name} && shift 2 ;;
    --ranks) ranks=${2:?--ranks needs a number} && shift 2 ;;
    --epochs) epochs=${2:?--epochs needs a number} && shift 2 ;;
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift 2 ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
if ! [[ $ranks =~ ^[1-9][0-9]?$ ]] || ((ranks > 64)); then fail "--ranks is '$ranks'; it must be a number from 1 to 64"; fi
cd "$root"

# Only the LibTorch of the system packages has the headers of its Gloo beside it.
if [[ -z ${CMAKE_PREFIX_PATH:-} ]]; then export LOUPE_LIBTORCH=${LOUPE_LIBTORCH:-debian}; fi
packages+=$'\nlibgloo-dev             lets the ranks communicate: headers for the Gloo in LibTorch'
set_up
configure "$build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON
say "building Loupe and the example (some minutes the first time)"
if ! cmake --build "$build" --parallel "$jobs" --target rank_trainer; then
  fail "the example could not be built (see CMake's output above); it needs the headers of Gloo beside those of LibTorch"
fi
trainer=$build/bin/rank_trainer
plants=$("$trainer" --plant list)
if [[ $plant == list ]]; then echo "$plants" && exit; fi
if [[ $plant != none && $plants != *$'\n'"  $plant "* ]]; then fail "there is no plant '$plant'; choose one of: $plants"; fi

# Prints a port that no process listens on.
port_to_meet_at() {
  local port
  for _ in {1..100}; do
    port=$((20000 + RANDOM % 10000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
  fail "found no free port between 20000 and 30000"
}

# Ends the running processes, and kills those that do not end within five seconds.
processes=()
declare -A rank_of
stop_all() {
  local process
  if ((${#processes[@]} == 0)); then return; fi
  kill -TERM "${processes[@]}" 2>/dev/null || true
  for _ in {1..50}; do
    if ! kill -0 "${processes[@]}" 2>/dev/null; then break; fi
    sleep 0.1
  done
  for process in "${processes[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
  wait "${processes[@]}" 2>/dev/null || true
  processes=()
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cores=$(nproc)
export WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 GLOO_SOCKET_IFNAME=lo
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((cores < ranks ? 1 : cores / ranks))}
MASTER_PORT=$(port_to_meet_at)
export MASTER_PORT
say "training in $ranks processes: RANK=0..$((ranks - 1)) $trainer --epochs $epochs --plant $plant"
for ((rank = 0; rank < ranks; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$trainer" --epochs "$epochs" --plant "$plant" &
  processes+=($!)
  rank_of[$!]=$rank
done
for ((running = ranks; running > 0; --running)); do
  status=0
  wait -n -p ended || status=$?
  if ((status != 0)); then
    stop_all
    fail "rank ${rank_of[$ended]} ended with $status; the others were stopped"
  fi
done
processes=()

cat <<END

Done. The results:
  runs/ranks/report.html     the report of all ranks: open it in a browser
  runs/ranks/rank-1/         the record of rank 1; the other ranks are beside it
  $build/bin/loupe diagnose runs/ranks
                             prints the findings of each rank
  examples/ranks/README.md   explains each plant, and other ways to start the ranks
END
