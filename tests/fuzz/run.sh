#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz harnesses, as many side by side as there are processors, and fails on any finding: a crash, an error of
# AddressSanitizer or UndefinedBehaviorSanitizer, an input that takes more than 10 s, or more than 3 GB of memory.
#   run.sh SECONDS [HARNESS...]         each for so many seconds, all harnesses where none is named
#   run.sh --replay [HARNESS...]        only reads the files of each corpus
#   run.sh --merge FOLDER [HARNESS...]  adds to corpus/HARNESS what of FOLDER/HARNESS reaches code that it does not reach,
#                                       and leaves out files that have become superfluous
# A long run is the same command with more seconds, such as `run.sh 28800 dicom tiff` for a night. New inputs are kept in
# BUILD/found/HARNESS; `run.sh --merge BUILD/found` brings those that matter into the corpus. Findings lie in
# BUILD/findings: `BUILD/tests/fuzz/fuzz_X FILE` repeats one. FUZZ_BUILD names the build folder (default: build/asan, of
# the preset asan, which is configured if it is missing). Corpora are small files from make_seeds.py and what was found from them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=${FUZZ_BUILD:-$source/build/asan}
[ $# -ge 1 ] || { sed -n '3,16s/^# \{0,1\}//p' "$0"; exit 2; }
seconds=$1 from=
shift
if [ "$seconds" = --merge ]; then from=$(cd "$1" && pwd) && shift; fi

command -v clang >/dev/null || { echo "clang is missing: apt-get install clang libclang-rt-14-dev libomp-14-dev" >&2; exit 1; }
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
mkdir -p "$build"
{
    { [ -f "$build/CMakeCache.txt" ] || (cd "$source" && cmake --preset asan -B "$build" "${launcher[@]}"); } &&
        cmake --build "$build" --target fuzz
} >"$build/fuzz_build.log" 2>&1 || { tail -n 40 "$build/fuzz_build.log" >&2; exit 1; }

harnesses=("$@")
if [ ${#harnesses[@]} = 0 ]; then
    for program in "$here"/fuzz_*.c; do harnesses+=("$(basename "$program" .c | cut -c6-)"); done
fi
processors=$(nproc) # asked here, since it answers OMP_NUM_THREADS where that is set
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 OMP_NUM_THREADS=1
export LSAN_OPTIONS=suppressions=$here/leaks.txt:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1
# The most that one request of memory may be is 1 GiB, for a slice of 2^28 floats that an HDF5 file claims.
limits=(-timeout=10 -rss_limit_mb=3000 -malloc_limit_mb=1100)

# DCMTK allocates what an element claims; the limit of its child's addresses refuses that, which this stands for.
limit_codec() { [ "$1" != codec ] || export ASAN_OPTIONS=$ASAN_OPTIONS:max_allocation_size_mb=256; }

merge() { # HARNESS
    local corpus=$here/corpus/$1 smaller=$build/smaller/$1
    limit_codec "$1"
    rm -rf "$smaller" && mkdir -p "$smaller" "$corpus"
    "$build/tests/fuzz/fuzz_$1" -merge=1 "${limits[@]}" "$smaller" "$corpus" "$from/$1" >"$build/merge_$1.log" 2>&1 ||
        { tail -n 20 "$build/merge_$1.log" >&2; return 1; }
    rm -rf "$corpus" && mv "$smaller" "$corpus"
    echo "corpus/$1: $(ls "$corpus" | wc -l) files, $(du -sb "$corpus" | cut -f1) bytes"
}

fuzz() { # HARNESS
    local log=$build/fuzz_$1.log options=()
    limit_codec "$1"
    mkdir -p "$build/found/$1" "$build/findings"
    if [ -f "$here/dictionaries/$1" ]; then options=(-dict="$here/dictionaries/$1"); fi
    if ! "$build/tests/fuzz/fuzz_$1" "${limits[@]}" "${options[@]}" -max_total_time="$seconds" -print_final_stats=1 \
        -artifact_prefix="$build/findings/$1-" "$build/found/$1" "$here/corpus/$1" >"$log" 2>&1; then
        echo "fuzz_$1: a FINDING after $(grep -c . "$log") lines of $log:" >&2
        grep -E -A 12 'ERROR|runtime error|SUMMARY' "$log" | head -n 40 >&2
        return 1
    fi
    # A harness whose corpus is empty or whose every input is refused at once would be green and prove nothing.
    local runs covered
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)
    [ "${runs:-0}" -gt 100 ] && [ -n "$covered" ] || { echo "fuzz_$1: only ${runs:-0} runs" >&2; return 1; }
    echo "fuzz_$1: $runs runs in $seconds s, $covered edges, nothing found"
}

replay() { # HARNESS
    local log=$build/replay_$1.log files
    limit_codec "$1"
    files=$(find "$here/corpus/$1" -type f | wc -l)
    mkdir -p "$build/findings"
    # A harness whose corpus is empty would be green and prove nothing.
    [ "$files" -gt 10 ] || { echo "fuzz_$1: its corpus has $files files" >&2; return 1; }
    "$build/tests/fuzz/fuzz_$1" "${limits[@]}" -runs=0 -artifact_prefix="$build/findings/$1-" "$here/corpus/$1" >"$log" 2>&1 ||
        { echo "fuzz_$1: a FINDING; $log ends with" >&2; tail -n 40 "$log" >&2; return 1; }
    echo "fuzz_$1: $files files, nothing found"
}

case $seconds in
--merge) work=merge ;;
--replay) work=replay ;;
*) work=fuzz ;;
esac
failed=0 running=0
for harness in "${harnesses[@]}"; do
    $work "$harness" &
    running=$((running + 1))
    if [ $running -ge $processors ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed
