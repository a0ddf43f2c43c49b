#!/usr/bin/env bash
# Trains in several processes, and kills or stops one of them at a random moment. The others have to end, and no epoch
# of rank 0 may be lost.
#   tests/ranks/kills.sh BUILD [RUNS] [RANKS]
set -euo pipefail
build=$(realpath "${1:?which build folder?}")
runs=${2:-100} ranks=${3:-4} epochs=12
folder=$(mktemp -d)
trap 'kill -CONT $(jobs -p) 2>/dev/null || true; kill -KILL $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
cat >"$folder/monitor.yaml" <<'END'
ranks: {timeout: 2}
run: {name: killed, dir: run}
lenses: [health, loss_metrics, output_activation, gradient_geometry]
visualizers: [record]
END
exec 2> >(grep -v ' Killed  *RANK=' >&2) # bash's message on each killed process
for ((number = 1; number <= runs; ++number)); do
  rm -rf "$folder/run" && mkdir "$folder/run"
  processes=()
  for ((rank = 0; rank < ranks; ++rank)); do
    RANK=$rank WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + number)) OMP_NUM_THREADS=1 \
      "$build/bin/digits" --config "$folder/monitor.yaml" --out "$folder" --epochs $epochs >"$folder/out-$rank" 2>&1 &
    processes+=($!)
  done
  victim=$((RANDOM % ranks))
  signal=$([[ $((RANDOM % 2)) == 0 ]] && echo KILL || echo STOP)
  sleep "$((RANDOM % 3)).$((RANDOM % 1000))"
  kill "-$signal" "${processes[victim]}" 2>/dev/null || true
  for ((rank = 0; rank < ranks; ++rank)); do
    if ((rank == victim)); then continue; fi
    for ((waited = 0; waited < 1200; ++waited)); do
      if ! kill -0 "${processes[rank]}" 2>/dev/null; then break; fi
      sleep 0.1
    done
    if kill -0 "${processes[rank]}" 2>/dev/null; then
      echo "run $number: rank $rank hangs after SIG$signal of rank $victim" >&2
      exit 1
    fi
    if ! wait "${processes[rank]}"; then
      echo "run $number: rank $rank failed after SIG$signal of rank $victim:" >&2
      tail -5 "$folder/out-$rank" >&2
      exit 1
    fi
  done
  kill -CONT "${processes[victim]}" 2>/dev/null || true
  kill -KILL "${processes[victim]}" 2>/dev/null || true
  wait "${processes[victim]}" 2>/dev/null || true
  if ((victim == 0)); then continue; fi
  recorded=$(grep -c '"kind":"tick".*}$' "$folder/run/record.jsonl" || true)
  if ((recorded != epochs)); then
    echo "run $number: $recorded of $epochs epochs are recorded after SIG$signal of rank $victim" >&2
    exit 1
  fi
done
echo "$runs runs with $ranks ranks: none hung, no epoch was lost"
