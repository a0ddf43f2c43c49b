#!/usr/bin/env bash
# Checks that every complete configuration in the pages is valid.
#   yaml_is_valid.sh LOUPE FOLDER PAGE...
set -euo pipefail
loupe=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
count=0
for page in "$@"; do
  awk -v folder="$folder" '/^```yaml$/ { block = ""; inside = 1; next }
    /^```$/ { if (inside && block ~ /^loupe: /) printf "%s", block >(folder "/" ++count ".yaml"); inside = 0 }
    inside { block = block $0 "\n" }' "$page"
  for file in "$folder"/*.yaml; do
    if ! "$loupe" validate "$file"; then
      echo "$page shows the configuration above, which is not valid"
      exit 1
    fi
    count=$((count + 1))
  done
  rm -f "$folder"/*.yaml
done
((count >= 2))
