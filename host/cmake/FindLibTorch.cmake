# Finds LibTorch as a target `loupe_torch` whose headers are SYSTEM. Taken in this order: what CMAKE_PREFIX_PATH or
# Torch_DIR names, an importable Python `torch`, the system's package.
if(NOT Torch_DIR AND NOT CMAKE_PREFIX_PATH AND NOT "$ENV{CMAKE_PREFIX_PATH}")
  find_program(LOUPE_PYTHON NAMES python3 python)
  if(LOUPE_PYTHON)
    execute_process(COMMAND ${LOUPE_PYTHON} -c "import torch; print(torch.utils.cmake_prefix_path)"
                    OUTPUT_VARIABLE LOUPE_PYTHON_TORCH OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                    RESULT_VARIABLE LOUPE_PYTHON_TORCH_FAILED)
    if(NOT LOUPE_PYTHON_TORCH_FAILED)
      list(PREPEND CMAKE_PREFIX_PATH ${LOUPE_PYTHON_TORCH})
    endif()
  endif()
endif()
find_package(Torch REQUIRED)

add_library(loupe_torch INTERFACE)
get_target_property(LOUPE_TORCH_INCLUDES torch INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(loupe_torch SYSTEM INTERFACE ${LOUPE_TORCH_INCLUDES} ${TORCH_INCLUDE_DIRS})
separate_arguments(LOUPE_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(loupe_torch INTERFACE ${LOUPE_TORCH_FLAGS})
target_link_libraries(loupe_torch INTERFACE ${TORCH_LIBRARIES})

# Debian's package gives no version to CMake; the header knows it.
if(NOT Torch_VERSION)
  foreach(directory ${LOUPE_TORCH_INCLUDES} ${TORCH_INCLUDE_DIRS} /usr/include)
    if(EXISTS ${directory}/torch/csrc/api/include/torch/version.h)
      file(STRINGS ${directory}/torch/csrc/api/include/torch/version.h LOUPE_TORCH_LINE REGEX "define TORCH_VERSION ")
    elseif(EXISTS ${directory}/torch/version.h)
      file(STRINGS ${directory}/torch/version.h LOUPE_TORCH_LINE REGEX "define TORCH_VERSION ")
    endif()
    if(LOUPE_TORCH_LINE)
      string(REGEX REPLACE ".*\"([^\"]*)\".*" "\\1" Torch_VERSION "${LOUPE_TORCH_LINE}")
      break()
    endif()
  endforeach()
endif()
message(STATUS "LibTorch ${Torch_VERSION} in ${TORCH_INSTALL_PREFIX}")
