#!/usr/bin/env bash
# Compiles a source with a macro or a compiler option, which must fail for the given reason. Without
# macro and reason, it must compile: the positive control.
#   run.sh COMPILER INCLUDE-FOLDER SOURCE [MACRO EXTENDED-REGEX]
set -euo pipefail
export LC_ALL=C
compiler=$1 include=$2 source=$3 macro=${4:-} reason=${5:-}
compile() { "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include" "$@" "$source" 2>&1; }

if [[ -z $macro ]]; then
  compile
  exit
fi
[[ $macro == -* ]] || macro=-D$macro
if messages=$(compile "$macro"); then
  printf 'the source compiles with %s, and must not\n' "$macro"
  exit 1
fi
if ! grep -Eq -- "$reason" <<<"$messages"; then
  printf '%s\nit fails with %s, but not for the reason: %s\n' "$messages" "$macro" "$reason"
  exit 1
fi
