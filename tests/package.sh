#!/usr/bin/env bash
# Makes the packages of one kind, and tries them: tests/package.sh deb, with --help for more.
exec "$(dirname "${BASH_SOURCE[0]}")/package/${1:?a kind of package is needed: deb}.sh" "${@:2}"
