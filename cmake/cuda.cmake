# What --device cuda loads, beside the library (src/context/device/cuda.c), and the only thing that needs CUDA: built
# where there is an nvcc of CUDA 12 or later with cuBLAS. nvcc itself compiles and links: CMake's own support for CUDA
# would ask for a compiler of C++ everywhere.
include(cmake/cuda_sources.cmake)
set(SGFS_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPUs that have code of their own; later ones translate the last one's")

find_program(SGFS_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(SGFS_CUDA_FOUND OFF)
if(SGFS_NVCC)
  execute_process(COMMAND ${SGFS_NVCC} --version OUTPUT_VARIABLE SGFS_NVCC_TEXT ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" SGFS_NVCC_TEXT "${SGFS_NVCC_TEXT}")
  get_filename_component(SGFS_CUDA_BIN ${SGFS_NVCC} REALPATH)
  get_filename_component(SGFS_CUDA_ROOT ${SGFS_CUDA_BIN}/../.. ABSOLUTE)
  find_library(SGFS_CUBLAS cublas HINTS ${SGFS_CUDA_ROOT}/lib64 ${SGFS_CUDA_ROOT}/targets/x86_64-linux/lib)
  find_path(SGFS_CUBLAS_INCLUDE cublas_v2.h HINTS ${SGFS_CUDA_ROOT}/include
            ${SGFS_CUDA_ROOT}/targets/x86_64-linux/include)
  find_program(SGFS_HOST_CXX NAMES g++ c++ clang++)
  if(SGFS_CUBLAS AND SGFS_CUBLAS_INCLUDE AND SGFS_HOST_CXX AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12)
    set(SGFS_CUDA_FOUND ON)
  endif()
endif()
if(NOT SGFS_CUDA_FOUND)
  message(STATUS "No nvcc of CUDA 12 or later with cuBLAS is found: --device cuda will not be there (docs/gpu.md)")
  return()
endif()

set(SGFS_NVCC_FLAGS -std=c++17 -O3 -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra,-Wshadow)
if(SGFS_WERROR)
  list(APPEND SGFS_NVCC_FLAGS -Werror=all-warnings -Xcompiler=-Werror)
endif()
foreach(is ${SGFS_CUDA_ARCHITECTURES})
  list(APPEND SGFS_NVCC_FLAGS -gencode=arch=compute_${is},code=sm_${is})
  set(SGFS_CUDA_LAST ${is})
endforeach()
list(APPEND SGFS_NVCC_FLAGS -gencode=arch=compute_${SGFS_CUDA_LAST},code=compute_${SGFS_CUDA_LAST})
set(SGFS_CUDA_OBJECTS "")
foreach(source ${SGFS_CUDA_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  set(object ${PROJECT_BINARY_DIR}/${name}.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${source}
                     COMMAND ${SGFS_NVCC} ${SGFS_NVCC_FLAGS} -DSGFS_VERSION_TEXT="${SGFS_VERSION}" -I
                     ${PROJECT_SOURCE_DIR}/src -I ${PROJECT_SOURCE_DIR}/include -isystem ${SGFS_CUBLAS_INCLUDE} -MD -MF
                     ${object}.d -c ${source} -o ${object}
                     DEPFILE ${object}.d COMMENT "Compiling ${name}.cu for NVIDIA GPUs" VERBATIM)
  list(APPEND SGFS_CUDA_OBJECTS ${object})
endforeach()
get_filename_component(SGFS_CUBLAS_FOLDER ${SGFS_CUBLAS} DIRECTORY)
set(SGFS_CUDA_PLUGIN ${PROJECT_BINARY_DIR}/libsgfs_cuda.so)
add_custom_command(OUTPUT ${SGFS_CUDA_PLUGIN} DEPENDS ${SGFS_CUDA_OBJECTS}
                   COMMAND ${SGFS_NVCC} -shared -cudart static ${SGFS_CUDA_OBJECTS} -o ${SGFS_CUDA_PLUGIN} ${SGFS_CUBLAS}
                   -Xlinker=-rpath,${SGFS_CUBLAS_FOLDER},-z,relro,-z,now,-z,noexecstack
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bench
                   COMMAND ${CMAKE_COMMAND} -E create_symlink ${SGFS_CUDA_PLUGIN}
                   ${PROJECT_BINARY_DIR}/bench/libsgfs_cuda.so VERBATIM)
add_custom_target(sgfs_cuda ALL DEPENDS ${SGFS_CUDA_PLUGIN})
install(FILES ${SGFS_CUDA_PLUGIN} DESTINATION ${SGFS_PLUGIN_FOLDER}
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
