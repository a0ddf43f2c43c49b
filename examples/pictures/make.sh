#!/usr/bin/env bash
# Makes the pictures of the READMEs again: trains faulty models under `loupe run`, and takes pictures of reports with chromium,
# and of the console on a terminal, provided by tmux; aha turns the terminal's colours into HTML.
#   examples/pictures/make.sh [BUILD-FOLDER]      (default: build, as examples/demo.sh)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:-build}")
runs=$(mktemp -d)
trap 'tmux -L loupe-pictures kill-server 2>/dev/null || true; rm -rf "$runs"' EXIT

# picture WIDTH HEIGHT PAGE FILE
picture() {
  chromium --headless --no-sandbox --hide-scrollbars --window-size="$1,$2" --virtual-time-budget=4000 \
    --screenshot="examples/pictures/$4" "file://$3" 2>/dev/null
}
on_terminal() { tmux -L loupe-pictures "$@"; }

export LC_ALL=C.UTF-8 OMP_NUM_THREADS=1
# Make the pictures of README.md.
on_terminal -u new-session -d -s console -x 100 -y 24 \
  "'$build/bin/loupe' run --every-step --out '$runs' -- '$build/bin/digits_sick' vanishing 60; sleep 60"
for ((i = 0; i < 600; ++i)); do
  on_terminal capture-pane -e -p -t console >"$runs/screen"
  grep -q 'epoch 4[0-9] ' "$runs/screen" && break
  sleep 0.1
done
aha --black --title console <"$runs/screen" >"$runs/console.html"
picture 860 440 "$runs/console.html" console.png
for ((i = 0; i < 600; ++i)); do
  on_terminal capture-pane -p -t console | grep -qE '^(files|report): ' && break
  sleep 0.1
done
picture 1200 1260 "$runs/digits_sick/report.html" report.png

# Make the pictures of the gallery, one for each fault with a picture in examples/README.md.
sed -n 's|^!\[.*(pictures/\(.*\)\.png)$|\1|p' examples/README.md | while read -r fault; do
  "$build/bin/loupe" run --every-step --out "$runs" --name "$fault" -- "$build/bin/digits_sick" "$fault" >"$runs/log" 2>&1 ||
    { cat "$runs/log" >&2 && exit 1; }
  picture 1000 800 "$runs/$fault/report.html" "$fault.png"
done
