# What Loupe's own code is compiled with; linked privately, so that users do not inherit it.
add_library(loupe_warnings INTERFACE)
# For whoever changes Loupe: a newer compiler's warnings must not keep others from building it.
option(LOUPE_WERROR "Take warnings in Loupe's own code for errors" OFF)
target_compile_options(loupe_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${LOUPE_WERROR}>:-Werror>)
# Behind a precompiled header GCC takes the standard library for code of Loupe's, and makes these up in its strings.
foreach(warning array-bounds stringop-overflow stringop-overread dangling-pointer free-nonheap-object restrict)
  target_compile_options(loupe_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-${warning}>)
endforeach()
# GCC also warns of designated initializers that leave members out, which makes those zero.
target_compile_options(loupe_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-missing-field-initializers>)
# What taps reach may be called while static and thread-local objects are destroyed. Clang finds those that would be gone.
add_library(loupe_outlasts_statics INTERFACE)
target_compile_options(loupe_outlasts_statics INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wexit-time-destructors>)
if(LOUPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LOUPE_FUZZ needs clang, which brings libFuzzer: set CC=clang and CXX=clang++")
  endif()
  set(LOUPE_SANITIZE ON)
endif()
if(LOUPE_SANITIZE)
  # GCC takes the sanitizers' own temporaries in std::regex and std::function for uninitialized ones.
  target_compile_options(loupe_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(LOUPE_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
  elseif(LOUPE_SANITIZE MATCHES "^(ON|TRUE|1|address)$")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    # Checks of each pointer double the time that GCC takes, and find little that AddressSanitizer does not; clang, which
    # builds the fuzzers, makes them all.
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-sanitize=null,alignment,object-size>)
    add_link_options(-fsanitize=address,undefined)
  else()
    message(FATAL_ERROR "LOUPE_SANITIZE is '${LOUPE_SANITIZE}'; it can be OFF, address or thread")
  endif()
endif()
