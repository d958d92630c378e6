/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `deflate` of tomostage-bench.
 */
#ifndef TESTS_BENCH_DEFLATE_H
#define TESTS_BENCH_DEFLATE_H

#include "pipeline/command/command.h"

extern const struct command ts_bench_deflate_command;

#endif
