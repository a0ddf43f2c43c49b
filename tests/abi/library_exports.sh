#!/usr/bin/env bash
# Checks that a library of Loupe's exports only its own names, and not those of its dependencies: a plugin or a trainer may
# have different versions of those.
#   library_exports.sh LIBRARY.so
set -euo pipefail
export LC_ALL=C
exported=$(nm -DC --defined-only --format=posix "$1" | sed -E 's/@@.* [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$//' | grep -v '^LOUPE_')
[[ $(wc -l <<<"$exported") -gt 20 ]] || { printf 'it exports hardly anything:\n%s\n' "$exported" && exit 1; }
others=$(grep -vE '^((typeinfo|typeinfo name|vtable|VTT|guard variable|.*thunk to) ?(for )?)?loupe(::|_)' <<<"$exported" || true)
[[ -z $others ]] || { printf 'it exports names of other libraries:\n%s\n' "$others" && exit 1; }
