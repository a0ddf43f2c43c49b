# loupe_add_plugin(NAME SOURCES...): a plugin as Loupe loads it, exporting its entry and nothing else.
function(loupe_add_plugin name)
  set(version_script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE loupe::sdk m) # m: in C it is linked by nobody else
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON
                                           LINK_DEPENDS ${version_script})
  target_link_options(${name} PRIVATE -Wl,--version-script=${version_script})
  # A sanitizer's runtime comes from the program, so that build leaves symbols open.
  if(NOT LOUPE_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
