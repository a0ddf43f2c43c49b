#!/usr/bin/env bash
# Without a GPU, `tests/gpu.sh run` prints one sentence about it and exits with 77.
#   says_no_gpu.sh PROJECT
set -euo pipefail

# Simulates a machine without a GPU.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nexit 9\n' >"$folder/nvidia-smi"
chmod +x "$folder/nvidia-smi"

status=0
said=$(PATH=$folder:$PATH "$1/tests/gpu.sh" run 2>&1) || status=$?
echo "$said"
[[ $status == 77 && $said == *"no GPU here"* && $said != *$'\n'* ]]
