# Compiler options of Loupe's own code; linked privately, so that users do not inherit them.
add_library(loupe_warnings INTERFACE)
# For developers of Loupe. Off by default, because a newer compiler's warnings must not break the build of users.
option(LOUPE_WERROR "Take warnings in Loupe's own code for errors" OFF)
target_compile_options(loupe_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${LOUPE_WERROR}>:-Werror>)
# With a precompiled header, GCC takes the standard library for Loupe's code and reports these false warnings in its strings.
foreach(warning array-bounds stringop-overflow stringop-overread dangling-pointer free-nonheap-object restrict)
  target_compile_options(loupe_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-${warning}>)
endforeach()
# GCC also warns about designated initializers that leave out members, which then are zero.
target_compile_options(loupe_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-missing-field-initializers>)
# Taps may run while static and thread-local objects are destroyed. Clang reports objects that would be destroyed too early.
add_library(loupe_outlasts_statics INTERFACE)
target_compile_options(loupe_outlasts_statics INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wexit-time-destructors>)
if(LOUPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LOUPE_FUZZ needs clang, which brings libFuzzer: set CC=clang and CXX=clang++")
  endif()
  set(LOUPE_SANITIZE ON)
endif()
if(LOUPE_SANITIZE)
  # GCC takes temporaries of the sanitizers in std::regex and std::function for uninitialized variables.
  target_compile_options(loupe_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(LOUPE_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
  elseif(LOUPE_SANITIZE MATCHES "^(ON|TRUE|1|address)$")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    # GCC takes twice as long with a check of each pointer, which finds little that AddressSanitizer does not find; clang,
    # which builds the fuzzers, has all these checks.
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-sanitize=null,alignment,object-size>)
    add_link_options(-fsanitize=address,undefined)
  else()
    message(FATAL_ERROR "LOUPE_SANITIZE is '${LOUPE_SANITIZE}'; it can be OFF, address or thread")
  endif()
endif()
