#!/usr/bin/env bash
# The README's lens, taken out of it as it is printed, must compile as an outsider would compile it and pass `loupe check`.
#   lens_compiles.sh PROJECT COMPILER LOUPE FOLDER
set -euo pipefail
project=$1 compiler=$2 loupe=$3 folder=$4
mkdir -p "$folder"
awk '/^```cpp$/ { block = ""; inside = 1; next } /^```$/ { if (inside && block ~ /LOUPE_PLUGIN\(/) { printf "%s", block; exit }
  inside = 0 } inside { block = block $0 "\n" }' "$project/README.md" >"$folder/dead_units.cpp"
if [[ ! -s $folder/dead_units.cpp ]]; then
  echo "the README has no C++ block that ends by LOUPE_PLUGIN"
  exit 1
fi
"$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden \
  -Wl,-z,defs "-Wl,--version-script=$project/sdk/cmake/plugin.map" -I "$project/sdk/include" \
  -o "$folder/dead_units.so" "$folder/dead_units.cpp"
"$loupe" check "$folder/dead_units.so"
