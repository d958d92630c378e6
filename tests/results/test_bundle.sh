#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the bundle elsewhere: its size, what it asks of the system, whether it finds its own libraries, licenses, and a
# few tests.
# usage: test_bundle.sh ARCHIVE
set -euo pipefail
test=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "the bundle: $1" >&2; exit 1; }
bytes=$(stat -c %s "$1")
[ "$bytes" -lt 40000000 ] || fail "$bytes bytes, and 40,000,000 are allowed"
tar xf "$1" -C "$folder" --strip-components=1
cd "$folder"
system='^(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv)\.so'
for file in bin/* lib/*; do
    objdump -T "$file" >symbols
    newest=$( (grep -oE 'GLIBC_[0-9.]+' symbols; echo GLIBC_2.36) | sort -V | tail -n 1)
    [ "$newest" = GLIBC_2.36 ] || fail "$file needs $newest"
    readelf -d "$file" >dynamic
    for library in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' dynamic); do
        [[ $library =~ $system ]] || [ -f "lib/$library" ] || fail "$file needs $library, which is not in lib/"
    done
    if grep -q '(RUNPATH)' dynamic; then fail "$file has a RUNPATH: its libraries are looked for elsewhere"; fi
done
for library in libstdc++.so.6 libgcc_s.so.1; do
    [ -f lib/$library ] || fail "there is no lib/$library: a system's may be older"
done
# Libraries that are linked statically have licenses too.
licenses=share/doc/tomostage/licenses
if grep -qa cudaErrorInvalidValue bin/* lib/*; then
    grep -qs 'Attachment A' $licenses/nvidia-cuda-runtime || fail "there is no license of the CUDA runtime"
fi
if [ -f bin/tomostage-bench-peers ]; then
    grep -qs 'WITH LLVM-exception' $licenses/nvidia-cccl || fail "there is no license of CCCL"
fi
python3 "$(dirname "$test")/test_sbom.py" --bundle . >parts || fail "the list of its parts is wrong"
mkdir elsewhere && cd elsewhere
export OMP_WAIT_POLICY=passive
env -u LD_LIBRARY_PATH ../bin/tomostage doctor >doctor || fail "doctor says: $(cat doctor)"
LD_DEBUG=libs ../bin/tomostage stages 2>loaded >/dev/null
for library in $(sed -n 's/.*calling init: //p' loaded); do
    [[ $library = "$folder"/* || $(basename "$library") =~ $system ]] || fail "$library was loaded, not the one of lib/"
done
../bin/tomostage-tests --filter '@(yaml|cli_run|chains|dicom_rle)/*' >tests.log 2>&1 || fail "$(tail -n 20 tests.log)"
echo "$(basename "$1"): $((bytes / 1000000)) MB, $(ls ../lib | wc -l) libraries, $(grep -oE 'Tested: .*' tests.log)"
