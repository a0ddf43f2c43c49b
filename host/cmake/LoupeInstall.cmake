# What is installed. Every path in it is relative, so that the folder can be moved as a whole.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/loupe)

install(TARGETS loupe loupe_run)
install(DIRECTORY sdk/include/loupe host/include/loupe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES sdk/python/loupe_record.py DESTINATION ${CMAKE_INSTALL_DATADIR}/loupe)
install(FILES sdk/cmake/LoupePlugin.cmake sdk/cmake/plugin.map host/cmake/FindLibTorch.cmake DESTINATION ${package})

# One file of targets a component, so that whoever writes a plugin needs nothing of the others.
foreach(component sdk testing host)
  install(TARGETS loupe_${component} EXPORT loupe-${component})
  install(EXPORT loupe-${component} FILE loupe-${component}-targets.cmake NAMESPACE loupe:: DESTINATION ${package})
endforeach()
configure_package_config_file(host/cmake/loupe-config.cmake.in ${PROJECT_BINARY_DIR}/loupe-config.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/loupe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/loupe-config.cmake ${PROJECT_BINARY_DIR}/loupe-config-version.cmake
        DESTINATION ${package})

# Absolute folders are what the one who installs asked for; there the file says so.
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(LOUPE_PKG_CONFIG_INCLUDE ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  set(LOUPE_PKG_CONFIG_PACKAGE ${CMAKE_INSTALL_FULL_LIBDIR}/cmake/loupe)
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(LOUPE_PKG_CONFIG_INCLUDE "\${pcfiledir}/${up}/${CMAKE_INSTALL_INCLUDEDIR}")
  set(LOUPE_PKG_CONFIG_PACKAGE "\${pcfiledir}/${up}/${package}")
endif()
configure_file(host/cmake/loupe-sdk.pc.in ${PROJECT_BINARY_DIR}/loupe-sdk.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/loupe-sdk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
