#!/usr/bin/env bash
# Makes Debian packages, checks them with lintian, and tries them in a Debian without Loupe.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/setup.sh"
source "$root/tests/bare.sh"

usage() {
  cat <<'END'
usage: tests/package.sh deb [--build FOLDER] [--root FOLDER] [--only-make]

Writes loupe, loupe-tools, loupe-plugins, libloupe-host1, libloupe-listeners1, libloupe-testing1 and libloupe-dev to FOLDER/packages, for the system and the
LibTorch of the build. Their maintainer comes from DEBFULLNAME and DEBEMAIL, or else from git's user.
  --build FOLDER  make them from this build folder, with any configuration (default: build-package)
  --root FOLDER   try them in this bare Debian, made by debootstrap, instead of on this machine
  --only-make     do not try them, which needs root
END
}

build="" debian="" tries=true
while (($#)); do
  case $1 in
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --root) debian=${2:?--root needs a folder} && shift 2 ;;
    --only-make) tries=false && shift ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
if $tries && ((EUID != 0)); then fail "only root can install packages; run this as root, or with --only-make"; fi
cd "$root"

if [[ -z $build ]]; then
  build="build-package"
  set_up
  use_compiler_cache
  configure "$build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON -DCMAKE_INSTALL_PREFIX=/usr
else
  [[ -f $build/CMakeCache.txt ]] || fail "'$build' is not a build folder: CMake has not configured it"
fi
torch_is_debians=false
packages=$(
  cat <<'END'
dpkg-dev                says which packages the libraries are from
file                    says which files are libraries
lintian                 knows the rules of Debian's packages
END
)
install_packages
say "making the packages in $build/packages"
build=$(cd "$build" && pwd)
# The folder of libraries in Debian's packages; everything that depends on it is compiled again.
libraries=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cmake -S "$root" -B "$build" -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_INSTALL_LIBDIR=$libraries" >"$build/package.log" 2>&1 ||
  { cat "$build/package.log" >&2 && fail "CMake could not configure $build"; }
cmake --build "$build" --parallel "$(default_jobs)" \
  --target loupe loupe_host loupe_listeners loupe_parts loupe_run loupe_testing loupe_plugins loupe_debian digits_plain
rm -rf "$build"/packages/*.deb
cmake -E chdir "$build" cpack -G DEB >>"$build/package.log" 2>&1 ||
  { cat "$build/package.log" >&2 && fail "cpack could not make the packages"; }
rm -rf "$build/packages/_CPack_Packages"
ls -l "$build/packages"

lintian=(lintian --allow-root --fail-on "error,warning")
if grep -q '^LOUPE_PACKAGE_MAINTAINER:.*@localhost>$' "$build/CMakeCache.txt"; then
  # Neither DEBEMAIL nor git names the maintainer, and lintian rightly warns that nobody can write to the placeholder.
  lintian+=(--suppress-tags "bogus-mail-host,bogus-mail-host-in-debian-changelog")
fi
"${lintian[@]}" "$build"/packages/*.deb || fail "lintian found faults in the packages; see its output above"

$tries || exit 0
work=$(mktemp -d "${debian:+$debian}/var/tmp/package-check.XXXXXX")
data=$root/examples/data/digits.csv
clean() {
  rm -rf "$work"
  if [[ -n $debian ]]; then
    rm -f "$debian$data"
    rmdir --parents --ignore-fail-on-non-empty "$debian${data%/*}"
  fi
}
trap clean EXIT
chmod 755 "$work"
mkdir -p "$work/build-package/packages"
cp "$build"/packages/*.deb "$work/build-package/packages"
cp "$build/bin/digits_plain" "$work/trainer"
cp README.md tests/package/installed.sh tests/readme/printed.sh "$work"
# The trainer expects its data at their path in this tree.
if [[ -n $debian ]]; then
  mkdir -p "$debian${data%/*}" && cp "$data" "$debian$data"
fi
if [[ -z $debian ]]; then
  packages_here() { dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort; }
  before=$(packages_here)
  "$work/installed.sh"
  # Remove the packages that were installed as dependencies, so that this machine is as before.
  mapfile -t new < <(comm -13 <(echo "$before") <(packages_here))
  if ((${#new[@]} > 0)); then apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 purge -y "${new[@]}"; fi
else
  cp /etc/resolv.conf "$debian/etc/resolv.conf"
  in_bare "$debian" "${work#"$debian"}/installed.sh"
fi
