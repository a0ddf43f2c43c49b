#!/usr/bin/env bash
# Without a GPU, tests/gpu.sh run says so in one sentence and ends with 77.
#   says_no_gpu.sh PROJECT
set -euo pipefail

# As on a machine without one, wherever this runs.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nexit 9\n' >"$folder/nvidia-smi"
chmod +x "$folder/nvidia-smi"

status=0
said=$(PATH=$folder:$PATH "$1/tests/gpu.sh" run 2>&1) || status=$?
echo "$said"
[[ $status == 77 && $said == *"no GPU here"* && $said != *$'\n'* ]]
