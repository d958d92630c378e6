#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The run of record on a machine with a GPU, from an unpacked bundle: the whole suite, the sanitizers, every stage's
# benchmark on the device, cub and NPP beside it. A quarter of an hour; one log a part, and summary.txt, in the folder OUT.
# Fails where a part does. Tests of real series and scans need TOMOSTAGE_DATA.
# usage: record_cuda.sh OUT [SECONDS for the sanitizers, 400]
set -uo pipefail
out=${1:?a folder for the logs}
sanitizer_seconds=${2:-400}
bin=$(cd "$(dirname "$0")/../../../bin" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
failed=0
if [ -z "${TOMOSTAGE_DATA:-}" ]; then
    echo "SKIPPED: TOMOSTAGE_DATA is not set: no test of real series and scans" | tee -a "$out/summary.txt"
fi
export OMP_WAIT_POLICY=passive
# NPP, where the toolkit is; the bundle's own libraries go first.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
part() { # NAME SECONDS COMMAND...
    local name=$1 seconds=$2 start=$SECONDS
    shift 2
    local code=0
    timeout "$seconds" "$@" >"$out/$name.log" 2>&1 || code=$?
    [ "$code" = 0 ] || failed=1
    echo "$name: exit code $code, $((SECONDS - start)) s; $(grep -oE 'Tested:.*' "$out/$name.log" | tail -n 1);" \
        "$(grep -c SKIPPED "$out/$name.log") skipped" | tee -a "$out/summary.txt"
}
{ date -u +%F; uname -sr; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv; "$bin/tomostage" doctor; } >"$out/machine.txt" 2>&1
part peers 100 "$bin/tomostage-bench-peers"
part bench 480 "$bin/tomostage-bench" --device cuda --save "$out/bench.json" --plot "$out/bench.svg"
part tests 180 "$bin/tomostage-tests" -j8
part bench-cpu 40 "$bin/tomostage-bench" --device cpu --runs 3
export TOMOSTAGE_JOBS=${TOMOSTAGE_JOBS:-14} TOMOSTAGE_SECONDS=$((sanitizer_seconds - 5))
part sanitizers "$sanitizer_seconds" bash "$here/sanitize_cuda.sh"
cat "$out/summary.txt"
exit $failed
