# CPack gives packages with libraries scripts that call ldconfig, even if they have triggers. This removes the scripts: the
# trigger calls ldconfig once for all packages that are installed together.
foreach(package ${CPACK_PACKAGE_FILES})
  set(folder ${package}.raw)
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} RESULT_VARIABLE failed)
  if(NOT failed AND EXISTS ${folder}/DEBIAN/postinst)
    file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
    execute_process(COMMAND dpkg-deb --root-owner-group --build ${folder} ${package} RESULT_VARIABLE failed OUTPUT_QUIET)
  endif()
  file(REMOVE_RECURSE ${folder})
  if(failed)
    message(FATAL_ERROR "dpkg-deb could not remake ${package}")
  endif()
endforeach()
