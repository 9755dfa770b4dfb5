# Install: program, both libraries, headers, pkg-config file, CMake package.
include(CMakePackageConfigHelpers)
if(TARGET sgfs)
  install(TARGETS sgfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS sgfs_shared sgfs_static EXPORT sgfs-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/sgfs.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
file(RELATIVE_PATH SGFS_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
if(SGFS_NETCDF)
  set(SGFS_PC_NETCDF netcdf)
endif()
configure_file(cmake/sgfs.pc.in sgfs.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sgfs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(EXPORT sgfs-targets NAMESPACE sgfs:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sgfs)
configure_package_config_file(cmake/sgfs-config.cmake.in sgfs-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sgfs)
write_basic_package_version_file(sgfs-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sgfs-config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/sgfs-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sgfs)
