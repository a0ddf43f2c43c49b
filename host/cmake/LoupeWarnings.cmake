# What Loupe's own code is compiled with; linked privately, so that users do not inherit it.
add_library(loupe_warnings INTERFACE)
option(LOUPE_WERROR "Take warnings in Loupe's own code for errors" ON)
target_compile_options(loupe_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${LOUPE_WERROR}>:-Werror>)
# GCC 12 makes this one up where strings are put together under -O2 (GCC's bug 105651).
set(old_gcc $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)
target_compile_options(loupe_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:$<${old_gcc}:-Wno-restrict>>)
if(LOUPE_SANITIZE)
  # GCC takes the sanitizers' own temporaries in std::regex and std::function for uninitialized ones.
  target_compile_options(loupe_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
