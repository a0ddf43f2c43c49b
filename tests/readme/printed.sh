# What README.md prints, for the scripts that run it as it is printed. Sourced by them; fail is theirs.
# shellcheck shell=bash

# printed_block README PATTERN: its first block of C++ that matches.
printed_block() {
  awk -v pattern="$2" '/^```cpp$/ { block = ""; inside = 1; next }
    /^```$/ { if (inside && block ~ pattern) { printf "%s", block; found = 1; exit } inside = 0 }
    inside { block = block $0 "\n" }
    END { exit !found }' "$1" || fail "README.md has no C++ block with $2"
}

# printed_commands README WAY: the commands that "Get it" prints for this way, which begins with **WAY**.
printed_commands() {
  awk -v way="**$2**" '
    /^## / { here = $0 == "## Get it" }
    !here { next }
    /^\*\*/ { mine = index($0, way) == 1 }
    mine && /^    / { print substr($0, 5) }
  ' "$1"
}

# run_printed README WAY MADE: runs these as they are printed. The first must begin with MADE: what it makes is there already.
run_printed() {
  local commands
  commands=$(printed_commands "$1" "$2")
  [[ $commands == "$3"* && $commands == *$'\n'* ]] ||
    fail "README.md must print several commands for '$2', beginning with '$3'"
  bash -euo pipefail -c "${commands#*$'\n'}" || fail "what README.md prints for '$2' does not work"
}
