/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `deflate` of tomostage-bench.
 */
#ifndef LAB_BENCH_DEFLATE_COMMAND_H
#define LAB_BENCH_DEFLATE_COMMAND_H

#include "pipeline/command/command.h"

extern const struct command ts_bench_deflate_command;

#endif
