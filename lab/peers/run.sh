#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares tomostage with OpenCV, SciPy and scikit-image on one core, then whole runs on all of them. usage: run.sh BUILD
# Exits 0 where every goal is met and every value agrees, 1 where not, 2 where a tool is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
build=$1
python=${PYTHON:-/usr/bin/python3}
export TOMOSTAGE_BENCH="$build/tomostage-bench"

if [ ! -x "$TOMOSTAGE_BENCH" ]; then
    echo "peers: $TOMOSTAGE_BENCH is not built: cmake --build $build --target tomostage-bench" >&2
    exit 2
fi
if ! "$python" -c 'import cv2, numpy, scipy.ndimage, skimage.transform' 2>/dev/null; then
    echo "peers: the other tools are missing: apt-get install python3-opencv python3-scipy python3-skimage" >&2
    exit 2
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
# One core for both sides, where the machine lets us choose.
pin=()
if command -v taskset >/dev/null; then
    first=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
    pin=(taskset -c "$first")
fi
failed=0
"${pin[@]}" "$python" "$here/compare.py" || failed=$?
unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS
"$python" "$here/whole_runs.py" "$build/tomostage" || failed=$?
exit "$failed"
