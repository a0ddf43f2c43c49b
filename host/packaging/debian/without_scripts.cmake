# CPack has scripts of packages with libraries call ldconfig, whatever triggers they bring. The trigger does it, once for
# all packages that are installed together.
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
