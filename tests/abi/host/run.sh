#!/usr/bin/env bash
# Checks that the host in C runs a lens, and prints the expected text. PLUGIN is a plugin, or a source that the command
# after it compiles, or a script that builds LENS.so into a folder.
#   run.sh HOST INCLUDE-FOLDER LENS EXPECTED PLUGIN [COMPILER ARGUMENTS...]
set -euo pipefail
host=$1 include=$2 lens=$3 expected=$4 plugin=$5
if [[ $plugin != *.so ]]; then
  folder=$(mktemp -d)
  trap 'rm -r "$folder"' EXIT
  case $plugin in
    *.sh) "$plugin" "$folder" ;;
    *) "${@:6}" -fPIC -shared -fvisibility=hidden -I "$include" -o "$folder/$lens.so" "$plugin" ;;
  esac
  plugin=$folder/$lens.so
fi
printed=$("$host" "$plugin" "$lens")
[[ $printed == "$expected" ]] || { printf 'expected: %s\nprinted:  %s\n' "$expected" "$printed" && exit 1; }
