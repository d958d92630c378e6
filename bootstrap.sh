#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 24.04 to a running tomostage: installs what is missing, builds, and then
#   ./bootstrap.sh demo    makes a phantom CT study, runs datasets/chains/demo.yaml on it, leaves demo/demo.h5 and a picture
#   ./bootstrap.sh test    runs the whole test suite
#   ./bootstrap.sh peers   installs OpenCV, scipy and scikit-image and compares values and speed with them
#   ./bootstrap.sh build   only builds
#   ./bootstrap.sh bundle  makes one archive, program, tests and libraries, that runs on another machine as it is
#   ./bootstrap.sh new-stage ROOM NAME  writes the files of a new stage that works, to be changed (docs/CONTRIBUTING.md)
set -euo pipefail
cd "$(dirname "$0")"
command=${1:-help}
preset=${TOMOSTAGE_PRESET:-release}
build=build/$preset

packages=(gcc g++ cmake ninja-build pkg-config git libyaml-dev libhdf5-dev libdcmtk-dev libssl-dev libdeflate-dev libpng-dev libtiff-dev libfftw3-dev)
test_packages=(libcriterion-dev hdf5-tools dcmtk python3-h5py python3-numpy python3-pydicom)
[ "$preset" != asan ] || test_packages+=(libkissfft-dev)
peer_packages=(python3-numpy python3-scipy python3-skimage python3-opencv python3-h5py)

need() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ]; then
        echo "installing: ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/tmp/tomostage-install.log 2>&1 ||
            { tail -n 20 /tmp/tomostage-install.log >&2; exit 1; }
    else
        echo "These packages are missing. Run this, then the same command again:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
}

build_program() {
    local tests=$1 log=build/$preset.log
    mkdir -p build
    if ! command -v nvcc /usr/local/cuda/bin/nvcc >/dev/null && [ -z "${CUDACXX:-}" ]; then
        echo "no CUDA toolkit found: building the CPU program"
    fi
    local architectures=()
    # For the GPU of this machine alone, where there is one; a bundle gets all that the preset names.
    if [ "$command" != bundle ] && nvidia-smi -L >/dev/null 2>&1; then
        architectures=(-DCMAKE_CUDA_ARCHITECTURES=native)
    fi
    cmake --preset "$preset" -DTOMOSTAGE_TESTS="$tests" "${architectures[@]}" >"$log" 2>&1 && cmake --build "$build" >>"$log" 2>&1 ||
        { tail -n 40 "$log" >&2; exit 1; }
}

demo() {
    local start=$SECONDS
    need "${packages[@]}"
    build_program OFF
    rm -rf demo && mkdir demo
    "$build/tomostage" phantom shepp-logan -o demo/study
    cp datasets/chains/demo.yaml demo/demo.yaml
    "$build/tomostage" run demo/demo.yaml -o demo/demo.h5
    "$build/tomostage" preview demo/demo.h5 -o demo/demo.png
    cat <<TEXT
demo/study     a Shepp-Logan head phantom as a CT series: 24 DICOM files in HU
demo/demo.yaml the chain: smooth, histogram, equalize, keep, project
demo/demo.h5   the result; look inside with: $build/tomostage info demo/demo.h5
               /entry/equalized/data is the equalized volume, /entry/data/data the sinogram (z, view, detector)
               /entry/process_2_histogram/tables/counts is the histogram; every parameter stands beside it
demo/demo.png  a picture of both: the middle slice and its sinogram
next           $build/tomostage run 'dicom demo/study | window center=40 width=400 unit=HU | hdf5 demo/window.h5'
               $build/tomostage stages lists the stages, $build/tomostage check demo/demo.yaml shows the plan
took           $((SECONDS - start)) s
TEXT
}

run_tests() {
    need "${packages[@]}" "${test_packages[@]}"
    build_program ON
    ctest --test-dir "$build" --output-on-failure "${@}"
}

make_bundle() {
    need "${packages[@]}" "${test_packages[@]}"
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
peers) need "${packages[@]}" "${test_packages[@]}" "${peer_packages[@]}"; build_program ON; TOMOSTAGE_BUILD=$build bash tests/peers/run.sh ;;
*) sed -n '3,9s/^# \{0,1\}//p' "$0"; [ "$command" = help ] || exit 2 ;;
esac
