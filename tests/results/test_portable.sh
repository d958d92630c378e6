#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks at a build with TOMOSTAGE_PORTABLE: installs it, moves it, and checks its size, its licenses, what it asks of the
# system and what it shows; runs it in one process with h5py; and runs the program and the C examples in ROOT, a Debian of
# debootstrap --variant=minbase in which nothing was installed (it needs root; without ROOT that part is left out, and says so).
# usage: test_portable.sh BUILD SOURCE [ROOT]
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2") root=${3:+$(realpath "$3")}
folder=$(mktemp -d)
finish() {
    [ -z "$root" ] || ! mountpoint -q "$root/proc" || umount "$root/proc"
    rm -rf "$folder"
}
trap finish EXIT
fail() { echo "the portable build: $1" >&2; exit 1; }
most=60000000
cmake --install "$build" --prefix "$folder/first" >"$folder/log" || fail "$(tail -n 5 "$folder/log")"
mv "$folder/first" "$folder/usr"
cd "$folder/usr"
library=$(realpath lib*/libtomostage.so)
lib=$(dirname "$library")

# Every library that a file asks for by name lies beside libtomostage, or is the system's.
system='^(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so'
files=("$lib"/*.so* bin/tomostage libexec/tomostage/sandbox)
glibc=GLIBC_2.17 libstdcxx=GLIBCXX_3.4
bytes=0
for file in "${files[@]}"; do
    [ ! -L "$file" ] || continue
    bytes=$((bytes + $(stat -c %s "$file")))
    readelf -dW "$file" >"$folder/dynamic"
    for needed in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$folder/dynamic"); do
        [[ $needed =~ $system ]] || [ -f "$lib/$needed" ] || fail "$file needs $needed"
        [[ $needed =~ $system || $needed = libtomostage* || $needed =~ -[0-9a-f]{8}\.so ]] || fail "$file needs $needed under a name that others have"
    done
    path=$(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' "$folder/dynamic")
    [[ -z $path || $path = '$ORIGIN'* && $path != *:* ]] || fail "$file looks for libraries in $path"
    objdump -T "$file" >"$folder/symbols"
    glibc=$( (echo "$glibc"; grep -oE 'GLIBC_[0-9.]+' "$folder/symbols") | sort -V | tail -n 1)
    libstdcxx=$( (echo "$libstdcxx"; grep -oE 'GLIBCXX_[0-9.]+' "$folder/symbols" || true) | sort -V | tail -n 1)
    if grep -qaE 'jbg_newlen|fftwf_plan_dft' "$file"; then fail "$file has code under the GPL"; fi
done
[ "$bytes" -lt "$most" ] || fail "its binaries have $bytes bytes, and $most are allowed"
env -i ldd "$library" bin/tomostage libexec/tomostage/sandbox >"$folder/loaded"
outside=$(awk '$3 ~ "^/" && $3 !~ "^'"$folder"'" {print $1}' "$folder/loaded" | sort -u)
for name in $outside; do [[ $name =~ $system ]] || fail "$name is loaded from the system"; done
if grep 'not found' "$folder/loaded"; then fail "a library is missing"; fi
# gcc 12 and glibc 2.36 of Debian 12 are where this was measured; those of newer systems ask for newer ones.
if grep -q '^VERSION_ID="12"' /etc/os-release; then
    [ "$glibc" = GLIBC_2.34 ] || fail "it needs $glibc; docs/install.md says 2.34"
    [ "$(printf '%s\n' GLIBCXX_3.4.29 "$libstdcxx" | sort -V | tail -n 1)" = GLIBCXX_3.4.29 ] || fail "it needs $libstdcxx, which gcc 11 has not"
fi

# What it shows for others is what its headers declare. Its own program sees the rest, and nobody the libraries in it.
nm -D --defined-only --with-symbol-versions "$library" >"$folder/symbols"
sed -n 's/.* \(.*\)@@TOMOSTAGE_0$/\1/p' "$folder/symbols" | sort >"$folder/exported"
cat "$source"/include/*.h | tr '\n' ' ' | grep -oE 'TS_PUBLIC [^;(]*\bts_[a-z0-9_]+\(' | grep -oE 'ts_[a-z0-9_]+\($' | tr -d '(' |
    sort >"$folder/declared"
diff "$folder/declared" "$folder/exported" || fail "its exports differ from its headers"
! grep -E ' (H5[A-Z]|TIFF|EVP_|ZSTD_|inflate|opj_|yaml_|blosc_|cuda[A-Z])' "$folder/symbols" || fail "it shows functions of the libraries in it"

# Each part has a license, and its text is there.
/usr/bin/python3 - share/tomostage/sbom.spdx.json >"$folder/parts" <<'PYTHON' || fail "$(cat "$folder/parts")"
import json, os, sys
parts = json.load(open(sys.argv[1]))["packages"][1:]
names = " ".join(part["comment"] for part in parts)
for name in "libhdf5", "libcrypto", "libtiff", "libyaml", "libdcmdata", "libkissfft", "libgomp", "libsnappy":
    assert name in names, f"the list of parts lacks {name}"
for part in parts:
    named = part["licenseDeclared"]
    assert named != "NOASSERTION" and not named.startswith("GPL-2") and ("GPL" not in named or any(
        word in named for word in ("LGPL", "WITH", " OR "))), f"{part['name']} is under {named}"
    if os.path.exists("/usr/bin/dpkg-query") and not part["name"].startswith(("libc6", "libgcc", "libstdc++", "nvidia")):
        assert os.path.exists(f"share/doc/tomostage/licenses/{part['name']}"), f"no text of the license of {part['name']}"
print(len(parts), "parts")
PYTHON

# Where cuFFT is looked for. Libraries that say who they are stand for it.
if grep -q ' ts_cuda_fft_create@' "$folder/symbols"; then
    /usr/bin/python3 "$source/tests/results/portable_cufft.py" "$lib" || fail "it does not find cuFFT"
else
    echo "SKIPPED: this build has no CUDA code, so that where it looks for cuFFT is not tested"
fi

# In one process with h5py, which brings another HDF5.
cd "$folder"
env -i usr/bin/tomostage phantom head --size 32 --slices 3 -o study >log 2>&1 || fail "$(cat log)"
cat >chain.yaml <<'YAML'
tomostage: 2
input: {dicom: study}
stages: [box: {radius: 1}]
output: {hdf5: out.h5}
YAML
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs tomostage)
if /usr/bin/python3 -c 'import h5py' 2>log; then
    cc -shared -fPIC -Dmain=run_example "$source/docs/example.c" $flags -Wl,-rpath,"$lib" -o example.so
    /usr/bin/python3 >log 2>&1 <<'PYTHON' || fail "with h5py: $(cat log)"
import ctypes
import h5py
example = ctypes.CDLL("./example.so", ctypes.RTLD_GLOBAL)
with h5py.File("other.h5", "w") as file:  # open while the library writes its own
    file["a"] = [1, 2, 3]
    assert example.run_example(2, (ctypes.c_char_p * 3)(b"example", b"chain.yaml", None)) == 0
    file["b"] = file["a"][:] * 2
with h5py.File("out.h5") as file:
    assert file["entry/data/data"].shape == (3, 32, 32)
PYTHON
else
    echo "SKIPPED: h5py is not installed, so that two HDF5 in one process are not tested"
fi
rm -f out.h5

# Where nothing is installed: files that DCMTK decodes, HDF5, and the examples, which are compiled here.
if [ -z "$root" ]; then
    echo "SKIPPED: no ROOT was named, so that it was not run in a bare Debian"
else
    # The loader of glibc learns from /proc where a program lies.
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    place=$root/opt/portable
    rm -rf "$place" && mkdir -p "$place"
    cp -r usr study chain.yaml "$place"
    for kind in jpeg jpls; do
        command -v dcmc$kind >/dev/null || { echo "SKIPPED: dcmc$kind is not installed, so that its kind of DICOM is not read"; continue; }
        mkdir "$place/$kind"
        for file in study/*; do dcmc$kind "$file" "$place/$kind/$(basename "$file")"; done
    done
    for example in '' _arrays _operator _threads; do
        cc "$source/docs/example$example.c" $flags -lm -pthread '-Wl,-rpath,$ORIGIN/usr/lib' -o "$place/example$example"
    done
    inside() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin bash -c "cd /opt/portable && $1" >log 2>&1 || fail "in the bare Debian: $1: $(cat log)"; }
    inside 'usr/bin/tomostage doctor'
    inside './example chain.yaml && usr/bin/tomostage verify out.h5'
    inside "usr/bin/tomostage run 'result out.h5 | invert | hdf5 again.h5'"
    for kind in jpeg jpls; do
        [ ! -d "$place/$kind" ] || inside "usr/bin/tomostage diff study $kind"
    done
    inside './example_arrays' && grep -q '^smoothed 65536 values, mean 31\.5$' log || fail "the example of arrays says: $(cat log)"
    inside './example_operator' && grep -q '^off by 6 % after 50 iterations$' log || fail "the example of operators says: $(cat log)"
    if grep -q ' ts_cuda_fft_create@' symbols; then
        cc -xc - $flags '-Wl,-rpath,$ORIGIN/usr/lib' -o "$place/without" <<'C'
#include <tomostage.h>
enum ts_status ts_cuda_fft_create(void *, const char *, const void *, void *, struct ts_diag *, void **);
int main(void)
{
    static const char shape[1024];
    void *fft;
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_cuda_fft_create(NULL, "filter", shape, NULL, diag, &fft);
    ts_diag_print(diag, stdout);
    return status == TS_OK;
}
C
        inside './without' && grep -q 'libcufft.so.* was not found \[cufft-missing\]' log && grep -q 'Python: nvidia-cufft' log ||
            fail "without cuFFT it says: $(cat log)"
    fi
    inside './example_threads' && [ "$(grep -c '^thread [0-3]: mean [1-4]$' log)" = 4 ] || fail "the example of threads says: $(cat log)"
    rm -rf "$place"
fi
echo "$bytes bytes in $(ls "$lib"/*.so.* | wc -l) libraries and 2 programs, $(cat parts); of the system: $(echo $outside); $glibc, $libstdcxx"
