# SPDX-License-Identifier: Apache-2.0
# Runs on the archive that CPack packed with gzip, and packs it with xz in its place: addresses in the code of x86 are made
# alike first, and a dictionary of 64 MiB finds the kernels of one architecture again in the next. An archive that is too
# large is none. TOMOSTAGE_XZ_PRESET in the environment takes the place of preset 9: 0 takes a sixth of the time and a fifth
# more bytes, for an archive that is only tested.
set(most 40000000)
set(preset 9)
if(DEFINED ENV{TOMOSTAGE_XZ_PRESET})
  set(preset $ENV{TOMOSTAGE_XZ_PRESET})
endif()
find_program(GZIP gzip REQUIRED)
find_program(XZ xz REQUIRED)
foreach(archive IN LISTS CPACK_PACKAGE_FILES)
  execute_process(COMMAND ${GZIP} -dc ${archive} COMMAND ${XZ} -T1 -c --x86 --lzma2=preset=${preset},dict=64MiB OUTPUT_FILE ${archive}.smaller
    COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${archive}.smaller ${archive})
  file(SIZE ${archive} bytes)
  if(bytes GREATER_EQUAL most)
    file(RENAME ${archive} ${archive}.too-large)
    message(FATAL_ERROR "the bundle has ${bytes} bytes, and less than ${most} are allowed; it was left as ${archive}.too-large")
  endif()
endforeach()
