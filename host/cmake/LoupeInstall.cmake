# Installs Loupe. All paths are relative, so that the folder can be moved as a whole. Each component becomes a package:
# the command, its tools, each shared library, the files for development, and the plugins, in plugins/.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/loupe)

# CMakeLists.txt installs a script first, which checks that these files exist.
get_property(plugins GLOBAL PROPERTY LOUPE_BUILTIN_PLUGINS)
get_property(tools GLOBAL PROPERTY LOUPE_BUILT_TOOLS)
get_property(parts GLOBAL PROPERTY LOUPE_BUILT_PARTS)
set(installed ${LOUPE_DOCUMENTS}/_loupe)
foreach(target loupe ${tools} loupe_run loupe_host loupe_listeners loupe_testing ${parts} ${plugins})
  string(APPEND installed "\n$<TARGET_FILE:${target}>")
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/loupe-is-built.cmake CONTENT "set(files [[${installed}]])
string(REPLACE \"\\n\" \";\" files \"\${files}\")
foreach(file IN LISTS files)
  if(NOT EXISTS \${file})
    message(FATAL_ERROR \"\${file} has not been built: run 'cmake --build ${PROJECT_BINARY_DIR}' before installing\")
  endif()
endforeach()
")

install(TARGETS loupe loupe_run RUNTIME COMPONENT command
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/loupe COMPONENT command)
if(tools)
  install(TARGETS ${tools} DESTINATION libexec/loupe COMPONENT tools)
endif()
install(TARGETS ${parts} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/loupe/optional COMPONENT host)
install(DIRECTORY sdk/include/loupe host/include/loupe host/optional/listeners/include/loupe
        host/tools/testing/include/loupe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES sdk/python/loupe_record.py DESTINATION ${CMAKE_INSTALL_DATADIR}/loupe COMPONENT command)
# The Python package of the wheel, for PYTHONPATH.
install(DIRECTORY sdk/python/loupe DESTINATION ${CMAKE_INSTALL_DATADIR}/loupe COMPONENT command PATTERN __pycache__ EXCLUDE)
install(FILES sdk/cmake/LoupePlugin.cmake sdk/cmake/plugin.map host/cmake/FindLibTorch.cmake DESTINATION ${package} COMPONENT development)

# Each component has one file of targets, so that a plugin's author needs only one of them.
foreach(component sdk testing host listeners)
  install(TARGETS loupe_${component} EXPORT loupe-${component}
          LIBRARY COMPONENT ${component} NAMELINK_COMPONENT development)
  install(EXPORT loupe-${component} FILE loupe-${component}-targets.cmake NAMESPACE loupe:: DESTINATION ${package}
          COMPONENT development)
endforeach()
configure_package_config_file(host/cmake/loupe-config.cmake.in ${PROJECT_BINARY_DIR}/loupe-config.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/loupe-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/loupe-config.cmake ${PROJECT_BINARY_DIR}/loupe-config-version.cmake
        DESTINATION ${package} COMPONENT development)

# If the user chose absolute folders, the pkg-config file contains them.
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
install(FILES ${PROJECT_BINARY_DIR}/loupe-sdk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# LoupePackage.cmake handles Debian, which has a different folder for zsh and wants compressed manual pages.
install(DIRECTORY ${LOUPE_DOCUMENTS}/man1 ${LOUPE_DOCUMENTS}/man5 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT documents
        FILES_MATCHING PATTERN *.[15])
install(FILES ${LOUPE_DOCUMENTS}/_loupe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT documents)
install(FILES ${LOUPE_DOCUMENTS}/loupe.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME loupe COMPONENT command)
