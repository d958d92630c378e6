#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bootstrap.sh builds what the machine can run, and finds what it has built. Programs of a few lines stand in for the
# package manager, the GPU, nvcc, CMake and Python, so that every kind of machine is tried in a second.
# usage: test_bootstrap.sh SOURCE
set -uo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "bootstrap.sh: $1" >&2; cat "$folder/said" >&2; exit 1; }
mkdir -p "$folder/bin" "$folder/clone/lab/peers" "$folder/clone/datasets/chains"
cp "$source/bootstrap.sh" "$source/CMakePresets.json" "$folder/clone"
cp "$source/lab/peers/run.sh" "$folder/clone/lab/peers"
touch "$folder/clone/lab/peers/compare.py" "$folder/clone/datasets/chains/demo.yaml"
stub() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$folder/bin/$1" && chmod +x "$folder/bin/$1"; }
stub dpkg-query 'echo "install ok installed"'
stub nvidia-smi '[ -n "${GPU:-}" ]'
stub nvcc ''
stub ctest 'mkdir -p "$2/Testing/Temporary" && printf "ok\nSKIPPED view: no X server\n" >"$2/Testing/Temporary/LastTest.log"; exit "${FAULTS:-0}"'
# Keeps what it was called with, and builds programs that say who they are.
stub cmake 'echo "$*" >>"$CALLS"
[ "$1" = --build ] || exit 0
for program in tomostage tomostage-bench; do printf "#!/bin/sh\necho %s ran\n" $program >$2/$program && chmod +x $2/$program; done
touch $2/tomostage-0-linux-x86_64.tar.xz'
# It stands for Python, which is asked whether the modules are there, and then runs the comparison, which starts the
# benchmark program.
stub python '[ "$1" = -c ] || "$TOMOSTAGE_BENCH"'
unset CUDACXX TOMOSTAGE_PRESET
run() { # [VARIABLE=VALUE]... COMMAND
    rm -rf "$folder/clone/build" && mkdir -p "$folder/clone/build/release" "$folder/clone/build/ci"
    : >"$folder/calls"
    env PATH="$folder/bin:$PATH" CALLS="$folder/calls" PYTHON="$folder/bin/python" "${@:1:$#-1}" \
        "$folder/clone/bootstrap.sh" "${@: -1}" >"$folder/said" 2>&1 || fail "$* failed"
    calls=$(cat "$folder/calls")
}

for command in demo test build peers; do
    run $command
    [[ $calls == *TOMOSTAGE_CUDA=off* ]] || fail "$command without a GPU builds CUDA code: $calls"
    grep -q 'no NVIDIA GPU' "$folder/said" || fail "$command without a GPU does not say so"
    run GPU=yes $command
    [[ $calls == *CMAKE_CUDA_ARCHITECTURES=native* && $calls != *off* ]] || fail "$command with a GPU builds not for it: $calls"
done
for machine in GPU= GPU=yes; do
    run $machine bundle
    [[ $calls != *native* && $calls != *off* ]] || fail "a bundle is for this machine alone: $calls"
    grep -qE 'architectures.* minutes' "$folder/said" || fail "a bundle does not say how long it takes"
done
run TOMOSTAGE_PRESET=ci demo
[[ $calls != *native* && $calls != *off* ]] || fail "the preset ci is changed: $calls"
run test
grep -qx 'SKIPPED view: no X server' "$folder/said" || fail "test does not say why tests are skipped"
(run FAULTS=8 test) >/dev/null 2>&1 && fail "test hides that tests have failed"

# What somebody has made in demo/ stays, and each step has its time.
mkdir -p "$folder/clone/demo" && echo mine | tee "$folder/clone/demo/notes" "$folder/clone/demo/demo.yaml" >/dev/null
run demo
[ "$(cat "$folder/clone/demo/notes" "$folder/clone/demo/demo.yaml")" = $'mine\nmine' ] || fail "demo removes what was there"
[ "$(grep -cE '^ *[0-9]+ s  ' "$folder/said")" -ge 4 ] || fail "demo does not print its steps and their time"
run peers
grep -qx 'tomostage-bench ran' "$folder/said" || fail "peers does not find the benchmark program"
echo "it builds what the machine can run"
