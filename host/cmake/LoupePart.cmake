# Defines the exports of the host's libraries, and the parts of the host: libraries that it opens when they are first needed.

# loupe_export_names(LIBRARY MAP): exports only the names in MAP.
function(loupe_export_names library map)
  target_sources(${library} PRIVATE ${map})
  target_link_options(${library} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${map})
endfunction()

# Names that parts may call have a version of this build, which only the linker reads: so one compiler cache serves all builds.
set(LOUPE_EXPORTS ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
set(folders host/include host/kernel host/torch host/inspector host/optional sdk/include sdk/internal)
list(TRANSFORM folders APPEND /*.h)
list(TRANSFORM folders PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${folders})
list(SORT headers)
set(header_files ${headers})
list(TRANSFORM header_files PREPEND ${PROJECT_SOURCE_DIR}/)
set(built_with "${PROJECT_VERSION} LibTorch ${LOUPE_TORCH_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${LOUPE_SANITIZE}")
add_custom_command(
  OUTPUT ${LOUPE_EXPORTS}
  COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${PROJECT_SOURCE_DIR}/host/cmake/exports.map.in -DOUTPUT=${LOUPE_EXPORTS}
          -DROOT=${PROJECT_SOURCE_DIR} "-DHEADERS=${headers}" "-DBUILT_WITH=${built_with}"
          -P ${PROJECT_SOURCE_DIR}/host/cmake/exports.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/host/cmake/exports.map.in ${PROJECT_SOURCE_DIR}/host/cmake/exports.cmake ${header_files}
  VERBATIM)

# Compile and link options of the library and its parts, which let the linker drop unused functions.
add_library(loupe_lean INTERFACE)
target_compile_options(loupe_lean INTERFACE -fno-semantic-interposition -ffunction-sections -fdata-sections)
target_link_options(loupe_lean INTERFACE -Wl,--gc-sections -Wl,-Bsymbolic-functions)

# loupe_add_part(NAME [SOURCES...] [LINK LIBRARIES...] [TORCH | TORCH_IN FILES...]): builds loupe/optional/NAME.so beside the host's
# library, from optional/NAME and these sources; and loupe_part_NAME, the objects of all but optional/NAME/part.cpp, for tests and
# tools. With TORCH_IN, the objects leave out the FILES, which include LibTorch, so that tools need not link LibTorch.
add_custom_target(loupe_parts)
function(loupe_add_part name)
  cmake_parse_arguments(PARSE_ARGV 1 part "TORCH" "" "LINK;TORCH_IN")
  file(GLOB sources CONFIGURE_DEPENDS ${LOUPE_OPTIONAL}/${name}/*.cpp)
  set(torch_sources ${part_TORCH_IN})
  list(TRANSFORM torch_sources PREPEND ${LOUPE_OPTIONAL}/${name}/)
  list(REMOVE_ITEM sources ${LOUPE_OPTIONAL}/${name}/part.cpp ${torch_sources})
  set(objects loupe_part_${name})
  add_library(${objects} OBJECT ${sources} ${part_UNPARSED_ARGUMENTS})
  target_link_libraries(${objects} PUBLIC loupe_rooms ${part_LINK} PRIVATE loupe_warnings loupe_outlasts_statics loupe_lean)
  if(part_TORCH)
    target_link_libraries(${objects} PUBLIC loupe_torch)
    target_compile_definitions(${objects} PRIVATE NDEBUG)
  endif()
  set(library loupe_optional_${name})
  add_library(${library} MODULE ${LOUPE_OPTIONAL}/${name}/part.cpp ${torch_sources})
  target_link_libraries(${library} PRIVATE ${objects} loupe_host loupe_warnings loupe_outlasts_statics loupe_lean)
  if(part_TORCH_IN)
    target_link_libraries(${library} PRIVATE loupe_torch)
    target_compile_definitions(${library} PRIVATE NDEBUG)
  endif()
  loupe_export_names(${library} ${PROJECT_SOURCE_DIR}/host/cmake/part.map)
  # The SONAME marks calls as Loupe's own; it is not the name of a file that other programs could find.
  target_link_options(${library} PRIVATE -Wl,-soname,libloupe_part_${name}.so -Wl,--as-needed)
  if(LOUPE_SANITIZE)
    # That check needs the type of Monitor, which the host does not export.
    target_compile_options(${objects} PRIVATE -fno-sanitize=vptr)
    target_compile_options(${library} PRIVATE -fno-sanitize=vptr)
  else()
    target_link_options(${library} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${objects} ${library} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                         VISIBILITY_INLINES_HIDDEN ON)
  # With this prefix the system's linker finds the library without a folder, and Debian's packages must not name one.
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN/../..")
  endif()
  set_target_properties(${library} PROPERTIES PREFIX "" OUTPUT_NAME ${name} NO_SONAME ON
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/loupe/optional)
  loupe_compile_together(${objects})
  add_dependencies(loupe_parts ${library})
  set_property(GLOBAL APPEND PROPERTY LOUPE_BUILT_PARTS ${library})
endfunction()
