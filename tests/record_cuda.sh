#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The run of record on a machine with a GPU, from an unpacked bundle: cub and NPP beside tomostage, every stage's benchmark
# on the device, the whole suite, the CPU's benchmark, the sanitizers. One log a part, and summary.txt, in the folder OUT.
# Fails where a part does. Tests of real series and scans need TOMOSTAGE_DATA.
# usage: record_cuda.sh OUT [PART]...
#   PART    peers, bench, tests, bench-cpu, sanitizers; none: all of them, half an hour. Where one command may not take so
#           long, call it several times with the same OUT, whose summary grows:
#               record_cuda.sh OUT peers bench
#               record_cuda.sh OUT tests bench-cpu
#               TOMOSTAGE_PART=1/3 record_cuda.sh OUT sanitizers      # then 2/3 and 3/3; sanitize_cuda.sh says more
# environment: TOMOSTAGE_JOBS and TOMOSTAGE_SECONDS for the sanitizers (14, 1500)
set -uo pipefail
out=${1:?a folder for the logs}
shift
[ $# -gt 0 ] || set -- peers bench tests bench-cpu sanitizers
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
        "$(grep -cE 'SKIPPED' "$out/$name.log") skipped" | tee -a "$out/summary.txt"
}
sanitizers() {
    export TOMOSTAGE_JOBS=${TOMOSTAGE_JOBS:-14} TOMOSTAGE_SECONDS=${TOMOSTAGE_SECONDS:-1500} TOMOSTAGE_PART=${TOMOSTAGE_PART:-1/1}
    part "sanitizers-${TOMOSTAGE_PART/\//-of-}" $((TOMOSTAGE_SECONDS + 60)) bash "$here/sanitize_cuda.sh"
}
{ date -u +%F; uname -sr; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv; "$bin/tomostage" doctor; } >"$out/machine.txt" 2>&1
for which in "$@"; do
    case $which in
    peers) part peers 100 "$bin/tomostage-bench-peers" ;;
    bench) part bench 480 "$bin/tomostage-bench" --device cuda --save "$out/bench.json" --plot "$out/bench.svg" ;;
    tests) part tests 180 "$bin/tomostage-tests" -j8 ;;
    bench-cpu) part bench-cpu 40 "$bin/tomostage-bench" --device cpu --runs 3 ;;
    sanitizers) sanitizers ;;
    *) echo "there is no part '$which'; peers, bench, tests, bench-cpu and sanitizers are" >&2; exit 2 ;;
    esac
done
cat "$out/summary.txt"
exit $failed
