# Builds Debian packages by `cpack -G DEB` in the build folder; tests/package.sh deb builds and tests them.
find_program(LOUPE_DPKG dpkg-deb)
find_program(LOUPE_PACKAGE_PYTHON python3)
mark_as_advanced(LOUPE_DPKG LOUPE_PACKAGE_PYTHON)
if(NOT LOUPE_DPKG OR NOT LOUPE_PACKAGE_PYTHON)
  return()
endif()

# Each release of the system gets its own package version, because the dependencies differ.
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
# The maintainer is the person who builds the packages, as set for Debian's tools, else as set in git.
set(maintainer "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
foreach(field name email)
  execute_process(COMMAND git config user.${field} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE git_${field} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endforeach()
if(NOT address AND git_name AND git_email)
  set(maintainer "${git_name}")
  set(address "${git_email}")
elseif(NOT address)
  set(maintainer "Who built this package")
  set(address "nobody@localhost")
elseif(NOT maintainer)
  set(maintainer "${address}")
endif()
set(LOUPE_PACKAGE_MAINTAINER "${maintainer} <${address}>" CACHE STRING
    "Who answers for the packages, 'Name <address>'; by default DEBFULLNAME and DEBEMAIL, else git's user, else nobody@localhost")
set(LOUPE_PACKAGE_HOMEPAGE "" CACHE STRING "The page on the web that the packages name; empty: none")
set(CPACK_PACKAGE_CONTACT "${LOUPE_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${LOUPE_PACKAGE_HOMEPAGE}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL command development host listeners plugins testing)
if(tools)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})  # one package's library needs another's
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME loupe)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS
    "libloupe-host${PROJECT_VERSION_MAJOR} (= ${LOUPE_DEBIAN_VERSION}), loupe-plugins (= ${LOUPE_DEBIAN_VERSION})")
if(tools)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "loupe-tools (= ${LOUPE_DEBIAN_VERSION})")
endif()
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "see what a LibTorch model does while it trains
Watches programs that train neural networks by LibTorch, without a change of
them: reports what is wrong with the training and what to do, and shows losses,
activations, gradients and updates on the terminal and in a report.

This package has the command.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME loupe-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "loupe (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "tools of Loupe
Loupe watches programs that train neural networks by LibTorch.

This package has what not every user of the command needs: loupe view, a page
of runs in a browser; loupe compare --port, which says where a port departs
from its original; and loupe check, which holds a plugin to the rules of the
boundary.")

# Each library has its own package, named by its SONAME, so that an incompatible version can be installed in parallel.
set(CPACK_DEBIAN_HOST_PACKAGE_NAME libloupe-host${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_HOST_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_HOST_PACKAGE_DEPENDS "loupe-plugins (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_HOST_DESCRIPTION "library that watches models of LibTorch
Loupe watches programs that train neural networks by LibTorch.

This package has the library that trainers link which say themselves what is
to be watched, and that the command loads into all others.")
set(CPACK_DEBIAN_LISTENERS_PACKAGE_NAME libloupe-listeners${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LISTENERS_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LISTENERS_PACKAGE_DEPENDS "libloupe-host${PROJECT_VERSION_MAJOR} (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_LISTENERS_DESCRIPTION "library that records what passes through modules
Loupe watches programs that train neural networks by LibTorch.

This package has the library for programs that record what passes through
modules, and what an optimizer's step changes, without a configuration.")
set(CPACK_DEBIAN_TESTING_PACKAGE_NAME libloupe-testing${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_TESTING_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TESTING_PACKAGE_DEPENDS "loupe-plugins (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_TESTING_DESCRIPTION "library for the tests of lenses and visualizers
Loupe watches programs that train neural networks by LibTorch.

This package has the library that tests of plugins link: Loupe on models that
are made up, without LibTorch.")

set(CPACK_DEBIAN_PLUGINS_PACKAGE_NAME loupe-plugins)
set(CPACK_DEBIAN_PLUGINS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PLUGINS_PACKAGE_ENHANCES loupe)
set(CPACK_DEBIAN_PLUGINS_DESCRIPTION "lenses and visualizers of Loupe
Loupe watches programs that train neural networks by LibTorch.

This package has what turns tensors into numbers, judges them, and shows them:
on the terminal, as a report, for TensorBoard and for Prometheus.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libloupe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libloupe-host${PROJECT_VERSION_MAJOR} (= ${LOUPE_DEBIAN_VERSION}), libloupe-listeners${PROJECT_VERSION_MAJOR} (= ${LOUPE_DEBIAN_VERSION}), libloupe-testing${PROJECT_VERSION_MAJOR} (= ${LOUPE_DEBIAN_VERSION}), loupe (= ${LOUPE_DEBIAN_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libtorch-dev, cmake, pkgconf")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "headers for trainers that use Loupe, and for its plugins
Loupe watches programs that train neural networks by LibTorch.

This package has the headers, with what CMake and pkg-config need, for
programs that say themselves what is to be watched, and for lenses and
visualizers of one's own and their tests. Plugins need no LibTorch.")

# The dependencies of programs that link these libraries, and the trigger that makes the system find the libraries.
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/host/packaging/debian/without_scripts.cmake)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
foreach(component host listeners testing)
  string(TOUPPER ${component} upper)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/${component}/shlibs
       "libloupe_${component} ${PROJECT_VERSION_MAJOR} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME} (>= ${PROJECT_VERSION})\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers
                                                  ${PROJECT_BINARY_DIR}/debian/${component}/shlibs)
endforeach()
install(FILES host/packaging/debian/libloupe-dev DESTINATION share/lintian/overrides COMPONENT development EXCLUDE_FROM_ALL)

# The files that every package must have. EXCLUDE_FROM_ALL: `cmake --install` leaves this out.
find_program(LOUPE_GZIP gzip REQUIRED)
mark_as_advanced(LOUPE_GZIP)
string(TIMESTAMP LOUPE_DEBIAN_DATE "%a, %d %b %Y 00:00:00 +0000" UTC)
configure_file(host/packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/debian/changelog.Debian @ONLY)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz
                   COMMAND sh -c "'${LOUPE_GZIP}' -9nc '${PROJECT_BINARY_DIR}/debian/changelog.Debian' > '${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz'"
                   COMMAND sh -c "cd '${PROJECT_BINARY_DIR}/debian' && rm -rf man1 man5 && cp -r '${LOUPE_DOCUMENTS}/man1' '${LOUPE_DOCUMENTS}/man5' . && '${LOUPE_GZIP}' -9n man1/* man5/*"
                   DEPENDS ${PROJECT_BINARY_DIR}/debian/changelog.Debian ${LOUPE_DOCUMENTS}/_loupe
                   VERBATIM)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/debian/copyright
                   COMMAND sh -c "'${LOUPE_PACKAGE_PYTHON}' host/packaging/third_party.py copyright host/packaging/debian/copyright > '${PROJECT_BINARY_DIR}/debian/copyright'"
                   DEPENDS host/packaging/third_party host/packaging/third_party.py host/packaging/debian/copyright
                   WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                   VERBATIM)
add_custom_target(loupe_debian ALL DEPENDS ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz
                                           ${PROJECT_BINARY_DIR}/debian/copyright)
add_dependencies(loupe_debian loupe_documents)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  install(FILES ${PROJECT_BINARY_DIR}/debian/copyright ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz
          DESTINATION share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/debian/man1 ${PROJECT_BINARY_DIR}/debian/man5 DESTINATION share/man COMPONENT command EXCLUDE_FROM_ALL)
install(FILES ${LOUPE_DOCUMENTS}/_loupe DESTINATION share/zsh/vendor-completions COMPONENT command EXCLUDE_FROM_ALL)

include(CPack)
