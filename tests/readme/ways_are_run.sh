#!/usr/bin/env bash
# Whatever README.md prints to get Loupe is run, by CI or by the nightly script: the commands of a way as they are printed,
# or each of them, with options for where and how much.
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
  # What the others of such a way need is made by the first, which CI asks to try them.
  if grep -qE "^[^#]*run_printed .*\"$way\"" tests/package/*.sh; then
    read -r -a first <<<"${commands[0]}"
    commands=("${first[*]:0:2}")
  fi
  # All of these, from the first to the last, in a folder that is empty.
  if grep -qE "^[^#]*printed_commands .*README.md\"? \"$way\" \| from_here" tests/nightly.sh; then continue; fi
  for command in "${commands[@]}"; do
    [[ -x ${command%% *} ]] || fail "README.md prints '$command', and there is no ${command%% *}"
    if grep -qE "^[^#]*\<$command\>" .ci/run tests/nightly.sh; then continue; fi
    fail "README.md prints '$command' for '$way', which neither .ci/run nor tests/nightly.sh runs"
done
done
