#!/usr/bin/env bash
# Checks that the CMake code printed in README.md adds Loupe to a project. The project is only configured,
# because building all of Loupe takes minutes.
#   configures.sh PROJECT WAY CMAKE LIBTORCH PREFIX FOLDER
# WAY is FetchContent, add_subdirectory or find_package; PREFIX is the folder of an installed Loupe, for find_package.
set -euo pipefail
project=$1 way=$2 cmake=$3 torch=$4 prefix=$5 folder=$6

fail() {
  echo "$*" >&2
  exit 1
}
source "$project/tests/readme/printed.sh"
if [[ $way == FetchContent ]] && ! command -v git >/dev/null; then
  echo "git, which FetchContent needs, is not installed"
  exit 77
fi
rm -rf "$folder"
mkdir -p "$folder/third_party"
ln -s "$project" "$folder/third_party/loupe"
if [[ $way == FetchContent ]]; then publish "$project" "$folder/published/loupe"; fi
echo 'int main() {}' >"$folder/trainer.cpp"
# The project already has LibTorch, and a target `trainer`.
{
  echo 'cmake_minimum_required(VERSION 3.18)'
  echo 'project(somebodys C CXX)'
  echo 'add_executable(trainer trainer.cpp)'
  printed_cmake "$project/README.md" "$way" | from_here "$folder/published/loupe"
  echo 'if(NOT TARGET loupe::host)'
  echo '  message(FATAL_ERROR "there is no loupe::host")'
  echo 'endif()'
} >"$folder/CMakeLists.txt"
"$cmake" -S "$folder" -B "$folder/build" "-DCMAKE_PREFIX_PATH=$prefix;$torch"
