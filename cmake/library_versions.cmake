# SPDX-License-Identifier: Apache-2.0
# The versions of what libtomostage.so shows: TOMOSTAGE_0 for what core/tomostage.h declares, TOMOSTAGE_PRIVATE for the
# rest, which only the programs of the same build may use. Nothing of the CUDA runtime, which others may have another of.
set(map ${CMAKE_CURRENT_BINARY_DIR}/libtomostage.map)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS core/tomostage.h)
file(STRINGS core/tomostage.h declarations REGEX "^TS_PUBLIC ")
set(public "")
foreach(declaration IN LISTS declarations)
  if(declaration MATCHES "(ts_[a-z_]+)\\(")
    string(APPEND public "    ${CMAKE_MATCH_1};\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${map} CONTENT
  "TOMOSTAGE_0 {\n  global:\n${public}};\nTOMOSTAGE_PRIVATE {\n  global:\n    *;\n};\n")
target_link_options(tomostage_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${map})
set_target_properties(tomostage_shared PROPERTIES LINK_DEPENDS ${map})
