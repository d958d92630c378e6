#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into an empty folder; builds the example there with pkg-config and with find_package; counts what the library exports.
# usage: test_install.sh BUILD SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$1" --prefix "$folder/usr" >"$folder/log"
library=$(find "$folder/usr" -name 'libtomostage.so' -print -quit)
flags=$(grep -E '^TOMOSTAGE_SANITIZE:' "$1/CMakeCache.txt" | sed -n 's/.*=\(..*\)/-fsanitize=\1/p')
export PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
sed -i "s|^prefix=.*|prefix=$folder/usr|" "$PKG_CONFIG_PATH/tomostage.pc"
# shellcheck disable=SC2046
cc $flags "$2/docs/example.c" $(pkg-config --cflags --libs tomostage) -o "$folder/with-pkg-config"
cat >"$folder/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.24)
project(example LANGUAGES C)
find_package(tomostage REQUIRED)
add_executable(example "$2/docs/example.c")
target_compile_options(example PRIVATE $flags)
target_link_options(example PRIVATE $flags)
target_link_libraries(example PRIVATE tomostage::tomostage)
CMAKE
cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/usr" >>"$folder/log"
cmake --build "$folder/build" >>"$folder/log"
# Only what the public header declares is visible, or is not of the private version.
nm -D --defined-only --with-symbol-versions "$library" | awk '$2 ~ /[TDBR]/ && $3 !~ /@TOMOSTAGE_PRIVATE/ {sub("@.*", "", $3); print $3}' |
    sort >"$folder/exported"
grep -oE 'TS_PUBLIC [^;]*\b(ts_[a-z_]+)\(' "$2/pipeline/tomostage.h" | grep -oE 'ts_[a-z_]+\($' | tr -d '(' | sort >"$folder/declared"
grep -E '^ts_' "$folder/exported" | diff "$folder/declared" - || { echo "exports differ from the header" >&2; exit 1; }
if nm -D --defined-only "$library" | grep -E ' cuda[A-Z]'; then
    echo "the library shows its CUDA runtime" >&2
    exit 1
fi
# No empty element in what is built and installed: it would be the current folder.
for file in "$1"/tomostage* "$1"/tests/tomostage-* "$1"/lib*.so "$folder"/usr/bin/* "$library"; do
    [ -x "$file" ] && [ -f "$file" ] && readelf -d "$file" >"$folder/dynamic" 2>"$folder/log" || continue
    path=$(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' "$folder/dynamic")
    [[ :$path: != *::* || -z $path ]] || { echo "$file looks for libraries in the current folder: '$path'" >&2; exit 1; }
    [[ $file != "$folder"/* || $path != */build* ]] || { echo "$file looks for libraries in the build folder: '$path'" >&2; exit 1; }
done
# The installed program finds the installed library.
env -u LD_LIBRARY_PATH "$folder/usr/bin/tomostage" stages >"$folder/log"
echo "$(wc -l <"$folder/declared") functions exported, all declared"
