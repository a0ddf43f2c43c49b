#!/usr/bin/env bash
# Checks that a host of an earlier minor version runs today's plugins, using builds in two folders: the older `loupe check`
# passes each plugin, and the older trainer gives the same numbers with them as today's trainer.
#   older_host.sh OLDER_BUILD BUILD
set -euo pipefail
older=$(realpath "$1") build=$(realpath "$2")
folder=$(mktemp -d /var/tmp/loupe-older-host.XXXXXX)
trap 'rm -rf "$folder"' EXIT
fail() { echo "error: $*" >&2 && exit 1; }
export LOUPE_PLUGIN_PATH=$build/lib/loupe/plugins OMP_NUM_THREADS=1

count=0
for plugin in "$LOUPE_PLUGIN_PATH"/*.so; do
  if ! "$older/bin/loupe" check "$plugin" >"$folder/checked" 2>&1; then
    cat "$folder/checked"
    fail "$plugin does not pass 'loupe check' of $older"
  fi
  ((count += 1))
done
((count > 10)) || fail "there are $count plugins in $LOUPE_PLUGIN_PATH"

# numbers HOST: the numbers of its trainer with today's plugins, without times. Each component must come from today's files.
numbers() {
  local out
  out=$(mktemp -d "$folder/run.XXXXXX")
  cat >"$out/monitor.yaml" <<'END'
run: {dir: run}
lenses: [health, loss_metrics, output_activation, output_norm, gradient_geometry, parameter_difference, parameter_norm, update_ratio, histograms]
visualizers: [record, csv, html]
END
  "$1/bin/digits" --config "$out/monitor.yaml" --out "$out" --epochs 2 >"$out/output" 2>&1 || { cat "$out/output" && return 1; }
  cut -d, -f1-7 "$out/run/"*.csv | sort
}
"$older/bin/loupe" list --long 2>/dev/null | grep -A1 '^  output_norm ' | grep -qF "$LOUPE_PLUGIN_PATH/output_norm.so" ||
  fail "$older does not load output_norm from $LOUPE_PLUGIN_PATH"
numbers "$older" >"$folder/older"
numbers "$build" >"$folder/today"
(($(wc -l <"$folder/older") > 50)) || fail "the trainer of $older shows hardly any values"
diff "$folder/older" "$folder/today" || fail "today's plugins give different numbers in $older"
echo "$count of today's plugins run in $older"
