#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the working tree in two folders with paths of different lengths, and compares all that would be installed: every
# byte has to be the same, debug information and the list of parts included. It takes two builds of the CPU program, which
# is why .ci/run calls it and ctest does not. They are made with -O1, since paths and times, which make builds differ, reach
# the objects in the same way at every level; CMakeLists.txt sets the flags of a Release itself.
# usage: test_reproducible.sh SOURCE
set -euo pipefail
source=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SOURCE_DATE_EPOCH=0
for place in one/src another/and/longer/path/to/source; do
    mkdir -p "$folder/$place"
    (cd "$source" && { git ls-files -z; git ls-files -z --others --exclude-standard; } | tar c --null --files-from=-) |
        tar x -C "$folder/$place"
    build=$folder/$place/../out
    {
        cmake -S "$folder/$place" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTOMOSTAGE_CUDA=off \
            -DTOMOSTAGE_TESTS=OFF -DTOMOSTAGE_SHARED=ON \
            -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG" &&
            cmake --build "$build" && DESTDIR="$folder/$place/../installed" cmake --install "$build"
    } >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; exit 1; }
done
diff -r "$folder/one/installed" "$folder/another/and/longer/path/to/installed" || { echo "the two builds differ" >&2; exit 1; }
library=$(find "$folder/one/installed" -name 'libtomostage.so.*.*')
if grep -qaF "$folder" "$library"; then echo "the library holds the path that it was built in" >&2; exit 1; fi
echo "two builds are equal: $(find "$folder/one/installed" -type f | wc -l) files, $(du -sh "$folder/one/installed" | cut -f1)"
