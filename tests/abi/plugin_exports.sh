#!/usr/bin/env bash
# Checks that a plugin exports only its entry, finds every symbol that it uses in the system's libraries, and
# does not depend on LibTorch or on the host.
#   plugin_exports.sh PLUGIN.so
set -euo pipefail
export LC_ALL=C
plugin=$1
fail() {
  printf '%s: %s\n' "$plugin" "$*"
  exit 1
}

exported=$(nm -D --defined-only --format=posix "$plugin" | cut -d ' ' -f 1)
[[ $exported == loupe_plugin_entry ]] || fail "it exports: ${exported//$'\n'/ }"

needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if grep -Eq '^lib(torch|c10|caffe2|loupe)' <<<"$needed"; then fail "it links: ${needed//$'\n'/ }"; fi

# The program provides a sanitizer's own symbols.
unresolved=$(ldd -r "$plugin" 2>&1 | grep -E 'undefined symbol|not found' | grep -Ev 'symbol: __(asan|ubsan|sanitizer|lsan)_' || true)
[[ -z $unresolved ]] || fail "$unresolved"
