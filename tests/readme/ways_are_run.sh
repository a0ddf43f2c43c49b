#!/usr/bin/env bash
# Checks that CI or the nightly script runs every printed way to get Loupe: either all commands unchanged,
# or each of them, with additional options.
#   ways_are_run.sh PROJECT
set -euo pipefail
cd "$1"
fail() {
  echo "$*" >&2
  exit 1
}
source tests/readme/printed.sh

mapfile -t ways < <(sed -n '/^## Get it$/,/^## /s/^\*\*\([^*]*\)\*\*.*/\1/p' README.md)
((${#ways[@]} == 3)) || fail "README.md has ${#ways[@]} ways to get Loupe: ${ways[*]}"
for way in "${ways[@]}"; do
  mapfile -t commands < <(printed_commands README.md "$way" | sed 's/ *#.*//')
  ((${#commands[@]} > 0)) || fail "README.md prints no commands for '$way'"
  # The first command makes the files for the others, and CI runs it with an option to try the others.
  if grep -qE "^[^#]*run_printed .*\"$way\"" tests/package/*.sh; then
    read -r -a first <<<"${commands[0]}"
    commands=("${first[*]:0:2}")
  fi
  # The nightly script runs all commands of this way in an empty folder.
  if grep -qE "^[^#]*printed_commands .*README.md\"? \"$way\" \| from_here" tests/nightly.sh; then continue; fi
  for command in "${commands[@]}"; do
    [[ -x ${command%% *} ]] || fail "README.md prints '$command', and there is no ${command%% *}"
    if grep -qE "^[^#]*\<$command\>" .ci/run tests/nightly.sh; then continue; fi
    fail "README.md prints '$command' for '$way', which neither .ci/run nor tests/nightly.sh runs"
done
done
