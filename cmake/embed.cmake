# SPDX-License-Identifier: Apache-2.0
# The program holds some files as texts, such as the style and the script of reports. They stay readable files of their
# own, and this writes a C file in the build folder that defines them as constants.
function(embed_texts out header)
  set(code "/* SPDX-License-Identifier: Apache-2.0 */\n#include \"${header}\"\n")
  while(ARGN)
    list(POP_FRONT ARGN name path)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n\"" text "${text}")
    string(APPEND code "const char ${name}[] =\n\"${text}\";\n")
  endwhile()
  file(CONFIGURE OUTPUT ${out} CONTENT "${code}" @ONLY)
endfunction()
