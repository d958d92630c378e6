#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TOMOSTAGE_CUDA, TOMOSTAGE_FFT, TOMOSTAGE_VECTORS and TOMOSTAGE_VIEW accept their words in any case, the first CMake's booleans too, and refuse others by
# name: "OFF" was taken for "auto" once, which built the CUDA side. Configures the project a few times, builds nothing.
# usage: test_options.sh BUILD SOURCE
set -uo pipefail
build=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "options: $1" >&2; exit 1; }

cat >"$folder/choose.cmake" <<'CMAKE'
cmake_minimum_required(VERSION 3.24)
include(${SOURCE}/cmake/choices.cmake)
choose_boolean_or(CUDA auto)
choose(FFT auto fftw kissfft)
message("${CUDA} ${FFT}")
CMAKE
chosen() { cmake "-DSOURCE=$source" "-DCUDA=$1" "-DFFT=$2" -P "$folder/choose.cmake" 2>&1; }
for row in 'ON on' 'TRUE on' 'YES on' 'y on' '1 on' 'OFF off' 'FALSE off' 'NO off' 'n off' '0 off' 'AUTO auto'; do
    read -r word meant <<<"$row"
    lower=${word,,}
    for spelled in "${word^^}" "$lower" "${lower^}"; do
        [ "$(chosen "$spelled" auto)" = "$meant auto" ] || fail "TOMOSTAGE_CUDA=$spelled is not $meant, but: $(chosen "$spelled" auto)"
    done
done
for word in auto fftw kissfft; do
    [ "$(chosen off "${word^^}")" = "off $word" ] || fail "TOMOSTAGE_FFT=${word^^} is not $word"
done
for word in of onn 2 cuda 'on;off' ''; do
    if chosen "$word" auto >"$folder/log"; then fail "TOMOSTAGE_CUDA='$word' is accepted"; fi
    grep -q 'expected auto, on (true, yes, 1) or off' "$folder/log" || fail "TOMOSTAGE_CUDA='$word' says: $(cat "$folder/log")"
done
for word in on mkl fftw3 ''; do
    if chosen off "$word" >"$folder/log"; then fail "TOMOSTAGE_FFT='$word' is accepted"; fi
    grep -q 'expected one of auto, fftw, kissfft' "$folder/log" || fail "TOMOSTAGE_FFT='$word' says: $(cat "$folder/log")"
done

generator=$(sed -n 's/^CMAKE_GENERATOR:[A-Z]*=//p' "$build/CMakeCache.txt")
configure() { cmake -S "$source" -B "$folder/build" -G "$generator" -DTOMOSTAGE_TESTS=OFF "$@" >"$folder/log" 2>&1; }
# As where HDF5 for MPI is installed beside the other one.
printf '%s\n' 'Name: hdf5' 'Description: for MPI' 'Version: 1.10.8' 'Libs: -lhdf5_for_mpi' >"$folder/hdf5.pc"
PKG_CONFIG_PATH=$folder configure -DTOMOSTAGE_CUDA=OFF -DTOMOSTAGE_FFT=AUTO || fail "TOMOSTAGE_CUDA=OFF: $(cat "$folder/log")"
if pkg-config --exists hdf5-serial && grep hdf5_for_mpi "$folder/build/CMakeCache.txt"; then fail "the HDF5 for MPI is taken"; fi
if grep '^CMAKE_CUDA_COMPILER:' "$folder/build/CMakeCache.txt"; then fail "TOMOSTAGE_CUDA=OFF looked for a CUDA compiler"; fi
if configure -DTOMOSTAGE_CUDA=of; then fail "TOMOSTAGE_CUDA=of is accepted"; fi
grep -q 'TOMOSTAGE_CUDA=of: expected' "$folder/log" || fail "TOMOSTAGE_CUDA=of: $(cat "$folder/log")"
if configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_FFT=mkl; then fail "TOMOSTAGE_FFT=mkl is accepted"; fi
grep -q 'TOMOSTAGE_FFT=mkl: expected' "$folder/log" || fail "TOMOSTAGE_FFT=mkl: $(cat "$folder/log")"
if configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_FFT=auto -DTOMOSTAGE_VECTORS=sse; then fail "TOMOSTAGE_VECTORS=sse is accepted"; fi
grep -q 'TOMOSTAGE_VECTORS=sse: expected' "$folder/log" || fail "TOMOSTAGE_VECTORS=sse: $(cat "$folder/log")"
if configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_VECTORS=avx2 -DTOMOSTAGE_ISAL=perhaps; then fail "TOMOSTAGE_ISAL=perhaps is accepted"; fi
grep -q "TOMOSTAGE_ISAL='perhaps'\\|TOMOSTAGE_ISAL=perhaps" "$folder/log" || fail "TOMOSTAGE_ISAL=perhaps: $(cat "$folder/log")"
if configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_ISAL=auto -DTOMOSTAGE_VIEW=perhaps; then fail "TOMOSTAGE_VIEW=perhaps is accepted"; fi
grep -q "TOMOSTAGE_VIEW=perhaps" "$folder/log" || fail "TOMOSTAGE_VIEW=perhaps: $(cat "$folder/log")"
grep -q TS_HAVE_ISAL "$folder/build/compile_commands.json" || echo "libisal is missing here: that TOMOSTAGE_ISAL=off leaves it out is not tested"
configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_ISAL=off -DTOMOSTAGE_VIEW=off || fail "TOMOSTAGE_VIEW=off: $(cat "$folder/log")"
if grep -q TS_HAVE_ISAL "$folder/build/compile_commands.json"; then fail "TOMOSTAGE_ISAL=off builds with the ISA-L that was found before"; fi
if cmake --build "$folder/build" --target help | grep tomostage-view >/dev/null; then fail "TOMOSTAGE_VIEW=off has tomostage-view"; fi
for other in TESTS=ON MPI=ON FUZZ=ON SANITIZE=address FFT=fftw VIEW=on; do
    if configure -DTOMOSTAGE_CUDA=off -DTOMOSTAGE_PORTABLE=ON -DTOMOSTAGE_FFT=auto -DTOMOSTAGE_$other; then fail "TOMOSTAGE_PORTABLE=ON is accepted with TOMOSTAGE_$other"; fi
    grep -q "PORTABLE=ON goes without TOMOSTAGE_${other%=*}" "$folder/log" || fail "TOMOSTAGE_PORTABLE=ON with TOMOSTAGE_$other: $(cat "$folder/log")"
    rm -rf "$folder/build"
done
echo "every word is accepted or refused by its name"
