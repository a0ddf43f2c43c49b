#!/usr/bin/env bash
# Prepares a release in a clean checkout: sets the version everywhere and the date in the changelog, freezes the files of a new
# minor version, runs all tests, and builds the packages. Publishes nothing: makes a commit and prints the remaining steps.
# Needs root and Debian 12. Usage: host/packaging/release.sh VERSION [--unchecked]
# --unchecked leaves out the tests and packages, which take hours, if CI has made them of this commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { echo "error: $*" >&2 && exit 1; }
version=${1:-} checks=true
if [[ ${2:-} == --unchecked ]]; then checks=false; fi
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "VERSION is missing, such as 1.0.0"
[[ -z $(git status --porcelain) ]] || fail "the checkout is not clean: git status"
minor=${version%.*} major=${version%%.*}
changelog=sdk/CHANGELOG.md promises=tests/promises/$minor
if [[ $version == "$minor.0" && ! (-e $promises/run && -e $promises/good.yaml && -e $promises/yaml) ]]; then
  fail "$promises has no run/, good.yaml and yaml/: a record, a YAML with all that $minor has, and configs/*.yaml, which later versions must read"
fi

# Set the version in all files that contain it: tests/structure/check.py has the list and compares them with the first one.
sed -Ei "s/^(#define LOUPE_VERSION )\".*\"/\1\"$version\"/" host/include/loupe/version.h
sed -Ei "s/(GIT_TAG v)[0-9.]+\)/\1$version)/" README.md
sed -Ei "s/^version = \"[0-9.]+\"/version = \"$version\"/" sdk/rust/Cargo.toml
sed -Ei "s/(loupe-)[0-9.]+(\+torch)/\1$version\2/" host/packaging/README.md
sed -Ei "s/^(  version: )\".*\"/\1\"$version\"/" host/packaging/conda/recipe.yaml
sed -Ei "s/(libloupe_host\.so\.)[0-9]+/\1$major/" host/optional/preload/boundary.h host/packaging/conda/recipe.yaml
sed -Ei "s/(libloupe-(host|listeners|testing))[0-9]+/\1$major/g" tests/package/deb.sh tests/package/installed.sh

git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null && fail "v$version is tagged already"
sed -Ei "s/^(## ${version//./\\.}), (not released yet|[0-9-]+)$/\1, $(date -u +%F)/" "$changelog"
grep -qE "^## ${version//./\\.}, $(date -u +%F)$" "$changelog" || fail "$changelog has no heading '## $version, not released yet'"
python3 tests/structure/check.py .
if [[ $version == "$minor.0" && ! -e tests/abi/$minor/SHA256SUMS ]] &&
  [[ $minor == "$(sed -nE 's/^#define LOUPE_ABI_(MAJOR|MINOR) ([0-9]+)u$/\2/p' sdk/include/loupe/abi/entry.h | paste -sd.)" ]]; then
  tests/abi/freeze.sh "$minor"
fi

if $checks; then .ci/run; fi
if [[ $version == "$minor.0" && ! -s $promises/promises.txt ]]; then
  [[ -x build-tests/bin/loupe ]] || fail "build-tests/bin/loupe is missing; the test of the promises of $minor needs it: build it by .ci/run"
  tests/promises/promises.py --write build-tests/bin/loupe "$promises"
fi
# Copy the packages that "Get it" on the front page names into the folder that it names. CI has built and tested the wheel.
if $checks; then
  tests/package.sh deb
  cp build-2.14/packages/loupe-"$version"*.whl build-package/packages
fi
git add -A
if ! git diff --cached --quiet; then git commit --quiet --message "Loupe $version"; fi
cat <<END
Loupe $version is committed. With checks, its wheel and Debian packages lie in build-package/packages. What is left:
  git tag -s v$version && git push origin HEAD v$version
  the packages and wheels, to where users take them from
END
