# SPDX-License-Identifier: Apache-2.0
# Writes the list of parts: each shared library that the programs load, directly or through one another, and each archive
# that the linker took code from, with the package that it belongs to, its version and its license where that is known.
# The licenses below are those of the libraries as their authors name them; where none stands here, the list says
# NOASSERTION and the package's own copyright file, which the bundle holds, has the text.
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)
set(licenses
  "libyaml|MIT" "libhdf5|BSD-3-Clause" "lib(crypto|ssl)|Apache-2.0" "libdeflate|MIT" "libisal|BSD-3-Clause" "libpng|libpng-2.0" "libtiff|libtiff"
  "liblz4|BSD-2-Clause" "libblosc|BSD-3-Clause" "libsnappy|BSD-3-Clause"
  "libfftw3f?|GPL-2.0-or-later" "libkissfft[a-z-]*|BSD-3-Clause" "lib(dcm|of)[a-z]*|BSD-3-Clause" "libijg|IJG"
  "libcharls|BSD-3-Clause" "lib(gomp|gcc|gcc_s|gcc_eh|stdc\\+\\+)|GPL-3.0-or-later WITH GCC-exception-3.1"
  "(lib(c|m|dl|pthread|rt|resolv|c_nonshared)|ld-linux[a-z0-9-]*)|LGPL-2.1-or-later" "libz|Zlib" "libopenjp2|BSD-2-Clause"
  "libzstd|BSD-3-Clause OR GPL-2.0-only" "libjpeg|IJG AND BSD-3-Clause AND Zlib" "lib(webp|sharpyuv)|BSD-3-Clause"
  "libLerc|Apache-2.0" "libjbig|GPL-2.0-or-later" "libcurl[a-z-]*|curl" "lib(sz|aec)|BSD-2-Clause" "libnghttp2|MIT"
  "libpsl|MIT" "libbrotli[a-z]*|MIT" "lib(gnutls|tasn1|rtmp)|LGPL-2.1-or-later" "lib(gssapi_krb5|k5crypto|krb5|krb5support)|MIT"
  "lib(com_err|xml2|ffi)|MIT" "lib(ldap|lber)|OLDAP-2.8" "libssh2|BSD-3-Clause" "libp11-kit|BSD-3-Clause"
  "lib(nettle|hogweed|gmp|idn2|unistring)|LGPL-3.0-or-later OR GPL-2.0-or-later" "libcriterion|MIT"
  "libcudart[a-z_]*|LicenseRef-NVIDIA-CUDA-Toolkit")
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)

function(json_text out text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

# The package of a file, its version and its home page. Empty where nothing is known.
function(owner_of file)
  set(package "${package_of_${file}}")
  set(version "")
  set(home "")
  if(package)
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}\n\${Homepage}\n" ${package} OUTPUT_VARIABLE fields)
    string(REGEX MATCH "^[^\n]*" version "${fields}")
    string(REGEX REPLACE "^[^\n]*\n([^\n]*).*" "\\1" home "${fields}")
  endif()
  set(package "${package}" PARENT_SCOPE)
  set(version "${version}" PARENT_SCOPE)
  set(home "${home}" PARENT_SCOPE)
endfunction()

function(license_of name)
  set(license NOASSERTION)
  foreach(row IN LISTS licenses)
    string(REGEX MATCH "^(.*)\\|(.*)$" matched "${row}")
    set(pattern "^(${CMAKE_MATCH_1})(_serial|[-0-9.]*)\\.(so|a)")
    set(named "${CMAKE_MATCH_2}")
    if(license STREQUAL NOASSERTION AND name MATCHES "${pattern}")
      set(license "${named}")
    endif()
  endforeach()
  set(license "${license}" PARENT_SCOPE)
endfunction()

# A part is kept in variables that carry its key; the files that belong to one package are one part.
set(parts "")
macro(add_part link path)
  get_filename_component(name ${path} NAME)
  owner_of(${path})
  license_of(${name})
  if(NOT package)
    string(REGEX REPLACE "\\.(so|a).*" "" package ${name})
    foreach(known IN LISTS sbom_known)
      string(REGEX MATCH "^([^=]+)=(.*)$" matched "${known}")
      if(package MATCHES "^${CMAKE_MATCH_1}")
        string(REGEX REPLACE "^[^=]+=" "" version "${known}")
      endif()
    endforeach()
    if(package MATCHES "^libcudart")
      set(package nvidia-cuda-runtime)
      set(version "${sbom_cuda}")
      set(home https://developer.nvidia.com/cuda-toolkit)
    endif()
  endif()
  remember("${link}" "${package}" "${version}" "${home}" "${license}" "${name}")
endmacro()

macro(remember link package version home license name)
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" key "${package}")
  if(NOT "${key}" IN_LIST parts)
    list(APPEND parts "${key}")
    set(part_name_${key} "${package}")
    set(part_version_${key} "${version}")
    set(part_home_${key} "${home}")
    set(part_license_${key} "${license}")
    set(part_files_${key} "")
    set(part_links_${key} "")
  endif()
  list(APPEND part_files_${key} "${name}")
  list(APPEND part_links_${key} "${link}")
endmacro()

set(programs ${sbom_files})
list(FILTER programs EXCLUDE REGEX "\\.so[.0-9]*$")
set(own ${sbom_files})
list(FILTER own INCLUDE REGEX "\\.so[.0-9]*$")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${own} RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing PRE_EXCLUDE_REGEXES "^(libtomostage|libtomostage-programs|libtomostage-no-xml-.*|libcuda)\\.so")
if(missing)
  message(FATAL_ERROR "these libraries were not found, so that the list of parts would lack them: ${missing}")
endif()
list(SORT libraries)
set(archives "")
foreach(map IN LISTS sbom_maps)
  file(STRINGS ${map} members REGEX "^(/|portable/)[^()]+\\.a\\(")
  list(TRANSFORM members REPLACE "\\(.*" "")
  get_filename_component(folder ${map} DIRECTORY)
  list(TRANSFORM members REPLACE "^portable/" "${folder}/portable/")
  list(APPEND archives ${members})
endforeach()
list(REMOVE_DUPLICATES archives)
list(SORT archives)
# Private copies are listed as what they are copies of.
foreach(row IN LISTS sbom_origins)
  string(REPLACE "=" ";" row "${row}")
  list(GET row 0 copy)
  list(GET row 1 origin)
  list(TRANSFORM libraries REPLACE "^${copy}$" "${origin}")
  list(TRANSFORM archives REPLACE "^${copy}$" "${origin}")
endforeach()
find_packages(${libraries} ${archives})
foreach(library IN LISTS libraries)
  add_part(DYNAMIC_LINK ${library})
endforeach()
foreach(archive IN LISTS archives)
  add_part(STATIC_LINK ${archive})
endforeach()
if(sbom_cccl)
  remember(STATIC_LINK nvidia-cccl "${sbom_cccl}" https://github.com/NVIDIA/cccl "Apache-2.0 WITH LLVM-exception" "headers")
endif()

# What travels is under licenses that are known, and none of them is the GPL without an exception.
if(sbom_origins)
  foreach(key IN LISTS parts)
    if(part_license_${key} STREQUAL "NOASSERTION" OR part_license_${key} MATCHES "^GPL-[0-9.]+-(only|or-later)$")
      message(FATAL_ERROR "${part_name_${key}} (${part_files_${key}}) is under ${part_license_${key}}, which a portable build may not hold")
    endif()
  endforeach()
endif()

set(packages "")
set(relationships "{\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-tomostage\"}")
foreach(key IN LISTS parts)
  list(REMOVE_DUPLICATES part_files_${key})
  list(REMOVE_DUPLICATES part_links_${key})
  list(JOIN part_files_${key} ", " files)
  json_text(name "${part_name_${key}}")
  json_text(comment "files: ${files}")
  json_text(home "${part_home_${key}}")
  json_text(version "${part_version_${key}}")
  set(fields "\"SPDXID\": \"SPDXRef-${key}\", \"name\": ${name}")
  if(part_version_${key})
    string(APPEND fields ", \"versionInfo\": ${version}")
  endif()
  if(part_home_${key})
    string(APPEND fields ", \"homepage\": ${home}")
  endif()
  string(APPEND fields ", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"copyrightText\": \"NOASSERTION\", "
    "\"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"${part_license_${key}}\", \"comment\": ${comment}")
  string(APPEND packages ",\n    {${fields}}")
  foreach(link IN LISTS part_links_${key})
    string(APPEND relationships ",\n    {\"spdxElementId\": \"SPDXRef-tomostage\", \"relationshipType\": \"${link}\", \"relatedSpdxElement\": \"SPDXRef-${key}\"}")
  endforeach()
endforeach()

# Equal builds have equal lists: the time is that of the commit, and the name of the document is a digest of its content.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH} AND sbom_seconds)
  set(ENV{SOURCE_DATE_EPOCH} ${sbom_seconds})
endif()
string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
string(SHA256 digest "${sbom_commit}${packages}${relationships}")
file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${sbom_path}" "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"tomostage-${sbom_version}\",
  \"documentNamespace\": \"https://spdx.org/spdxdocs/tomostage-${sbom_version}-${digest}\",
  \"creationInfo\": {\"created\": \"${created}\", \"creators\": [\"Tool: tomostage-cmake-${sbom_version}\"]},
  \"packages\": [
    {\"SPDXID\": \"SPDXRef-tomostage\", \"name\": \"tomostage\", \"versionInfo\": \"${sbom_version}\", \"sourceInfo\": \"commit ${sbom_commit}\", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"copyrightText\": \"NOASSERTION\", \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"Apache-2.0\"}${packages}
  ],
  \"relationships\": [
    ${relationships}
  ],
  \"hasExtractedLicensingInfos\": [
    {\"licenseId\": \"LicenseRef-NVIDIA-CUDA-Toolkit\", \"name\": \"NVIDIA CUDA Toolkit End User License Agreement\", \"extractedText\": \"The agreement of the CUDA Toolkit; the bundle holds it in share/doc/tomostage/licenses.\"}
  ]
}
")
message(STATUS "Installing: $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${sbom_path}")
cmake_policy(POP)
