# What Loupe's own code is compiled with; linked privately, so that users do not inherit it.
add_library(loupe_warnings INTERFACE)
target_compile_options(loupe_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror)
if(LOUPE_SANITIZE)
  # GCC takes the sanitizers' own temporaries in std::regex and std::function for uninitialized ones.
  target_compile_options(loupe_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
