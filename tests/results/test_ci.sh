#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CI does not pass where it could compile no CUDA code, nor where a file of any of the languages is not formatted. It names
# the stages that run on the CPU alone.
# usage: test_ci.sh SOURCE
set -uo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "CI: $1" >&2; exit 1; }
said=$(CUDACXX=/nowhere/nvcc TOMOSTAGE_CI= "$source/.ci/run" 2>&1)
code=$?
[ $code = 1 ] || fail "exit code $code without nvcc"
grep -q 'NO CUDA CODE IS COMPILED' <<<"$said" && ! grep -q '^== ' <<<"$said" || fail "it said: $said"
said=$("$source/.ci/run" formatt 2>&1) && fail "a step that is none was accepted"
grep -q 'no step formatt' <<<"$said" || fail "it said: $said"

if command -v clang-format >/dev/null && command -v git >/dev/null; then
    mkdir "$folder/clone" && cp -r "$source/.ci" "$source/.clang-format" "$folder/clone" && cd "$folder/clone" && git init -q .
    for kind in c h cc cu cuh inc; do
        echo 'int  a ;' >"planted.$kind"
        git add "planted.$kind"
        if .ci/run format >"$folder/log" 2>&1; then fail "a file .$kind that is not formatted has passed"; fi
        echo 'int a;' >"planted.$kind"
        git add "planted.$kind"
        .ci/run format >"$folder/log" 2>&1 || fail "a file .$kind that is formatted has not passed: $(cat "$folder/log")"
    done
    grep -q 'on the CPU alone' "$folder/log" && fail "it names a stage where there is none: $(cat "$folder/log")"
    mkdir -p stages/filters && printf 'const struct stage planted_stage = {\n    .cpu_only = "its kernel is not written yet",\n};\n' >stages/filters/planted.c
    git add stages
    .ci/run format >"$folder/log" 2>&1 || fail "a formatted stage has not passed: $(cat "$folder/log")"
    grep -q '^on the CPU alone: stages/filters/planted.c:.*its kernel is not written yet' "$folder/log" ||
        fail "it does not name the stage: $(cat "$folder/log")"
fi
