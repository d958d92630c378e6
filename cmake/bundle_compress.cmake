# SPDX-License-Identifier: Apache-2.0
# Runs on the finished archive. One that is too large is tried with a dictionary of 64 MiB, more than xz takes by itself; if
# that is not enough, it is no archive.
set(most 40000000)
find_program(XZ xz)
foreach(archive IN LISTS CPACK_PACKAGE_FILES)
  file(SIZE ${archive} bytes)
  if(XZ AND bytes GREATER_EQUAL most)
    execute_process(COMMAND ${XZ} -dc ${archive} COMMAND ${XZ} -9 -T1 -c OUTPUT_FILE ${archive}.smaller
      COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME ${archive}.smaller ${archive})
    file(SIZE ${archive} bytes)
  endif()
  if(bytes GREATER_EQUAL most)
    file(RENAME ${archive} ${archive}.too-large)
    message(FATAL_ERROR "the bundle has ${bytes} bytes, and less than ${most} are allowed; it was left as ${archive}.too-large")
  endif()
endforeach()
