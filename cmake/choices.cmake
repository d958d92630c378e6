# SPDX-License-Identifier: Apache-2.0
# Options that take one of a few words. People write them as they write CMake's own booleans, in any case, so what is
# compared later is brought to one spelling here, and any other word is refused: it would pass for "auto" otherwise.

# choose(OPTION WORD...): OPTION becomes the WORD that it is but for its case.
function(choose option)
  string(TOLOWER "${${option}}" word)
  if(NOT word IN_LIST ARGN)
    list(JOIN ARGN ", " expected)
    message(FATAL_ERROR "${option}=${${option}}: expected one of ${expected}")
  endif()
  set(${option} ${word} PARENT_SCOPE)
endfunction()

# choose_boolean_or(OPTION WORD...): the same, and what CMake takes for true or false becomes "on" or "off".
function(choose_boolean_or option)
  string(TOLOWER "${${option}}" word)
  if(word MATCHES "^(on|true|yes|y|1)$")
    set(word on)
  elseif(word MATCHES "^(off|false|no|n|0)$")
    set(word off)
  elseif(NOT word IN_LIST ARGN)
    list(JOIN ARGN ", " expected)
    message(FATAL_ERROR "${option}=${${option}}: expected ${expected}, on (true, yes, 1) or off (false, no, 0)")
  endif()
  set(${option} ${word} PARENT_SCOPE)
endfunction()
