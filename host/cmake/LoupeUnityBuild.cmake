# Reading the same headers again is most of what a source costs, LibTorch's above all. Sources that are compiled several at
# once read them once; an edit to one then compiles the others again, so who edits may switch this off. Each source also
# compiles by itself; tests/nightly.sh builds them so.
option(LOUPE_UNITY_BUILD "Compile several sources at once, which is quicker from nothing and slower after an edit" ON)

# loupe_compile_together(TARGET [FILES]): so many sources of the target at a time, by default eight, where
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
