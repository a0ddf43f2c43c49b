# Reading the same headers again is most of what a file costs: LibTorch's take GCC 9 s of each file that includes them,
# even precompiled, as it instantiates all of their pending templates again. Files that are compiled several at once pay
# that once; then an edit to one compiles the others again too, and a header that lacks an include is not noticed.
option(LOUPE_UNITY_BUILD "Compile several files at once" OFF)

# loupe_compile_together(TARGET [FILES]): so many files of the target at a time, by default eight, where
# LOUPE_UNITY_BUILD is on.
function(loupe_compile_together target)
  if(LOUPE_UNITY_BUILD)
    set(files 8)
    if(ARGC GREATER 1)
      set(files ${ARGV1})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    # GCC warns of what a header keeps in an anonymous namespace; here it takes each file for a header.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
