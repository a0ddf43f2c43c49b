#!/usr/bin/env bash
# Makes the packages of one kind, and tries them: tests/package.sh wheel, tests/package.sh deb; --help after it says more.
exec "$(dirname "${BASH_SOURCE[0]}")/package/${1:?a kind of package is needed: wheel or deb}.sh" "${@:2}"
