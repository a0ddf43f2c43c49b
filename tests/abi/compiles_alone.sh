#!/usr/bin/env bash
# Compiles a source that only includes one header, and fails on a warning.
#   compiles_alone.sh COMPILER LANGUAGE STANDARD INCLUDE-FOLDER HEADER [COMPILER-ARGUMENTS...]
set -euo pipefail
"$1" -x "$2" "-std=$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$4" "${@:6}" - <<<"#include <$5>"
