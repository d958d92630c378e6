# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
set_target_properties(tomostage PROPERTIES EXPORT_NAME program)
install(TARGETS tomostage tomostage_shared EXPORT tomostage-targets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
rpath_of_installed_program(tomostage ${CMAKE_INSTALL_BINDIR})
rpath_of_installed_library(tomostage_shared ${CMAKE_INSTALL_LIBDIR})
if(TARGET tomostage-bench)
  rpath_of_installed_program(tomostage-bench ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES pipeline/tomostage.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY datasets/chains DESTINATION ${CMAKE_INSTALL_DATADIR}/tomostage)
configure_file(cmake/tomostage.pc.in tomostage.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tomostage.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(EXPORT tomostage-targets NAMESPACE tomostage:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
configure_package_config_file(cmake/tomostage-config.cmake.in tomostage-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
write_basic_package_version_file(tomostage-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tomostage-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tomostage-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
