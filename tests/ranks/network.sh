#!/usr/bin/env bash
# Trains in several processes that reach each other through a bad network: two network namespaces, with delay and loss
# between them. Every tick of rank 0 must hold the numbers of all ranks. Then the network is cut: all must end all the same.
#   tests/ranks/network.sh BUILD [RANKS]      needs root, ip, tc and iptables; says so and ends with 0 where they are
#                                             lacking. Where the kernel has no netem, packets are lost and come at once
set -euo pipefail
build=$(realpath "${1:?which build folder?}")
ranks=${2:-4} epochs=4
skip() { echo "ranks over a bad network: not tested, as $1" && exit 0; }
for tool in ip tc iptables; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done
folder=$(mktemp -d)
near=loupe-near-$$ far=loupe-far-$$
clean_up() {
  jobs -p | xargs -r kill -KILL 2>/dev/null || true
  ip netns del "$near" 2>/dev/null || true
  ip netns del "$far" 2>/dev/null || true
  rm -rf "$folder"
}
trap clean_up EXIT
{ ip netns add "$near" && ip netns add "$far"; } 2>"$folder/why" ||
  skip "no network namespace can be made: $(head -1 "$folder/why")"
ip -n "$near" link add near type veth peer name far netns "$far" 2>"$folder/why" ||
  skip "no link between namespaces can be made: $(head -1 "$folder/why")"
ip -n "$near" address add 10.255.77.1/30 dev near
ip -n "$far" address add 10.255.77.2/30 dev far
for each in "$near near" "$far far" "$near lo" "$far lo"; do ip -n "${each% *}" link set "${each#* }" up; done
network="a network with delay and loss"
for each in "$near near" "$far far"; do
  if ! tc -n "${each% *}" qdisc add dev "${each#* }" root netem delay 50ms 20ms loss 5% 2>/dev/null; then
    network="a network with loss (the kernel has no netem, which delays too)"
    ip netns exec "${each% *}" iptables -A INPUT -i "${each#* }" -m statistic --mode random --probability 0.05 -j DROP
  fi
done

# train NAME TIMEOUT: rank 0 is near, the others are far.
train() {
  local rank
  mkdir -p "$folder/$1"
  cat >"$folder/$1/monitor.yaml" <<END
ranks: {timeout: $2, store: "tcp://10.255.77.1:29700"}
run: {name: far, dir: run}
lenses: [health, loss_metrics, output_activation, gradient_geometry]
visualizers: [record]
END
  processes=()
  for ((rank = 0; rank < ranks; ++rank)); do
    RANK=$rank WORLD_SIZE=$ranks MASTER_ADDR=10.255.77.1 MASTER_PORT=29701 OMP_NUM_THREADS=1 \
      ip netns exec "$( ((rank == 0)) && echo "$near" || echo "$far")" \
      "$build/bin/digits" --config "$folder/$1/monitor.yaml" --out "$folder/$1" --epochs $epochs \
      >"$folder/$1/out-$rank" 2>&1 &
    processes+=($!)
  done
}
# all_end NAME: within two minutes, and well.
all_end() {
  local rank waited
  for ((rank = 0; rank < ranks; ++rank)); do
    for ((waited = 0; waited < 1200; ++waited)); do
      if ! kill -0 "${processes[rank]}" 2>/dev/null; then break; fi
      sleep 0.1
    done
    if kill -0 "${processes[rank]}" 2>/dev/null; then echo "$1: rank $rank hangs" >&2 && exit 1; fi
    if ! wait "${processes[rank]}"; then echo "$1: rank $rank failed" >&2 && tail -5 "$folder/$1/out-$rank" >&2 && exit 1; fi
    if ((rank > 0)); then continue; fi
    if (($(grep -c '"kind":"tick".*}$' "$folder/$1/run/record.jsonl") != epochs)); then
      echo "$1: not all of $epochs epochs are recorded" >&2 && exit 1
    fi
  done
}

train bad 60
all_end bad
if grep -q "numbers are of" "$folder/bad/run/record.jsonl"; then
  echo "bad: not all ticks hold all ranks" >&2
  grep -o "[^\"]*numbers are of[^\"]*" "$folder/bad/run/record.jsonl" >&2
  exit 1
fi
train cut 2
sleep 2
ip -n "$near" link set near down
all_end cut
echo "$ranks ranks over $network: all numbers came; cut off from it, all ended"
