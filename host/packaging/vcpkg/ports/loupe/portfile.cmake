# For this checkout: vcpkg install loupe --overlay-ports=host/packaging/vcpkg/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../../.." ABSOLUTE)

# Plugins are loaded into programs that have libraries of their own, so that Loupe's are always shared.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_find_acquire_program(PKGCONFIG)

# The pages' scripts are bundled when Loupe is built. vcpkg has neither of these; the system's are taken.
find_program(LOUPE_ESBUILD esbuild)
find_path(LOUPE_DYGRAPHS_DIRECTORY dygraph.min.js PATHS /usr/share PATH_SUFFIXES javascript/dygraphs)
if(NOT LOUPE_ESBUILD OR NOT LOUPE_DYGRAPHS_DIRECTORY)
  message(FATAL_ERROR "Loupe's report needs esbuild and dygraphs: on Debian, apt install esbuild libjs-dygraphs")
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DLOUPE_BUILD_TESTS=OFF
    -DLOUPE_BUILD_EXAMPLES=OFF
    "-DLOUPE_ESBUILD=${LOUPE_ESBUILD}"
    "-DLOUPE_DYGRAPHS_DIRECTORY=${LOUPE_DYGRAPHS_DIRECTORY}"
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME loupe CONFIG_PATH lib/cmake/loupe)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/debug/bin" "${CURRENT_PACKAGES_DIR}/debug/libexec")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/host/packaging/third_party")
set(VCPKG_POLICY_ALLOW_EXES_IN_BIN enabled)
