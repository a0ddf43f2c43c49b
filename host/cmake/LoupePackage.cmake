# Debian packages, by `cpack -G DEB` in the build folder; tests/package.sh deb makes and tries them.
find_program(LOUPE_DPKG dpkg-deb)
mark_as_advanced(LOUPE_DPKG)
if(NOT LOUPE_DPKG)
  return()
endif()

# One version for each release of the system: what a package needs differs between them.
set(release 1)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release lines REGEX "^(ID|VERSION_ID)=")
  foreach(line ${lines})
    string(REGEX MATCH "^([A-Z_]+)=\"?([^\"]*)" whole "${line}")
    set(system_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endforeach()
  set(release "1~${system_ID}${system_VERSION_ID}")
endif()
set(LOUPE_DEBIAN_VERSION ${PROJECT_VERSION}-${release})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME loupe)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# As Debian's own tools take it.
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBEMAIL}")
  if(DEFINED ENV{DEBFULLNAME})
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  endif()
else()
  set(CPACK_PACKAGE_CONTACT "The Loupe authors <loupe@example.org>")
endif()
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL command development plugins)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME loupe)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "loupe-plugins (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "see what a LibTorch model does while it trains
Watches programs that train neural networks by LibTorch, without a change of
them: says what is wrong with the training and what to do, and shows losses,
activations, gradients and updates on the terminal and in a report.

This package has the command and the library that watches.")

set(CPACK_DEBIAN_PLUGINS_PACKAGE_NAME loupe-plugins)
set(CPACK_DEBIAN_PLUGINS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PLUGINS_PACKAGE_ENHANCES loupe)
set(CPACK_DEBIAN_PLUGINS_DESCRIPTION "lenses and visualizers of Loupe
Loupe watches programs that train neural networks by LibTorch.

This package has what turns tensors into numbers, judges them, and shows them:
on the terminal, as a report, for TensorBoard and for Prometheus.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libloupe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "loupe (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libtorch-dev, cmake, pkgconf")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "headers for trainers that use Loupe, and for its plugins
Loupe watches programs that train neural networks by LibTorch.

This package has the headers, with what CMake and pkg-config need, for
programs that say themselves what is to be watched, and for lenses and
visualizers of one's own, with the library that their tests link. Plugins
need no LibTorch.")

# What programs need that link these libraries, and that the system is to look for them. (What CPack makes of that itself
# calls ldconfig from scripts, as Debian's packages no longer do.)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
foreach(component command development)
  string(TOUPPER ${component} upper)
  set(library libloupe_host)
  if(component STREQUAL development)
    set(library libloupe_testing)
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/debian/${component}/shlibs
       "${library} 0 ${CPACK_DEBIAN_${upper}_PACKAGE_NAME} (>= ${PROJECT_VERSION})\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers
                                                  ${PROJECT_BINARY_DIR}/debian/${component}/shlibs)
endforeach()
install(FILES host/packaging/debian/libloupe-dev DESTINATION share/lintian/overrides COMPONENT development EXCLUDE_FROM_ALL)

# What each package must say of itself. EXCLUDE_FROM_ALL: `cmake --install` leaves this out.
find_program(LOUPE_GZIP gzip REQUIRED)
mark_as_advanced(LOUPE_GZIP)
string(TIMESTAMP LOUPE_DEBIAN_DATE "%a, %d %b %Y 00:00:00 +0000" UTC)
configure_file(host/packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/debian/changelog.Debian @ONLY)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz
                   COMMAND sh -c "'${LOUPE_GZIP}' -9nc '${PROJECT_BINARY_DIR}/debian/changelog.Debian' > '${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz'"
                   COMMAND sh -c "rm -rf '${PROJECT_BINARY_DIR}/debian/man1' && cp -r '${LOUPE_DOCUMENTS}/man1' '${PROJECT_BINARY_DIR}/debian' && '${LOUPE_GZIP}' -9n '${PROJECT_BINARY_DIR}/debian/man1/'*"
                   DEPENDS ${PROJECT_BINARY_DIR}/debian/changelog.Debian ${LOUPE_DOCUMENTS}/_loupe
                   VERBATIM)
add_custom_target(loupe_debian ALL DEPENDS ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz)
add_dependencies(loupe_debian loupe_documents)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  install(FILES host/packaging/debian/copyright ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz
          DESTINATION share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/debian/man1 DESTINATION share/man COMPONENT command EXCLUDE_FROM_ALL)
install(FILES ${LOUPE_DOCUMENTS}/_loupe DESTINATION share/zsh/vendor-completions COMPONENT command EXCLUDE_FROM_ALL)

include(CPack)
