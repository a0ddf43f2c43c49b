# What README.md prints, for the scripts that run it as it is printed. Sourced by them; fail is theirs.
# shellcheck shell=bash

# printed_code PAGE LANGUAGE PATTERN: its first block of code in that language that matches.
printed_code() {
  awk -v begin="\`\`\`$2" -v pattern="$3" '$0 == begin { block = ""; inside = 1; next }
    /^```$/ { if (inside && block ~ pattern) { printf "%s", block; found = 1; exit } inside = 0 }
    inside { block = block $0 "\n" }
    END { exit !found }' "$1" || fail "$1 has no block of $2 with $3"
}
printed_block() { printed_code "$1" cpp "$2"; }
printed_cmake() { printed_code "$1" cmake "$2"; }

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

# The address that README.md prints for the one where its reader found Loupe.
printed_address="https://github.com/ORG/loupe"

# publish PROJECT REPOSITORY: makes a repository of what lies in the project, with the tag of its version, to be cloned from
# there in place of the address that README.md prints. Its folder is to be called loupe, as the address ends.
publish() {
  local version git=(git -C "$2" -c user.name=loupe -c user.email=loupe@localhost -c init.defaultBranch=main)
  version=$(sed -n 's/^#define LOUPE_VERSION "\(.*\)"$/\1/p' "$1/host/include/loupe/version.h")
  mkdir -p "$2"
  # As a checkout has it, changes that nobody committed included; a copy without a history is taken but for what was built.
  if git -C "$1" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$1" ls-files -z --cached --others --exclude-standard
  else
    (cd "$1" && find . \( -path './build*' -o -name .git \) -prune -o -type f -print0)
  fi | tar --create --directory="$1" --null --files-from=- --ignore-failed-read --file=- 2>/dev/null |
    tar --extract --directory="$2"
  "${git[@]}" init --quiet && "${git[@]}" add --all --force && "${git[@]}" commit --quiet --message="as it is" &&
    "${git[@]}" tag "v$version"
}

# from_here REPOSITORY: a filter for what README.md prints, which takes Loupe from this repository.
from_here() { sed "s,$printed_address,$1,g"; }
