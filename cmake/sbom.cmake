# SPDX-License-Identifier: Apache-2.0
# This makes the list of parts of the installed programs (SPDX 2.3, JSON), for the installation and for the bundle. The
# list is written while installing, when the binaries and the link maps are there: sbom_write.cmake does it.
set(sbom_path ${CMAKE_INSTALL_DATADIR}/tomostage/sbom.spdx.json)

# The link map of a target names the archives that parts of it were taken from.
function(sbom_link_map)
  foreach(target IN LISTS ARGN)
    target_link_options(${target} PRIVATE -Wl,-Map=${CMAKE_BINARY_DIR}/${target}.map)
  endforeach()
endfunction()

execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  OUTPUT_VARIABLE commit_seconds OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# Versions for machines without dpkg-query.
set(sbom_known "libyaml=${YAML_VERSION}" "libhdf5=${HDF5_VERSION}" "libcrypto=${CRYPTO_VERSION}"
  "libdeflate=${DEFLATE_VERSION}" "libisal=${ISAL_VERSION}" "libz=${ZLIB_VERSION}" "libopenjp2=${OPENJPEG_VERSION}" "libpng=${PNG_VERSION}" "libtiff=${TIFF_VERSION}" "liblz4=${LZ4_VERSION}" "libzstd=${ZSTD_VERSION}" "libblosc=${BLOSC_VERSION}" "libfftw3f=${FFTW_VERSION}"
  "libkissfft=${KISSFFT_VERSION}")

# sbom_install(PATH TARGETS... [ARGUMENTS of install()...])
function(sbom_install path)
  cmake_parse_arguments(PARSE_ARGV 1 sbom "" "" "TARGETS;ARGUMENTS")
  set(files "")
  set(maps "")
  foreach(target IN LISTS sbom_TARGETS)
    list(APPEND files $<TARGET_FILE:${target}>)
    list(APPEND maps ${CMAKE_BINARY_DIR}/${target}.map)
  endforeach()
  set(cccl "")
  if(TOMOSTAGE_HAVE_CUDA)
    set(cccl ${CUDAToolkit_VERSION})
  endif()
  install(CODE "
    set(sbom_path \"${path}\")
    set(sbom_files \"${files}\")
    set(sbom_maps \"${maps}\")
    set(sbom_origins \"${portable_origins}\")
    set(sbom_version \"${PROJECT_VERSION}\")
    set(sbom_commit \"${TOMOSTAGE_COMMIT}\")
    set(sbom_seconds \"${commit_seconds}\")
    set(sbom_known \"${sbom_known}\")
    set(sbom_cuda \"${CUDAToolkit_VERSION}\")
    set(sbom_cccl \"${cccl}\")" ${sbom_ARGUMENTS})
  install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/sbom_write.cmake ${sbom_ARGUMENTS})
endfunction()
