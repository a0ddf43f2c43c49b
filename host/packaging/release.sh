#!/usr/bin/env bash
# Prepares a release in a clean checkout: the version everywhere, the changelog's date, what a first minor version freezes, all
# tests, and the packages. Publishes nothing: it ends with a commit, and says what is left to do. Needs root and Debian 12.
#   host/packaging/release.sh VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { echo "error: $*" >&2 && exit 1; }
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "VERSION is missing, such as 1.0.0"
[[ -z $(git status --porcelain) ]] || fail "the checkout is not clean: git status"
minor=${version%.*}
changelog=sdk/CHANGELOG.md
before=$(sed -n 's/^project(loupe VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[[ -n $before ]] || fail "CMakeLists.txt does not say which version it is"

# The version, wherever the one before is told.
mapfile -t files < <(git grep -lF "$before" -- CMakeLists.txt README.md host plugins sdk ':!sdk/CHANGELOG.md' ':!sdk/rust/Cargo.lock')
sed -i "s/${before//./\\.}/$version/g" "${files[@]}"
sed -i "s/SOVERSION [0-9]*/SOVERSION ${version%%.*}/" host/CMakeLists.txt

heading="## $minor, not released yet"
if [[ $version == "$minor.0" ]]; then
  grep -qxF "$heading" "$changelog" || fail "$changelog has no heading '$heading'"
  sed -i "s/^$heading\$/## $minor, $(date -u +%F)/" "$changelog"
  if [[ ! -e tests/abi/$minor/SHA256SUMS ]]; then tests/abi/freeze.sh "$minor"; fi
fi

.ci/run
if [[ $version == "$minor.0" && ! -s tests/promises/$minor/promises.txt ]]; then
  tests/promises/promises.py --write build-ci/1.13/bin/loupe "tests/promises/$minor"
fi
tests/package.sh deb
git add -A
git commit --quiet --message "Loupe $version"
cat <<END
Loupe $version is committed, and its packages lie where tests/package.sh says. What is left:
  git tag -s v$version && git push origin HEAD v$version
  the packages and wheels, to where users take them from
END
