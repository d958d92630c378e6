# SPDX-License-Identifier: Apache-2.0
# Runs on the finished archive. The programs hold the same kernels for each architecture: where much is left, a dictionary
# that spans two programs (64 MiB, more than xz takes by itself) finds them again. About a minute.
find_program(XZ xz)
foreach(archive IN LISTS CPACK_PACKAGE_FILES)
  file(SIZE ${archive} bytes)
  if(XZ AND bytes GREATER 30000000)
    execute_process(COMMAND ${XZ} -dc ${archive} COMMAND ${XZ} -9 -T1 -c OUTPUT_FILE ${archive}.smaller
      COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME ${archive}.smaller ${archive})
  endif()
endforeach()
