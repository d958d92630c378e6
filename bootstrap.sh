#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 24.04 to a running tomostage: installs what is missing, builds, and then
#   ./bootstrap.sh demo    makes a phantom CT study, runs datasets/chains/demo.yaml on it, leaves demo/demo.h5 and a picture
#   ./bootstrap.sh test    runs the whole test suite
#   ./bootstrap.sh peers   installs OpenCV, scipy and scikit-image and compares values and speed with them
#   ./bootstrap.sh build   only builds
#   ./bootstrap.sh bundle  makes one archive, program, tests and libraries, that runs on another machine as it is
#   ./bootstrap.sh packages  names what a build with tests needs
#   ./bootstrap.sh new-stage ROOM NAME  writes the files of a new stage that works, to be changed (docs/CONTRIBUTING.md)
set -euo pipefail
cd "$(dirname "$0")"
command=${1:-help}
preset=${TOMOSTAGE_PRESET:-release}
build=build/$preset

packages=(gcc g++ cmake ninja-build pkg-config git libyaml-dev libhdf5-dev libdcmtk-dev libssl-dev libdeflate-dev libisal-dev zlib1g-dev libopenjp2-7-dev libtiff-dev liblz4-dev libzstd-dev libblosc-dev libfftw3-dev libglfw3-dev libegl-dev libgl-dev)
test_packages=(libcriterion-dev libpng-dev hdf5-tools dcmtk python3-dev python3-venv python3-h5py python3-numpy python3-pydicom python3-nibabel python3-tifffile python3-h5netcdf python3-netcdf4 python3-xarray strace dicom3tools dcm2niix xvfb xdotool libegl1 libgl1 libgl1-mesa-dri libopenmpi-dev openmpi-bin)
[ "$preset" != asan ] || test_packages+=(libkissfft-dev clang libclang-rt-14-dev libomp-14-dev)
peer_packages=(python3-numpy python3-scipy python3-skimage python3-opencv python3-h5py)

step() { printf '%4d s  %s\n' "$SECONDS" "$1"; }

need() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ]; then
        step "installing ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/tmp/tomostage-install.log 2>&1 ||
            { tail -n 20 /tmp/tomostage-install.log >&2; exit 1; }
    else
        echo "These packages are missing. Run this, then the same command again:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
}

# The release is built for what this machine can run: without a GPU the CPU program, with one that GPU's machine code. A
# bundle goes to other machines and gets every architecture of the preset; so do other presets, which say what they want.
# usage: build_program ON|OFF [TARGET], with the tests or without
build_program() {
    local tests=$1 log=build/$preset.log options=() target=(${2:+--target "$2"})
    mkdir -p build
    if [ "$command" != bundle ] && nvidia-smi -L >/dev/null 2>&1; then
        options=(-DCMAKE_CUDA_ARCHITECTURES=native)
    elif [ "$command" != bundle ] && [ "$preset" = release ]; then
        echo "this machine has no NVIDIA GPU: building the CPU program (./bootstrap.sh bundle builds for GPUs, too)"
        options=(-DTOMOSTAGE_CUDA=off)
    fi
    if [[ "${options[*]}" != *TOMOSTAGE_CUDA=off ]]; then
        if nvcc=$(find_nvcc); then export CUDACXX=$nvcc; else echo "no CUDA toolkit found: building the CPU program"; fi
    fi
    step "configuring and compiling (log: $log)"
    cmake --preset "$preset" -DTOMOSTAGE_TESTS="$tests" "${options[@]}" >"$log" 2>&1 &&
        NINJA_STATUS='%p ' cmake --build "$build" "${target[@]}" 2>&1 | tee -a "$log" | show_tenths ||
        { tail -n 40 "$log" >&2; exit 1; }
}

# Prints a line for each tenth of a build.
show_tenths() {
    local percent rest tenth=0
    while read -r percent rest; do
        percent=${percent%\%}
        if [[ $percent =~ ^[0-9]+$ ]] && [ $((percent / 10)) -gt $tenth ]; then
            tenth=$((percent / 10))
            step "compiled $((tenth * 10)) %"
        fi
    done
}

find_nvcc() { command -v "${CUDACXX:-nvcc}" || command -v /usr/local/cuda/bin/nvcc; }

demo() {
    local start=$SECONDS
    need "${packages[@]}"
    build_program OFF tomostage
    # What is there stays: files of these names are made anew, and a study or a chain that was changed is kept.
    mkdir -p demo
    if [ -e demo/study ]; then
        step "demo/study is there"
    else
        step "making a phantom, demo/study"
        "$build/tomostage" phantom head -o demo/study
    fi
    [ -e demo/demo.yaml ] || cp datasets/chains/demo.yaml demo/demo.yaml
    step "running demo/demo.yaml"
    "$build/tomostage" run demo/demo.yaml -o demo/demo.h5 --force
    step "drawing demo/demo.png and demo/head.png"
    "$build/tomostage" preview demo/demo.h5 -o demo/demo.png --force
    "$build/tomostage" preview demo/study -o demo/head.png --window 40/400 --force
    step "done"
    cat <<TEXT
demo/study     a head as a CT series, made by the program: 24 DICOM files in HU
demo/demo.yaml the chain: smooth, histogram, equalize, keep, project
demo/demo.h5   the result; look inside with: $build/tomostage info demo/demo.h5
               /entry/equalized/data is the equalized volume, /entry/data/data the sinogram (z, view, detector)
               /entry/process_2_histogram/tables/counts is the histogram; every parameter stands beside it
demo/demo.png  a picture of both: the middle slice and its sinogram
demo/head.png  the head itself, in the window from -160 to 240 HU
next           $build/tomostage run 'dicom demo/study | window center=40 width=400 unit=HU | hdf5 demo/window.h5'
               $build/tomostage stages lists the stages, $build/tomostage check demo/demo.yaml shows the plan
took           $((SECONDS - start)) s; \`./bootstrap.sh build\` also makes what \`bench\` and \`study\` start
TEXT
}

run_tests() {
    need "${packages[@]}" "${test_packages[@]}"
    build_program ON
    # One more than there are processors, because some of the tests wait for what they started.
    local code=0
    ctest --test-dir "$build" --output-on-failure -j "$(($(nproc) + 1))" "$@" || code=$?
    # Of tests that pass or are skipped ctest shows no output.
    if grep -qs '^SKIPPED' "$build/Testing/Temporary/LastTest.log"; then
        echo "skipped, and why:"
        grep '^SKIPPED' "$build/Testing/Temporary/LastTest.log" | sort -u
    fi
    return "$code"
}

# Seconds of one core that the build took where it was measured (x86-64, 3 GHz): the CPU's part with its tests, what is
# common to all CUDA architectures, and each of them.
cpu_seconds=180 cuda_seconds=90 architecture_seconds=150
announce_bundle() {
    local n cores=$(nproc) seconds=$cpu_seconds
    n=$(sed -n '/"name": "'"$preset"'"/,/}/s/.*"CMAKE_CUDA_ARCHITECTURES": "\([^"]*\)".*/\1/p' CMakePresets.json | tr ';' '\n' | wc -l)
    ! find_nvcc >/dev/null || seconds=$((seconds + cuda_seconds + n * architecture_seconds))
    echo "building for the CPU and $n CUDA architectures: about $((seconds / cores / 60 + 1)) minutes on $cores cores (log: build/$preset.log)"
}

make_bundle() {
    need "${packages[@]}" "${test_packages[@]}" xz-utils
    announce_bundle
    build_program ON
    cmake --build "$build" --target package >>"build/$preset.log" 2>&1 || { tail -n 40 "build/$preset.log" >&2; exit 1; }
    local archive
    archive=$(ls "$build"/tomostage-*-linux-x86_64.tar.xz)
    cat <<TEXT
$archive ($(du -h "$archive" | cut -f1)); on the other machine:
    tar xf $(basename "$archive") && cd $(basename "$archive" .tar.xz)
    bin/tomostage doctor
    bin/tomostage-tests -j4
TEXT
}

case $command in
demo) demo ;;
test) run_tests "${@:2}" ;;
bundle) make_bundle ;;
new-stage) exec python3 tests/house/new_stage.py "${@:2}" ;;
build) need "${packages[@]}"; build_program OFF ;;
packages) echo "${packages[@]}" "${test_packages[@]}" ;;
peers) need "${packages[@]}" "${test_packages[@]}" "${peer_packages[@]}"; build_program ON; bash lab/peers/run.sh "$build" ;;
*) sed -n '3,10s/^# \{0,1\}//p' "$0"; [ "$command" = help ] || exit 2 ;;
esac
