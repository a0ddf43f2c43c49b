#!/usr/bin/env bash
# Installs the packages in this folder, uses them as readers of README.md do, and removes them, on a Debian without Loupe.
# The folder also has: the packages in build-package, README.md, and a trainer that was built without Loupe.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./printed.sh

fail() {
  echo "error: $*" >&2
  exit 1
}
say() { printf 'package: %s\n' "$*"; }
apt_get() {
  if ! apt-get -qq -o Dpkg::Use-Pty=0 "$@" >apt.log 2>&1; then
    cat apt.log >&2
    fail "apt-get $1 failed; see its output above"
  fi
}
# The files of Loupe in the folders that packages use.
traces() {
  local folders=(/bin /etc /lib /opt /sbin /usr /var/lib)
  find "${folders[@]}" -xdev -iname '*loupe*' -print 2>/dev/null | sort
}

own=(loupe loupe-tools loupe-plugins libloupe-host1 libloupe-listeners1 libloupe-testing1 libloupe-dev)
if dpkg-query --show "${own[@]}" >/dev/null 2>&1; then fail "Loupe is installed here already; remove it first"; fi
before=$(traces)

# The script runs as root already, and answers yes to all questions.
sudo() { "$@"; }
export -f sudo
cat >apt.conf <<'END'
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
DPkg::Lock::Timeout "600";
DPkg::Options { "--force-unsafe-io"; };
END
export APT_CONFIG=$PWD/apt.conf DEBIAN_FRONTEND=noninteractive OMP_NUM_THREADS=1
apt_get update
start=$SECONDS
(run_printed README.md "Debian packages" "tests/package.sh deb") >printed.log 2>&1 || { cat printed.log >&2 && exit 1; }
say "from apt install to the first report: $((SECONDS - start)) s"
[[ -s loupe-runs/trainer/report.html && -s loupe-runs/trainer/record.jsonl ]] ||
  fail "there is no report of the run: $(cat printed.log)"
loupe diagnose loupe-runs/trainer >/dev/null || fail "diagnose reports an error for the run of a sound trainer"

# Each command has a manual page, and the completions of each shell know it.
mapfile -t commands < <(loupe --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p')
((${#commands[@]} > 10)) || fail "loupe --help lists no commands"
for command in "${commands[@]}"; do
  for file in /usr/share/{bash-completion/completions/loupe,zsh/vendor-completions/_loupe}; do
    grep -qw -- "$command" "$file" || fail "$file does not know '$command'"
  done
  dpkg -L loupe | grep -qx "/usr/share/man/man1/loupe-$command.1.gz" || fail "loupe-$command has no page"
done

dpkg -L loupe | grep -qx /usr/share/man/man5/loupe.yaml.5.gz || fail "the configuration has no page"

# Builds the lens printed in README.md.
apt_get install g++ cmake make pkg-config
mkdir lens
printed_block README.md 'LOUPE_PLUGIN\(' >lens/dead_units.cpp
cat >lens/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(dead_units CXX)
find_package(loupe REQUIRED)
loupe_add_plugin(dead_units dead_units.cpp)
END
if ! { cmake -S lens -B lens/build && cmake --build lens/build; } >cmake.log 2>&1; then
  cat cmake.log >&2
  fail "the lens of README.md cannot be built"
fi
loupe check lens/build/dead_units.so
# shellcheck disable=SC2046 # the flags must be split into words
c++ -std=c++17 $(pkg-config --cflags loupe-sdk) lens/dead_units.cpp $(pkg-config --libs loupe-sdk) -o lens/dead_units.so
LOUPE_PLUGIN_PATH=$PWD/lens loupe describe dead_units >/dev/null

mapfile -t files < <(dpkg -L "${own[@]}" | grep -i loupe | sort -u)
apt_get purge libloupe-dev libloupe-listeners1 libloupe-testing1 loupe-tools
# The remaining packages can still watch programs.
if loupe check --rules 2>tools.log; then fail "loupe check runs without its package"; fi
grep -q 'install the package loupe-tools' tools.log || fail "loupe check does not say what it needs: $(cat tools.log)"
./trainer 2 >plain.txt
loupe run --require --out alone ./trainer 2 >watched.txt 2>watched.log || fail "loupe run: $(cat watched.log)"
cmp plain.txt watched.txt || fail "the trainer's output differs while it is watched"
apt_get purge loupe libloupe-host1 loupe-plugins
for file in "${files[@]}"; do [[ ! -e $file ]] || fail "$file was not removed"; done
after=$(traces)
[[ $after == "$before" ]] || fail "these files were not removed: $(diff <(echo "$before") <(echo "$after"))"
if dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "${own[@]}" 2>/dev/null | grep -v not-installed; then
  fail "dpkg still lists a package of Loupe"
fi
say "${#files[@]} files and folders were installed, used, and removed without a trace"
