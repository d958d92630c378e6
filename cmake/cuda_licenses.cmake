# SPDX-License-Identifier: Apache-2.0
# No package of the system states the licenses of what is linked or compiled in from the CUDA toolkit. FOLDER: where they go; ARGUMENTS: of
# install().
function(install_cuda_licenses folder)
  if(NOT TOMOSTAGE_HAVE_CUDA)
    return()
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/licenses/nvidia-cuda-runtime ${CMAKE_SOURCE_DIR}/cmake/licenses/nvidia-cccl DESTINATION ${folder} ${ARGN})
  # NVIDIA's installer, its packages of Debian and those of Python each put the agreement into a place of their own.
  file(REAL_PATH ${CUDAToolkit_BIN_DIR}/.. toolkit)
  set(toolkit_version ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  file(GLOB agreements ${toolkit}/EULA.txt /usr/share/doc/cuda-cudart-dev-${toolkit_version}/copyright
    ${toolkit}/dist-info/nvidia_cuda_runtime*/licenses/License.txt
    ${toolkit}/../../nvidia_cuda_runtime*.dist-info/licenses/License.txt)
  if(agreements)
    list(GET agreements 0 agreement)
    install(FILES ${agreement} DESTINATION ${folder} RENAME nvidia-cuda-toolkit-eula ${ARGN})
  endif()
endfunction()
