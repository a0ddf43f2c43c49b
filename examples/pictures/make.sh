#!/usr/bin/env bash
# Makes the README's picture anew: trains the digits and takes a picture of the report, by chromium.
#   examples/pictures/make.sh [BUILD-FOLDER]      of examples/demo.sh unless told otherwise
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build}
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
"$build/bin/digits" --config configs/digits.yaml --out "$runs" >/dev/null
chromium --headless --no-sandbox --hide-scrollbars --window-size=1200,1080 --virtual-time-budget=4000 \
  --screenshot=examples/pictures/report.png "file://$runs/runs/digits/report.html"
