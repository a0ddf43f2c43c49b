#!/usr/bin/env bash
# Runs one check of an installed Loupe: check.sh NAME, with the variables that CMakeLists.txt in this folder sets.
set -euo pipefail

name=$1
prefix=${LOUPE_PREFIX:-$LOUPE_WORK/moved}
folder=$LOUPE_WORK/$name
package="find_package(loupe REQUIRED PATHS $prefix NO_DEFAULT_PATH"
# Programs that use libraries with AddressSanitizer need it too.
export CFLAGS=$LOUPE_SANITIZER CXXFLAGS=$LOUPE_SANITIZER
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

fail() {
  echo "error: $*" >&2
  exit 1
}

# project LINES: writes a CMake project with these lines.
project() {
  printf '%s\n' 'cmake_minimum_required(VERSION 3.18)' "$1" >CMakeLists.txt
}

configure() { "$LOUPE_CMAKE" -S . -B build "$@"; }
build() { "$LOUPE_CMAKE" --build build; }

plugin() {
  cat >x.cpp <<'END'
#include <loupe/plugin.h>
struct X : loupe::LayerLens {
  static constexpr const char* name = "x";
  static constexpr const char* help = "nothing";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    if (takes(module, loupe::is_activation(module))) each(module, "forward", [](const loupe::Event&) { return 0.0; });
  }
};
LOUPE_PLUGIN("x", "1", X);
END
}

can_be_moved() {
  rm -rf "$prefix" "$prefix.before"
  "$LOUPE_CMAKE" --install "$LOUPE_BUILD" --prefix "$prefix.before" >/dev/null
  mv "$prefix.before" "$prefix"
  if grep -rlF "$prefix.before" "$prefix/$LOUPE_LIBDIR/cmake" "$prefix/$LOUPE_LIBDIR/pkgconfig"; then
    fail "these files name the folder in which they were installed"
  fi
  # Write to a file: grep -q ends at the first hit, which would break the command's pipe.
  "$prefix/bin/loupe" list --long >log
  grep -qF "$prefix/$LOUPE_LIBDIR/loupe/plugins" log || fail "the command does not find its plugins"
  for part in "$prefix/$LOUPE_LIBDIR"/loupe/optional/*.so; do
    ldd "$part" >log
    grep -qF "libloupe_host.so.1 => $prefix/" log || fail "$part does not find its library: $(cat log)"
  done
}

sdk_needs_nothing() {
  plugin
  project "project(x CXX)
    set(CMAKE_DISABLE_FIND_PACKAGE_Torch ON)
    $package COMPONENTS sdk)
    if(TARGET torch OR TARGET yaml-cpp)
      message(FATAL_ERROR \"other components than the SDK were found\")
    endif()
    loupe_add_plugin(x x.cpp)"
  configure && build
  LOUPE_PLUGIN_PATH=build "$prefix/bin/loupe" describe x >log
  grep -q nothing log || fail "the plugin is not found"
}

testing_needs_no_libtorch() {
  cat >t.cpp <<'END'
#include <loupe/testing.h>
int main() {
  loupe::testing::Bench bench("lenses: [output_norm]");
  bench.forward(bench.module("r", "ReLU"), loupe::testing::tensor({3, 4}, {1, 2}));
  bench.tick();
  return bench.value("Output Norm", "r", "mean") == 5 ? 0 : 1;
}
END
  project "project(t CXX)
    set(CMAKE_DISABLE_FIND_PACKAGE_Torch ON)
    $package COMPONENTS testing)
    add_executable(t t.cpp)
    target_link_libraries(t PRIVATE loupe::testing)"
  configure && build && build/t
  if ldd build/t >log && grep -E 'lib(torch|c10)' log; then fail "the test links LibTorch"; fi
}

host_brings_libtorch() {
  cat >t.cpp <<'END'
#include <loupe/inspector.h>
#include <torch/torch.h>
int main() {
  auto inspector = loupe::Inspector::from_text("lenses: [output_norm]");
  torch::nn::Sequential model{torch::nn::ReLU()};
  inspector.attach(*model);
  model->forward(torch::ones({1, 4}));
  inspector.tick_epoch();
  return inspector.value("Output Norm", "0", "mean") == 2.0 ? 0 : 1;
}
END
  # The project sets a standard that is too old, which cxx_std_17 raises.
  project "project(t CXX)
    set(CMAKE_CXX_STANDARD 14)
    $package COMPONENTS host)
    get_target_property(features loupe::host INTERFACE_COMPILE_FEATURES)
    if(NOT features MATCHES \"cxx_std_17\")
      message(FATAL_ERROR \"loupe::host does not ask for C++17\")
    endif()
    add_executable(t t.cpp)
    target_link_libraries(t PRIVATE loupe::host)"
  configure "-DCMAKE_PREFIX_PATH=$LOUPE_TORCH" && build && build/t
}

host_refuses_another_libtorch() {
  libtorch other lib 9.9.0
  project "project(t CXX)
    $package COMPONENTS host)"
  if configure "-DCMAKE_PREFIX_PATH=$folder/other" >log 2>&1; then fail "CMake accepts a different LibTorch"; fi
  grep -q "was built with LibTorch" log || fail "CMake does not say that the LibTorch differs: $(cat log)"
}

pkg_config_finds_the_sdk() {
  command -v pkg-config >/dev/null || fail "pkg-config is not installed"
  plugin
  export PKG_CONFIG_PATH=$prefix/$LOUPE_LIBDIR/pkgconfig
  # shellcheck disable=SC2046 # the flags must be split into words
  "$CXX" -std=c++17 $(pkg-config --cflags loupe-sdk) x.cpp $(pkg-config --libs loupe-sdk) -o x.so
  "$prefix/bin/loupe" describe x --plugins x.so >log
  grep -q nothing log || fail "the plugin is not found"
  "$prefix/bin/loupe" check x.so
}

unknown_component_is_refused() {
  project "project(t CXX)
    $package COMPONENTS oracle)"
  if configure >log 2>&1; then fail "CMake finds a component that does not exist"; fi
  grep -q oracle log || fail "CMake does not say which component is missing"
}

new_refuses_wrong_names() {
  local wrong
  for wrong in Upper with-hyphen 1st _x x_ a__b ../x 'a b' é; do
    if "$prefix/bin/loupe" new lens "$wrong" >log 2>&1; then fail "'$wrong' is accepted as a name"; fi
    grep -q snake_case log || fail "it does not say what is wrong with '$wrong': $(cat log)"
  done
  if "$prefix/bin/loupe" new oracle x >log 2>&1; then fail "'oracle' is accepted as a kind"; fi
  grep -q "oracle" log || fail "it does not name the wrong kind"
  [[ $(ls) == log ]] || fail "it left files"
}

new_overwrites_nothing() {
  mkdir mine
  echo keep >mine/mine.cpp
  if "$prefix/bin/loupe" new lens mine >log 2>&1; then fail "it writes into a folder with files"; fi
  grep -q "'mine' already exists" log || fail "it does not say why: $(cat log)"
  [[ $(ls mine) == mine.cpp && $(cat mine/mine.cpp) == keep ]] || fail "it changed the folder"
  "$prefix/bin/loupe" new lens mine --out other
  [[ -f other/mine.cpp ]] || fail "it does not write to the folder of --out"
}

new_tells_of_a_name_that_is_taken() {
  "$prefix/bin/loupe" new lens health >log
  grep -q "a lens 'health' exists already" log || fail "it does not say that the name is taken: $(cat log)"
  "$prefix/bin/loupe" new visualizer health --out other_kind >log
  if grep -q "already" log; then fail "a visualizer may have a lens's name: $(cat log)"; fi
}

# made KIND FLAGS CMAKE-ARGUMENTS...: makes a new component, builds it and runs its test.
made() {
  local kind=$1 flag=$2
  shift 2
  # shellcheck disable=SC2086 # the flag is empty or one word
  "$prefix/bin/loupe" new "$kind" my_own_one $flag
  cd my_own_one
  if grep -rn '@[A-Za-z]*@' .; then fail "a placeholder of a template is left"; fi
  configure "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror $CFLAGS" \
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror $CXXFLAGS" "$@"
  build
  ctest --test-dir build --output-on-failure --no-tests=error
  "$prefix/bin/loupe" validate my_own_one.yaml
  "$prefix/bin/loupe" check build/my_own_one.so
}
new_lens_without_googletest() {
  made lens "" -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON "-DCMAKE_PROGRAM_PATH=$prefix/bin"
  [[ ! -e build/my_own_one_test ]] || fail "a test was built with GoogleTest"
}

# part LINES: a project that contains Loupe, with its own targets, standard and folders.
part() {
  cat >t.cpp <<'END'
#if __cplusplus >= 201703L && !defined(NEWER)
#error the project's own standard was changed
#endif
int main() { return 0; }
END
  plugin
  project "project(whole C CXX)
    set(CMAKE_CXX_STANDARD ${LOUPE_STANDARD:-14})
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY \${CMAKE_BINARY_DIR}/own)
    add_custom_target(csv)
    $1
    foreach(check \"CMAKE_CXX_STANDARD=${LOUPE_STANDARD:-14}\" \"CMAKE_BUILD_TYPE=\" \"CMAKE_RUNTIME_OUTPUT_DIRECTORY=\${CMAKE_BINARY_DIR}/own\"
                  \"CMAKE_LIBRARY_OUTPUT_DIRECTORY=\" \"LOUPE_BUILD_TESTS=OFF\" \"LOUPE_BUILD_EXAMPLES=OFF\")
      string(REGEX MATCH \"^([^=]*)=(.*)\$\" whole \"\${check}\")
      if(NOT \"\${\${CMAKE_MATCH_1}}\" STREQUAL \"\${CMAKE_MATCH_2}\")
        message(FATAL_ERROR \"\${CMAKE_MATCH_1} has become '\${\${CMAKE_MATCH_1}}'\")
      endif()
    endforeach()
    foreach(target sdk testing host listeners)
      if(NOT TARGET loupe::\${target})
        message(FATAL_ERROR \"there is no loupe::\${target}\")
      endif()
    endforeach()
    if(TARGET digits)
      message(FATAL_ERROR \"the examples are built\")
    endif()
    add_executable(t t.cpp)
    target_compile_definitions(t PRIVATE ${LOUPE_STANDARD:+NEWER})
    loupe_add_plugin(x x.cpp)"
  "$LOUPE_CMAKE" -S . -B build "-DCMAKE_PREFIX_PATH=$LOUPE_TORCH"
  "$LOUPE_CMAKE" --build build --target t x
  build/own/t
  [[ -n $(find build -name x.so) ]] || fail "the plugin was not built"
}

# trains LINES CMAKE-ARGUMENTS...: a project that gets Loupe by these lines of CMake, built from nothing, whose model
# learns while its own lens watches. Two of the ways build all of Loupe, which takes minutes without a compiler cache.
trains() {
  cat >trainer.cpp <<'END'
#include <loupe/inspector.h>
#include <torch/torch.h>
int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model{torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1)};
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  auto inspector = loupe::Inspector::from_yaml("monitor.yaml");
  inspector.attach(*model, optimizer);
  const auto input = torch::randn({32, 4}), target = input.sum(1, true);
  for ([[maybe_unused]] int epoch : inspector.epochs(60)) {
    optimizer.zero_grad();
    const auto loss = torch::mse_loss(model->forward(input), target);
    loss.backward();
    optimizer.step();
    inspector.push_loss(loss, true);
  }
  return inspector.loss(true).value_or(1) < 0.5 ? 0 : 1;
}
END
  printf '%s\n' 'loupe: 1' 'run: {dir: run}' 'plugins: {path: [lenses]}' 'lenses: [x, loss_metrics, health]' \
    'visualizers: [record, html]' >monitor.yaml
  plugin
  project "project(theirs C CXX)
    set(CMAKE_CXX_STANDARD ${LOUPE_STANDARD:-17})
    if(NOT CMAKE_BUILD_TYPE)
      set(CMAKE_BUILD_TYPE Release)
    endif()
    $1
    add_executable(trainer trainer.cpp)
    target_link_libraries(trainer PRIVATE loupe::host)
    loupe_add_plugin(x x.cpp)
    set_target_properties(x PROPERTIES LIBRARY_OUTPUT_DIRECTORY \${CMAKE_SOURCE_DIR}/lenses)
    if(TARGET loupe_plugins)
      add_dependencies(trainer loupe_plugins)
    endif()"
  configure -G Ninja "-DCMAKE_PREFIX_PATH=$LOUPE_TORCH" "${@:2}"
  build
  OMP_NUM_THREADS=1 build/trainer || fail "the model does not learn"
  grep -q '"tag":"X"' run/record.jsonl || fail "the record has no values of the lens"
  [[ -s run/report.html ]] || fail "there is no report"
}
trains_with_find_package() { trains "$package COMPONENTS host sdk)"; }
trains_with_add_subdirectory() { trains "add_subdirectory($LOUPE_SOURCE loupe)"; }
# Uses the committed sources. In CI a compiler cache knows sources by their folder, so the checkout is built instead
# of its clone, after comparing the two.
trains_with_fetch_content() {
  local head lines
  head=$(git -C "$LOUPE_SOURCE" rev-parse HEAD)
  lines="include(FetchContent)
    FetchContent_Declare(loupe GIT_REPOSITORY file://$LOUPE_SOURCE GIT_TAG $head)
    FetchContent_MakeAvailable(loupe)"
  if [[ -z ${CI:-} ]]; then
    trains "$lines"
    return
  fi
  project "project(theirs C CXX)
    $lines"
  configure -G Ninja "-DCMAKE_PREFIX_PATH=$LOUPE_TORCH"
  git -C "$LOUPE_SOURCE" ls-files | while read -r file; do
    cmp "$LOUPE_SOURCE/$file" "build/_deps/loupe-src/$file" || fail "$file differs from the committed one"
  done
  rm -rf build
  trains "$lines" "-DFETCHCONTENT_SOURCE_DIR_LOUPE=$LOUPE_SOURCE"
}

is_a_part_by_add_subdirectory() { part "add_subdirectory($LOUPE_SOURCE loupe)"; }
is_a_part_by_fetch_content() {
  part "include(FetchContent)
    FetchContent_Declare(loupe SOURCE_DIR $LOUPE_SOURCE)
    FetchContent_MakeAvailable(loupe)"
}

# libtorch FOLDER LIBRARIES VERSION: makes the files of a LibTorch that FindLibTorch.cmake reads, with this library folder.
libtorch() {
  local api=$1/include/torch/csrc/api/include/torch part=1 name
  mkdir -p "$api" "$1/$2"
  echo __cxx11 | tee "$1/$2/libtorch_cpu.so" >"$1/$2/libc10.so"
  for name in MAJOR MINOR PATCH; do
    echo "#define TORCH_VERSION_$name $(cut -d . -f $part <<<"$3")"
    ((part += 1))
  done >"$api/version.h"
}

# asks_for_libtorch ARGUMENTS...: runs FindLibTorch.cmake, and writes its result as a line of `log`.
asks_for_libtorch() {
  project "project(t CXX)
    include($LOUPE_SOURCE/host/cmake/FindLibTorch.cmake)
    message(STATUS \"<\${LOUPE_TORCH_VERSION}> <\${LOUPE_TORCH_PREFIX}> <\${LOUPE_TORCH_PROBLEM}>\")"
  rm -rf build
  configure "$@" >log 2>&1 || fail "CMake fails: $(cat log)"
}

# finds VERSION FOLDER ARGUMENTS...: fails unless FindLibTorch.cmake finds this version in this folder.
finds() {
  local wanted="<$1> <$folder/$2> <>"
  asks_for_libtorch "${@:3}"
  grep -qF -- "$wanted" log || fail "with '${*:3}' there is no '$wanted' in: $(cat log)"
}

# With several LibTorchs, in every known layout, all files of the requested one are found.
libtorch_is_found_by_its_layout() {
  libtorch zip lib 9.1.2
  libtorch system "lib/$(uname -m)-linux-gnu" 9.2.0
  libtorch site/torch lib 9.3.10
  # A wheel has the version numbers in a different header. This one cannot be imported, like a CUDA build without its
  # libraries.
  mkdir -p site/torch/include/torch/headeronly other
  mv site/torch/include/torch/{csrc/api/include/torch,headeronly}/version.h
  echo '#include <torch/headeronly/version.h>' >site/torch/include/torch/csrc/api/include/torch/version.h
  echo 'raise ImportError("libcudnn.so.9 is missing")' >site/torch/__init__.py

  finds 9.1.2 zip "-DCMAKE_PREFIX_PATH=$folder/zip"
  finds 9.1.2 zip "-DCMAKE_PREFIX_PATH=$folder/other;$folder/zip/;$folder/system"
  finds 9.1.2 zip "-DCMAKE_PREFIX_PATH=$folder/zip/share/cmake"
  finds 9.1.2 zip "-DTorch_DIR=$folder/zip/share/cmake/Torch" "-DCMAKE_PREFIX_PATH=$folder/system"
  CMAKE_PREFIX_PATH=$folder/other:$folder/zip finds 9.1.2 zip
  finds 9.2.0 system "-DCMAKE_PREFIX_PATH=$folder/system;$folder/zip"
  finds 9.2.0 system "-DTorch_DIR=$folder/system/lib/$(uname -m)-linux-gnu/cmake/Torch"
  finds 9.3.10 site/torch "-DCMAKE_PREFIX_PATH=$folder/site/torch/share/cmake"
  finds 9.3.10 site/torch "-DLOUPE_TORCH_HINTS=$folder/site/torch"
  CMAKE_PREFIX_PATH='' PYTHONPATH=$folder/site finds 9.3.10 site/torch "-DCMAKE_PREFIX_PATH=$folder/other"

  # The set-up script finds the same LibTorch.
  (
    # shellcheck source-path=SCRIPTDIR source=../../examples/setup.sh
    source "$LOUPE_SOURCE/examples/setup.sh"
    torch=""
    unset LOUPE_LIBTORCH # these tests may have been started with it
    CMAKE_PREFIX_PATH=$folder/other:$folder/system/lib/$(uname -m)-linux-gnu/cmake find_libtorch
    [[ $torch == "$folder/system" ]] || fail "setup.sh finds '$torch'"
    CMAKE_PREFIX_PATH=$folder/other PYTHONPATH=$folder/site find_libtorch
    [[ $torch == "$folder/site/torch" ]] || fail "setup.sh finds '$torch' instead of Python's"
    LOUPE_LIBTORCH=debian CMAKE_PREFIX_PATH=$folder/zip find_libtorch
    [[ $torch != "$folder/zip" ]] || fail "setup.sh does not choose Debian's LibTorch"
    echo old >site/torch/lib/libc10.so
    CMAKE_PREFIX_PATH='' PYTHONPATH=$folder/site find_libtorch 2>log
    [[ $torch != "$folder/site/torch" ]] || fail "setup.sh chooses a LibTorch with the old C++ ABI"
    grep -q "is not used" log || fail "setup.sh does not say that it does not use one"
  )
}

# refuses WORDS ARGUMENTS...: fails unless FindLibTorch.cmake prints these words.
refuses() {
  asks_for_libtorch "${@:2}"
  grep -qF -- "$1" log || fail "with '${*:2}' there is no '$1' in: $(cat log)"
}

libtorch_that_cannot_be_used_is_refused() {
  libtorch system lib 9.2.0
  libtorch old lib 9.1.0
  echo old >old/lib/libc10.so
  libtorch unnamed lib 9.x.0
  mkdir empty
  refuses "<> <> <Torch_DIR is '$folder/empty', where no LibTorch lies" "-DTorch_DIR=$folder/empty" \
    "-DCMAKE_PREFIX_PATH=$folder/system"
  refuses "<> <> <The LibTorch 9.1.0 in $folder/old was built with the C++ ABI of before C++11" \
    "-DCMAKE_PREFIX_PATH=$folder/old;$folder/system"
  refuses "<> <> <The LibTorch in $folder/unnamed does not say its version" "-DCMAKE_PREFIX_PATH=$folder/unnamed"
  refuses "<> <> <No LibTorch was found" "-DLOUPE_PYTHON=/bin/false" -DCMAKE_SYSTEM_PREFIX_PATH=/nowhere \
    "-DCMAKE_SYSROOT=$folder/empty"
}

case $name in
  new_*_cpp) kind=${name#new_} && made "${kind%_cpp}" "" ;;
  new_*_c) kind=${name#new_} && made "${kind%_c}" --c ;;
  *) "$name" ;;
esac
