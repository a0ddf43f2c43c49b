find_program(LOUPE_ESBUILD esbuild DOC "The program that bundles the scripts and styles of Loupe's pages")
if(NOT LOUPE_ESBUILD)
  message(FATAL_ERROR "The pages of the html report and of `loupe view` are bundled by esbuild: install esbuild, or set "
                      "LOUPE_ESBUILD to the program.")
endif()

# The scripts and styles that a page may import: those of the report and those of `loupe view`.
file(GLOB LOUPE_PAGE_SOURCES CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/plugins/html/page/*.js ${PROJECT_SOURCE_DIR}/plugins/html/page/*.css
     ${PROJECT_SOURCE_DIR}/host/tools/view/page/*.js ${PROJECT_SOURCE_DIR}/host/tools/view/page/*.css)

# loupe_bundle(OUTPUT ENTRY): merges a module or a style sheet and everything that it imports into one classic script or
# style sheet, because a page that is opened from a disk cannot load modules.
function(loupe_bundle output entry)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${LOUPE_ESBUILD} ${entry} --bundle --minify --format=iife --charset=utf8 --log-level=warning
            --outfile=${output}
    DEPENDS ${LOUPE_PAGE_SOURCES}
    VERBATIM)
endfunction()
