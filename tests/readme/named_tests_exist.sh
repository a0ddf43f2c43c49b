#!/usr/bin/env bash
# Every test that the table of what works names is there.
set -euo pipefail
root=$1
missing=0
count=0
while read -r name; do
  count=$((count + 1))
  if ! grep -rqE "^TEST(_F|_P)?\(${name%.*}, ${name#*.}\)" "$root/tests" --include='*.cpp'; then
    echo "tests/README.md names the test $name, which is not there"
    missing=1
  fi
done < <(grep -oE '`[A-Z][A-Za-z]+\.[A-Za-z]+`' "$root/tests/README.md" | tr -d '`' | sort -u)
echo "$count tests named"
((count > 30 && missing == 0))
