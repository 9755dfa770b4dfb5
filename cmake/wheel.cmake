# What the Python package holds: the library and the program for any machine of this family, with
# OpenBLAS from the package scipy-openblas32, whose symbols begin with scipy_.
#
#     sgfs/lib/libsgfs.so.0                     for any x86-64
#     sgfs/lib/glibc-hwcaps/x86-64-v3, -v4/     the same for AVX2 and AVX-512; the loader chooses
#     sgfs/lib/libsgfs_python.so                what Python loads: it only needs libsgfs.so.0, so
#                                               that the loader's choice holds for Python, too
#     sgfs/bin/sgfs                             the program
#
# auditwheel adds libscipy_openblas, libgomp and libjansson in a folder of their own.
find_package(Python REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python_EXECUTABLE} -c
                "import scipy_openblas32 as o; print(o.get_include_dir(), o.get_lib_dir(), sep=';')"
                OUTPUT_VARIABLE SGFS_OPENBLAS OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
list(GET SGFS_OPENBLAS 0 include)
list(GET SGFS_OPENBLAS 1 folder)
add_library(sgfs_blas SHARED IMPORTED)
set_target_properties(sgfs_blas PROPERTIES IMPORTED_LOCATION ${folder}/libscipy_openblas.so
                      INTERFACE_INCLUDE_DIRECTORIES ${include})
set(SGFS_BLAS sgfs_blas)

# The names that the one file with calls of OpenBLAS uses, each with the prefix in front.
file(READ src/context/device/blas.c text)
string(REGEX MATCHALL "(cblas_[a-z]+|LAPACKE_[a-z_]+|openblas_[a-z_]+)" names "${text}")
list(REMOVE_DUPLICATES names)
set(lines "")
foreach(name ${names})
  string(APPEND lines "#define ${name} scipy_${name}\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/blas_names.h "${lines}")
set_source_files_properties(src/context/device/blas.c PROPERTIES COMPILE_OPTIONS
                            "-include;${PROJECT_BINARY_DIR}/blas_names.h")

function(sgfs_install_wheel)
  file(WRITE ${PROJECT_BINARY_DIR}/empty.c "extern int sgfs_python_needs_a_name;\n")
  add_library(sgfs_python SHARED ${PROJECT_BINARY_DIR}/empty.c)
  target_link_options(sgfs_python PRIVATE LINKER:--no-as-needed)
  target_link_libraries(sgfs_python PRIVATE sgfs_shared)
  set_target_properties(sgfs_shared sgfs_python PROPERTIES INSTALL_RPATH "$ORIGIN")
  set_target_properties(sgfs PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS sgfs RUNTIME DESTINATION sgfs/bin COMPONENT python)
  install(FILES $<TARGET_FILE:sgfs_shared> DESTINATION sgfs/lib RENAME libsgfs.so.${SGFS_SOVERSION}
          COMPONENT python)
  install(FILES $<TARGET_FILE:sgfs_python> DESTINATION sgfs/lib COMPONENT python)
  foreach(level ${SGFS_LEVELS})
    install(FILES $<TARGET_FILE:sgfs_shared_${level}> RENAME libsgfs.so.${SGFS_SOVERSION}
            DESTINATION sgfs/lib/glibc-hwcaps/${level} COMPONENT python)
  endforeach()
endfunction()
