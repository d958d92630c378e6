# SPDX-License-Identifier: Apache-2.0
# Runs while the bundle is put together: copies the libraries that the programs load, directly or through one another, to
# lib/ under the names they are asked for by, and the license of each package they come from. All but glibc, the driver and
# CUDA's own: libstdc++ and libgcc_s too, as a system may have older ones. The programs' DT_RPATH comes before the
# system's, so that these are the ones that are loaded, newer ones of the system as well put aside: nothing that the programs
# load from there (libcuda, libnvidia-ml) needs libstdc++.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${bundle_files} LIBRARIES ${bundle_library} RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^(libtomostage-programs|ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libanl|libutil|libnss_.*|libcuda|libcudart|libnvidia.*)\\.so")
if(missing)
  message(FATAL_ERROR "the bundle lacks ${missing}")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
find_packages(${libraries})
file(MAKE_DIRECTORY ${root}/lib)
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} real)
  file(COPY_FILE ${real} ${root}/lib/${name})
endforeach()
if(DPKG_QUERY)
  copy_licenses(${root}/share/doc/tomostage/licenses ${libraries})
endif()
