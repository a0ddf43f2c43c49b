# loupe_add_plugin(NAME SOURCES...): builds a plugin that exports only its entry.
function(loupe_add_plugin name)
  set(version_script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE loupe::sdk m) # m: a plugin in C links it only by this
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON
                                           LINK_DEPENDS ${version_script})
  target_link_options(${name} PRIVATE -Wl,--version-script=${version_script})
  # The program provides a sanitizer's runtime, so a sanitizer build leaves symbols undefined.
  if(NOT LOUPE_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
