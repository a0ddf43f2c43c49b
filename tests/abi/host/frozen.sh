#!/usr/bin/env bash
# Checks that the host in C runs the lens of each frozen plugin in a folder, with the plugin's own gatherer and preprocessor.
#   frozen.sh FOLDER HOST...                       for example tests/abi/1.0/x86_64 build/bin/abi_c_host
#   frozen.sh --compile COMPILER FOLDER RUNNER...  for another processor: COMPILER compiles the host, and RUNNER starts it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $1 == --compile ]]; then
  compiler=$2 folder=$3 host=("${@:4}")
  work=$(mktemp -d)
  trap 'rm -r "$work"' EXIT
  "$compiler" -std=c11 -I "$folder/../include" -o "$work/c_host" "$here/c_host.c" -ldl
  host+=("$work/c_host")
else
  folder=$1 host=("${@:2}")
fi
run=0
for plugin in "$folder"/*.so; do
  case $(basename "$plugin") in
    c_*) lens=c_lens expected=$'log 0: c_lens of ABI 1.0 is made\nC Means, relu, mean: 1.5\nC Means, relu, steps: 0\nc_large_mean: the mean is above the limit' ;;
    cpp_*) lens=cpp_lens expected=$'C++ Means, relu, mean: 1.5\nC++ Means, relu, median: 1.5\nC++ Means, relu, steps: 0\ncpp_large_mean: the mean is above the limit' ;;
    whole_*) lens=none expected="no lens 'none' in $plugin: it has none" ;; # the plugin needs more than this host has, so the host only opens it
    rust*) lens=rust_lens expected=$'Rust Means, relu, mean: 1.5' ;;
    *) printf '%s: this script does not know the plugin\n' "$plugin" && exit 1 ;;
  esac
  printed=$("${host[@]}" "$plugin" "$lens" 2>&1) || true
  if [[ $printed == *"libc++.so.1: cannot open"* ]]; then
    printf '%s: skipped, because there is no libc++.so.1\n' "$plugin"
    continue
  fi
  [[ $printed == "$expected" ]] || { printf '%s\nexpected: %s\nprinted:  %s\n' "$plugin" "$expected" "$printed" && exit 1; }
  ((++run))
done
((run >= 4)) || { printf 'in %s, only %s plugins ran\n' "$folder" "$run" && exit 1; }
printf '%s frozen plugins ran\n' "$run"
