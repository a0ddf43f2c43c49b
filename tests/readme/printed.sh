# Reads code and commands from README.md, for scripts that run them unchanged. Sourced by scripts that define fail.
# shellcheck shell=bash

# printed_code PAGE LANGUAGE PATTERN: prints the page's first block of code in this language that matches.
printed_code() {
  awk -v begin="\`\`\`$2" -v pattern="$3" '$0 == begin { block = ""; inside = 1; next }
    /^```$/ { if (inside && block ~ pattern) { printf "%s", block; found = 1; exit } inside = 0 }
    inside { block = block $0 "\n" }
    END { exit !found }' "$1" || fail "$1 has no block of $2 with $3"
}
printed_block() { printed_code "$1" cpp "$2"; }
printed_cmake() { printed_code "$1" cmake "$2"; }

# printed_commands README WAY: prints the commands in "Get it" for this way, whose text begins with **WAY**.
printed_commands() {
  awk -v way="**$2**" '
    /^## / { here = $0 == "## Get it" }
    !here { next }
    /^\*\*/ { mine = index($0, way) == 1 }
    mine && /^    / { print substr($0, 5) }
  ' "$1"
}

# run_printed README WAY MADE: runs these commands unchanged, except for the first, MADE, whose result exists already.
run_printed() {
  local commands
  commands=$(printed_commands "$1" "$2")
  [[ $commands == "$3"* && $commands == *$'\n'* ]] ||
    fail "README.md must print several commands for '$2', beginning with '$3'"
  bash -euo pipefail -c "${commands#*$'\n'}" || fail "what README.md prints for '$2' does not work"
}

# README.md prints this address for Loupe's repository.
printed_address="https://github.com/ORG/loupe"

# publish PROJECT REPOSITORY: makes a repository of the project's files, with the tag of its version, which replaces
# the printed address. Its folder must be called loupe, like the end of the address.
publish() {
  local version git=(git -C "$2" -c user.name=loupe -c user.email=loupe@localhost -c init.defaultBranch=main)
  version=$(sed -n 's/^#define LOUPE_VERSION "\(.*\)"$/\1/p' "$1/host/include/loupe/version.h")
  mkdir -p "$2"
  # Take the files of the checkout with uncommitted changes; from a copy without a history, all files except builds.
  if git -C "$1" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$1" ls-files -z --cached --others --exclude-standard
  else
    (cd "$1" && find . \( -path './build*' -o -name .git \) -prune -o -type f -print0)
  fi | tar --create --directory="$1" --null --files-from=- --ignore-failed-read --file=- 2>/dev/null |
    tar --extract --directory="$2"
  "${git[@]}" init --quiet && "${git[@]}" add --all --force && "${git[@]}" commit --quiet --message="as it is" &&
    "${git[@]}" tag "v$version"
}

# from_here REPOSITORY: a filter that replaces the printed address by this repository.
from_here() { sed "s,$printed_address,$1,g"; }
