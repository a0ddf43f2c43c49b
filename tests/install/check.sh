#!/usr/bin/env bash
# One check of what is installed: check.sh NAME, with the variables that CMakeLists.txt here sets.
set -euo pipefail

name=$1
prefix=$LOUPE_WORK/moved
folder=$LOUPE_WORK/$name
package="find_package(loupe REQUIRED PATHS $prefix NO_DEFAULT_PATH"
# What uses libraries that were built with AddressSanitizer needs it too.
export CFLAGS=$LOUPE_SANITIZER CXXFLAGS=$LOUPE_SANITIZER
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

fail() {
  echo "error: $*" >&2
  exit 1
}

# project LINES: a project of these lines of CMake.
project() {
  printf '%s\n' 'cmake_minimum_required(VERSION 3.18)' "$1" >CMakeLists.txt
}

configure() { "$LOUPE_CMAKE" -S . -B build "$@"; }
build() { "$LOUPE_CMAKE" --build build; }

plugin() {
  cat >x.cpp <<'END'
#include <loupe/plugin.h>
class X : public loupe::Lens {
 public:
  static constexpr const char* name = "x";
  static constexpr const char* help = "nothing";
  static std::vector<loupe::Option> options() { return {}; }
  explicit X(const loupe::Options&) {}
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};
LOUPE_PLUGIN("x", "1", X);
END
}

can_be_moved() {
  rm -rf "$prefix" "$prefix.before"
  "$LOUPE_CMAKE" --install "$LOUPE_BUILD" --prefix "$prefix.before" >/dev/null
  mv "$prefix.before" "$prefix"
  if grep -rlF "$prefix.before" "$prefix/$LOUPE_LIBDIR/cmake" "$prefix/$LOUPE_LIBDIR/pkgconfig"; then
    fail "these name the folder in which they were installed"
  fi
  # Into a file: grep -q ends at the first hit, which would break the command's pipe.
  "$prefix/bin/loupe" list --long >log
  grep -qF "$prefix/$LOUPE_LIBDIR/loupe/plugins" log || fail "the command does not find its plugins"
}

sdk_needs_nothing() {
  plugin
  project "project(x CXX)
    set(CMAKE_DISABLE_FIND_PACKAGE_Torch ON)
    $package COMPONENTS sdk)
    if(TARGET torch OR TARGET yaml-cpp)
      message(FATAL_ERROR \"more than the SDK was found\")
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
  # With a standard of its own that is too old, which cxx_std_17 raises.
  project "project(t CXX)
    set(CMAKE_CXX_STANDARD 14)
    $package COMPONENTS host)
    get_target_property(features loupe::host INTERFACE_COMPILE_FEATURES)
    if(NOT features MATCHES \"cxx_std_17\")
      message(FATAL_ERROR \"loupe::host does not ask for C++17\")
    endif()
    add_executable(t t.cpp)
    target_link_libraries(t PRIVATE loupe::host)"
  configure "-DTorch_DIR=$LOUPE_TORCH" "-DCMAKE_PREFIX_PATH=${LOUPE_TORCH%/*}" && build && build/t
}

pkg_config_finds_the_sdk() {
  command -v pkg-config >/dev/null || fail "pkg-config is not installed"
  plugin
  export PKG_CONFIG_PATH=$prefix/$LOUPE_LIBDIR/pkgconfig
  # shellcheck disable=SC2046 # flags are words
  "$CXX" -std=c++17 $(pkg-config --cflags loupe-sdk) x.cpp $(pkg-config --libs loupe-sdk) -o x.so
  "$prefix/bin/loupe" describe x --plugins x.so >log
  grep -q nothing log || fail "the plugin is not found"
  "$prefix/bin/loupe" check x.so
}

unknown_component_is_refused() {
  project "project(t CXX)
    $package COMPONENTS oracle)"
  if configure >log 2>&1; then fail "a component that does not exist is found"; fi
  grep -q oracle log || fail "CMake does not say which component is missing"
}

new_refuses_wrong_names() {
  local wrong
  for wrong in Upper with-hyphen 1st _x x_ a__b ../x 'a b' é; do
    if "$prefix/bin/loupe" new lens "$wrong" >log 2>&1; then fail "'$wrong' is taken for a name"; fi
    grep -q snake_case log || fail "it does not say what is wrong with '$wrong': $(cat log)"
  done
  if "$prefix/bin/loupe" new oracle x >log 2>&1; then fail "'oracle' is taken for a kind"; fi
  grep -q "oracle" log || fail "it does not name the wrong kind"
  [[ $(ls) == log ]] || fail "it left something behind"
}

new_overwrites_nothing() {
  mkdir mine
  echo keep >mine/mine.cpp
  if "$prefix/bin/loupe" new lens mine >log 2>&1; then fail "it writes into a folder with files"; fi
  grep -q "'mine' is there already" log || fail "it does not say why: $(cat log)"
  [[ $(ls mine) == mine.cpp && $(cat mine/mine.cpp) == keep ]] || fail "it changed the folder"
  "$prefix/bin/loupe" new lens mine --out other
  [[ -f other/mine.cpp ]] || fail "--out is not where it writes"
}

new_tells_of_a_name_that_is_taken() {
  "$prefix/bin/loupe" new lens health >log
  grep -q "there is a lens 'health' already" log || fail "it does not say that the name is taken: $(cat log)"
  "$prefix/bin/loupe" new visualizer health --out other_kind >log
  if grep -q "already" log; then fail "a visualizer may have a lens's name: $(cat log)"; fi
}

# made KIND FLAGS CMAKE-ARGUMENTS...: makes one, builds it and runs its test.
made() {
  local kind=$1 flag=$2
  shift 2
  # shellcheck disable=SC2086 # none or one
  "$prefix/bin/loupe" new "$kind" my_own_one $flag
  cd my_own_one
  if grep -rn '@[A-Za-z]*@' .; then fail "a template's word is left"; fi
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

# part LINES: a project that Loupe is a part of, with targets, standard and folders of its own.
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
    foreach(target sdk testing host)
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
  "$LOUPE_CMAKE" -S . -B build "-DTorch_DIR=$LOUPE_TORCH" "-DCMAKE_PREFIX_PATH=${LOUPE_TORCH%/*}"
  # All of it takes minutes: for the night.
  # shellcheck disable=SC2086 # three targets or none
  "$LOUPE_CMAKE" --build build --target t x ${LOUPE_WHOLE:+loupe loupe_host loupe_plugins}
  build/own/t
  [[ -n $(find build -name x.so) ]] || fail "the plugin was not built"
}
is_a_part_by_add_subdirectory() { part "add_subdirectory($LOUPE_SOURCE loupe)"; }
is_a_part_by_fetch_content() {
  part "include(FetchContent)
    FetchContent_Declare(loupe SOURCE_DIR $LOUPE_SOURCE)
    FetchContent_MakeAvailable(loupe)"
}

# Two LibTorchs: the one that is asked for brings its own Caffe2, though the system has another.
libtorch_is_of_one_piece() {
  mkdir -p wheel/share/cmake/Torch wheel/share/cmake/Caffe2 wheel/lib system/lib
  touch wheel/lib/lib{torch,c10}.so system/lib/lib{torch,c10}.so
  printf '%s\n' 'find_package(Caffe2 REQUIRED PATHS ${CMAKE_CURRENT_LIST_DIR}/../Caffe2)' \
    'add_library(torch INTERFACE IMPORTED)' 'target_include_directories(torch INTERFACE ${CAFFE2})' \
    'set(Torch_VERSION 9.9)' 'find_library(C10_LIBRARY c10)' >wheel/share/cmake/Torch/TorchConfig.cmake
  # shellcheck disable=SC2016 # CMake's variable
  echo 'set(CAFFE2 ${CMAKE_CURRENT_LIST_DIR})' >wheel/share/cmake/Caffe2/Caffe2Config.cmake
  project "project(t CXX)
    include($LOUPE_SOURCE/host/cmake/FindLibTorch.cmake)
    if(NOT CAFFE2 STREQUAL \"$folder/wheel/share/cmake/Caffe2\")
      message(FATAL_ERROR \"the Caffe2 of '\${Caffe2_DIR}' was taken\")
    endif()
    if(NOT C10_LIBRARY STREQUAL \"$folder/wheel/lib/libc10.so\")
      message(FATAL_ERROR \"the library '\${C10_LIBRARY}' was taken\")
    endif()"
  mkdir -p system/Caffe2
  echo 'message(FATAL_ERROR "the other Caffe2 was taken")' >system/Caffe2/Caffe2Config.cmake
  # What the system has is found before what TorchConfig.cmake names.
  configure "-DTorch_DIR=$folder/wheel/share/cmake/Torch" "-DCMAKE_PREFIX_PATH=$folder/system"
  # And what examples/setup.sh passes.
  rm -rf build
  (
    # shellcheck source-path=SCRIPTDIR source=../../examples/setup.sh
    source "$LOUPE_SOURCE/examples/setup.sh"
    # shellcheck disable=SC2034 # read by configure
    root=$folder torch_dir=$folder/wheel/share/cmake/Torch
    configure "$folder/build" >/dev/null
  )
  grep -q "^CMAKE_PREFIX_PATH:[A-Z]*=$folder/wheel/share/cmake\$" build/CMakeCache.txt || fail "the prefix is not passed"
}

case $name in
  new_*_cpp) kind=${name#new_} && made "${kind%_cpp}" "" ;;
  new_*_c) kind=${name#new_} && made "${kind%_c}" --c ;;
  *) "$name" ;;
esac
