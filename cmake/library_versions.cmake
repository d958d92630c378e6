# SPDX-License-Identifier: Apache-2.0
# The versions of what libtomostage.so shows: TOMOSTAGE_0 for what the headers of include/ declare, and TOMOSTAGE_PRIVATE for
# the function that its program of the sandbox calls. With TOMOSTAGE_PORTABLE `tomostage` calls this library too, so that there
# all functions of the project are TOMOSTAGE_PRIVATE: no header declares them, and another build has others.
set(map ${CMAKE_CURRENT_BINARY_DIR}/libtomostage.map)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_headers})
set(header "")
foreach(name IN LISTS public_headers)
  file(READ ${name} text)
  string(APPEND header "${text}")
endforeach()
# A name may stand on the line after its type. A declaration whose name is not found would be private without a word.
string(REGEX MATCHALL "\nTS_PUBLIC " declarations "${header}")
string(REGEX MATCHALL "\nTS_PUBLIC [^;(]*ts_[a-z0-9_]+\\(" found "${header}")
list(LENGTH declarations declared)
list(LENGTH found named)
if(NOT declared EQUAL named)
  message(FATAL_ERROR "the headers of include/ have ${declared} declarations with TS_PUBLIC, but only ${named} names were found in them")
endif()
list(TRANSFORM found REPLACE ".*(ts_[a-z0-9_]+)\\($" "\\1")
list(JOIN found ";\n    " public)
set(others "  local:\n    *;\n")
set(private ts_sandbox_serve)
if(TOMOSTAGE_PORTABLE)
  set(others "")
  set(private "*")
endif()
file(CONFIGURE OUTPUT ${map} CONTENT
  "TOMOSTAGE_0 {\n  global:\n    ${public};\n${others}};\nTOMOSTAGE_PRIVATE {\n  global:\n    ${private};\n};\n")
target_link_options(tomostage_shared PRIVATE -Wl,--version-script=${map})
set_target_properties(tomostage_shared PROPERTIES LINK_DEPENDS ${map})
