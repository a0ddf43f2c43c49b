# Writes the names that libloupe_host.so exports, with the id of the build in them: two builds have the same id if they have
# the same headers, LibTorch and compiler. This is a script, so that an edit to a header recompiles only what includes it.
#   cmake -DTEMPLATE=exports.map.in -DOUTPUT=exports.map -DROOT=FOLDER "-DHEADERS=a.h;b.h" "-DBUILT_WITH=..." -P exports.cmake
set(all "${BUILT_WITH}")
foreach(header ${HEADERS})
  file(SHA256 ${ROOT}/${header} digest)
  string(APPEND all "\n${header} ${digest}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
