#!/usr/bin/env bash
# Makes the README's pictures anew: trains the digits and takes pictures of the report and of the console's last epoch,
# by chromium; aha turns the terminal's colours into HTML.
#   examples/pictures/make.sh [BUILD-FOLDER]      of examples/demo.sh unless told otherwise
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build}
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

# picture WIDTH HEIGHT PAGE FILE
picture() {
  chromium --headless --no-sandbox --hide-scrollbars --window-size="$1,$2" --virtual-time-budget=4000 \
    --screenshot="examples/pictures/$4" "file://$3"
}

sed 's/- console: {/&color: always, /' configs/digits.yaml >"$runs/digits.yaml"
COLUMNS=100 LC_ALL=C.UTF-8 "$build/bin/digits" --config "$runs/digits.yaml" --out "$runs" >"$runs/printed" 2>/dev/null
picture 1200 1400 "$runs/runs/digits/report.html" report.png
sed -n '/epoch 20 of 20/,/^files:/p' "$runs/printed" | sed '/^files:/d' | aha --black --title console >"$runs/console.html"
picture 820 400 "$runs/console.html" console.png
