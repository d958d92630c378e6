# SPDX-License-Identifier: Apache-2.0
# `cmake --build BUILD --target package`: one archive that runs on any x86-64 Linux with glibc 2.36 and libstdc++ of gcc 12
# or newer. It holds the programs, their tests and every shared library but glibc and the CUDA driver.
# The programs find the libraries through $ORIGIN/../lib, and so do the libraries theirs (DT_RPATH holds for both).
set(bundle_programs tomostage)
foreach(program tomostage-view tomostage-bench tomostage-study tomostage-bench-peers tomostage-tests)
  if(TARGET ${program})
    list(APPEND bundle_programs ${program})
  endif()
endforeach()
foreach(program IN LISTS bundle_programs)
  rpath_of_program(${program} bin)
endforeach()
rpath_of_program(tomostage-sandbox libexec/tomostage)

set(bundle_share share/tomostage)
install(TARGETS ${bundle_programs} RUNTIME DESTINATION bin COMPONENT bundle EXCLUDE_FROM_ALL)
foreach(program IN LISTS bundle_programs)
  rpath_of_installed_program(${program} bin COMPONENT bundle EXCLUDE_FROM_ALL)
endforeach()
# The programs fork theirs; a program of somebody else's on the bundle's library needs it.
if(TOMOSTAGE_SHARED)
  install(TARGETS tomostage-sandbox RUNTIME DESTINATION libexec/tomostage COMPONENT bundle EXCLUDE_FROM_ALL)
  rpath_of_installed_program(tomostage-sandbox libexec/tomostage COMPONENT bundle EXCLUDE_FROM_ALL)
  install(TARGETS tomostage_shared LIBRARY DESTINATION lib COMPONENT bundle EXCLUDE_FROM_ALL NAMELINK_SKIP)
  rpath_of_installed_library(tomostage_shared lib COMPONENT bundle EXCLUDE_FROM_ALL)
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION . COMPONENT bundle EXCLUDE_FROM_ALL)
install(DIRECTORY datasets/chains datasets/machines datasets/workflows DESTINATION ${bundle_share}/datasets COMPONENT bundle EXCLUDE_FROM_ALL)
# Tests hold the pages to what the program accepts. Their pictures stay in the repository: they do not compress, and a
# bundle has to stay small.
install(FILES README.md DESTINATION ${bundle_share} COMPONENT bundle EXCLUDE_FROM_ALL)
install(DIRECTORY docs DESTINATION ${bundle_share} COMPONENT bundle EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.md"
  PATTERN "*.svg")
install(DIRECTORY tests/chains DESTINATION ${bundle_share}/tests COMPONENT bundle EXCLUDE_FROM_ALL)
install(DIRECTORY tests/files/foreign DESTINATION ${bundle_share}/tests/files COMPONENT bundle EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.nxs")
install(PROGRAMS tests/sanitize_cuda.sh tests/record_cuda.sh DESTINATION ${bundle_share}/tests COMPONENT bundle EXCLUDE_FROM_ALL)
# No package of the system states the licenses of what is linked or compiled in from the CUDA toolkit.
if(TOMOSTAGE_HAVE_CUDA)
  install(FILES cmake/licenses/nvidia-cuda-runtime cmake/licenses/nvidia-cccl DESTINATION share/doc/tomostage/licenses COMPONENT bundle EXCLUDE_FROM_ALL)
  # NVIDIA's installer, its packages of Debian and those of Python each put the agreement into a place of their own.
  file(REAL_PATH ${CUDAToolkit_BIN_DIR}/.. toolkit)
  set(toolkit_version ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  file(GLOB agreements ${toolkit}/EULA.txt /usr/share/doc/cuda-cudart-dev-${toolkit_version}/copyright
    ${toolkit}/dist-info/nvidia_cuda_runtime*/licenses/License.txt
    ${toolkit}/../../nvidia_cuda_runtime*.dist-info/licenses/License.txt)
  if(agreements)
    list(GET agreements 0 agreement)
    install(FILES ${agreement} DESTINATION share/doc/tomostage/licenses RENAME nvidia-cuda-toolkit-eula COMPONENT bundle EXCLUDE_FROM_ALL)
  endif()
endif()
list(TRANSFORM bundle_programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE bundle_files)
install(CODE "set(bundle_files \"${bundle_files}\")\nset(bundle_library \"$<TARGET_FILE:tomostage_shared>\")" COMPONENT bundle EXCLUDE_FROM_ALL)
install(SCRIPT cmake/bundle_libraries.cmake COMPONENT bundle EXCLUDE_FROM_ALL)
foreach(program tomostage-tests tomostage-bench-peers)
  if(TARGET ${program})
    sbom_link_map(${program})
  endif()
endforeach()
set(sbom_targets ${bundle_programs})
if(TOMOSTAGE_SHARED)
  list(APPEND sbom_targets tomostage_shared)
endif()
sbom_install(${bundle_share}/sbom.spdx.json TARGETS ${sbom_targets} ARGUMENTS COMPONENT bundle EXCLUDE_FROM_ALL)

# CPack packs quickly, and bundle_compress.cmake packs once more, by xz as it should be.
set(CPACK_GENERATOR TGZ)
set(CPACK_ARCHIVE_FILE_EXTENSION .tar.xz)
set(CPACK_PACKAGE_NAME tomostage)
set(CPACK_PACKAGE_FILE_NAME tomostage-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};tomostage;bundle;/")
set(CPACK_STRIP_FILES ON)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/bundle_compress.cmake)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
