# SPDX-License-Identifier: Apache-2.0
# This sets where programs and library look for the libraries that they load. CMake would change the path on installing, and
# for that it ends the path of the build folder in ':', an empty element, which stands for the current folder: anyone's
# libraries. So both paths are set here. In the build folder it is the folder of libtomostage-programs, then those that other
# libraries were found in; installed, it is the libraries' folder beside that of the programs alone.
function(installed_rpath folder out)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${folder} OUTPUT_VARIABLE to_prefix)
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  set(path "$ORIGIN/${to_prefix}/lib")
  if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib")
    list(APPEND path "$ORIGIN/${to_prefix}/${CMAKE_INSTALL_LIBDIR}")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# The program looks there (DT_RPATH, which holds for the libraries of its libraries too). FOLDER: of the prefix.
function(rpath_of_program program folder_of_prefix)
  get_target_property(folder ${program} RUNTIME_OUTPUT_DIRECTORY)
  if(NOT folder)
    get_target_property(folder ${program} BINARY_DIR)
  endif()
  file(RELATIVE_PATH to_library ${folder} ${CMAKE_BINARY_DIR})
  if(TOMOSTAGE_PORTABLE)
    string(APPEND to_library public/lib)
  endif()
  string(REGEX REPLACE "/$" "" origin "$ORIGIN/${to_library}")
  installed_rpath(${folder_of_prefix} installed)
  # The installed path is a part of it, so that the shorter text that installing writes over it fits.
  set_target_properties(${program} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON
    INSTALL_RPATH "${origin};${installed}")
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# Call it after install(TARGETS). FOLDER: of the prefix; further arguments: of install().
function(rpath_of_installed_program program folder)
  installed_rpath(${folder} installed)
  list(JOIN installed ":" path)
  string(REPLACE "$" "\\$" path "${path}")
  install(CODE "file(RPATH_SET FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${program}>\" NEW_RPATH \"${path}\")" ${ARGN})
endfunction()

# The library has no path of its own once it is installed: the programs' holds for it, or the system's. With
# TOMOSTAGE_PORTABLE it looks where it lies, in the build folder too.
function(rpath_of_installed_library library folder)
  if(TOMOSTAGE_PORTABLE)
    return()
  endif()
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${library}>\")" ${ARGN})
endfunction()
set(shared_libraries tomostage_shared)
if(TOMOSTAGE_SHARED)
  list(APPEND shared_libraries tomostage_programs)
endif()
set_target_properties(${shared_libraries} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
if(TOMOSTAGE_PORTABLE)
  set_target_properties(tomostage_shared PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH OFF)
  target_link_options(tomostage_shared PRIVATE -Wl,--disable-new-dtags)
endif()
