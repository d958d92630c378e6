#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CI does not pass where it could compile no CUDA code. usage: test_ci.sh SOURCE
set -uo pipefail
said=$(CUDACXX=/nowhere/nvcc TOMOSTAGE_CI= "$1/.ci/run" 2>&1)
code=$?
[ $code = 1 ] || { echo "exit code $code without nvcc" >&2; exit 1; }
grep -q 'NO CUDA CODE IS COMPILED' <<<"$said" && ! grep -q '^== ' <<<"$said" || { echo "it said: $said" >&2; exit 1; }
