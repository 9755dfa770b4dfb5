# Install: program with its man pages and completion, both libraries, headers, pkg-config file, CMake package.
include(CMakePackageConfigHelpers)
if(TARGET sgfs)
  install(TARGETS sgfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(TARGET sgfs POST_BUILD COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:sgfs>
                       -D LIBRARIES=${PROJECT_BINARY_DIR} -D FOLDER=${PROJECT_BINARY_DIR}/man
                       -P ${PROJECT_SOURCE_DIR}/cmake/pages.cmake VERBATIM)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  install(FILES cli/completion/sgfs.bash RENAME sgfs
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES cli/completion/_sgfs DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES cli/completion/sgfs.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
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
