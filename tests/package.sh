#!/usr/bin/env bash
# Makes and tries the packages of one kind: tests/package.sh wheel, tests/package.sh deb; add --help for the options.
exec "$(dirname "${BASH_SOURCE[0]}")/package/${1:?a kind of package is needed: wheel or deb}.sh" "${@:2}"
