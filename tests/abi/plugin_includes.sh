#!/usr/bin/env bash
# Checks that a built-in plugin is written like an outsider's: it includes only the SDK, its own folder, the system, and
# libraries that its CMakeLists.txt names, and nothing of another plugin, of the host or of LibTorch. A plugin that links
# loupe_internal may also include headers that are private to the host and its built-in plugins.
#   plugin_includes.sh PLUGINS_FOLDER PLUGIN SDK_INCLUDE_FOLDER
set -euo pipefail
export LC_ALL=C
plugins=$1 plugin=$2 sdk=$3

found=false bad=0
refuse() {
  printf '%s: %s: %s\n' "$1" "$2" "$3"
  bad=1
}
while IFS=: read -r file include; do
  found=true
  name=${include#?} name=${name%?}
  case $include in
    \"*)
      own=$plugins/$name
      [[ -f $own ]] || own=$(dirname "$file")/$name
      [[ -f $own && $(realpath "$own") == "$(realpath "$plugins/$plugin")"/* ]] ||
        refuse "$file" "$include" "it is not in the plugin's own folder"
      ;;
    "<loupe/internal/"*) grep -q loupe_internal "$plugins/$plugin/CMakeLists.txt" ||
      refuse "$file" "$include" "the plugin does not link loupe_internal" ;;
    "<loupe/"*) [[ -f $sdk/$name ]] || refuse "$file" "$include" "the SDK has no such header" ;;
    "<torch/"* | "<ATen/"* | "<c10/"*) refuse "$file" "$include" "no plugin knows LibTorch" ;;
    "<sys/"*) ;;
    "<"*/*) grep -qiF "${name%%/*}" "$plugins/$plugin/CMakeLists.txt" ||
      refuse "$file" "$include" "the plugin links no such library" ;;
  esac
done < <(grep -rHoE --include='*.h' --include='*.cpp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*("[^"]+"|<[^>]+>)' \
  "$plugins/$plugin" | sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/:/')
$found || refuse "$plugins/$plugin" "no include is found" "is it a plugin's folder?"
exit $bad
