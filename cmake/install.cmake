# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
set_target_properties(tomostage PROPERTIES EXPORT_NAME program)
install(TARGETS tomostage tomostage_shared EXPORT tomostage-targets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
rpath_of_installed_program(tomostage ${CMAKE_INSTALL_BINDIR})
rpath_of_installed_library(tomostage_shared ${CMAKE_INSTALL_LIBDIR})
set(installed_targets tomostage tomostage_shared)
if(TARGET tomostage-bench)
  rpath_of_installed_program(tomostage-bench ${CMAKE_INSTALL_BINDIR})
  list(APPEND installed_targets tomostage-bench)
endif()
sbom_link_map(${installed_targets})
sbom_install(${sbom_path} TARGETS ${installed_targets})
install(FILES core/tomostage.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY datasets/chains DESTINATION ${CMAKE_INSTALL_DATADIR}/tomostage)
# The file finds its prefix from where it lies, since `cmake --install --prefix` and a move of the folder come later.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE pc_includedir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pc_to_prefix)
configure_file(cmake/tomostage.pc.in tomostage.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tomostage.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(EXPORT tomostage-targets NAMESPACE tomostage:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
configure_package_config_file(cmake/tomostage-config.cmake.in tomostage-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
write_basic_package_version_file(tomostage-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tomostage-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tomostage-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tomostage)
