# Writes the names that libloupe_host.so exports, with the id of the build in them: two builds have one id where they have the
# same headers, LibTorch and compiler. As a script, so that an edit to a header compiles nothing that does not include it.
#   cmake -DTEMPLATE=exports.map.in -DOUTPUT=exports.map -DROOT=FOLDER "-DHEADERS=a.h;b.h" "-DBUILT_WITH=..." -P exports.cmake
set(all "${BUILT_WITH}")
foreach(header ${HEADERS})
  file(SHA256 ${ROOT}/${header} digest)
  string(APPEND all "\n${header} ${digest}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
