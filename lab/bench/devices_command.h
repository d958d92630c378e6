/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `devices` of tomostage-bench.
 */
#ifndef LAB_BENCH_DEVICES_COMMAND_H
#define LAB_BENCH_DEVICES_COMMAND_H

#include "pipeline/command/command.h"

extern const struct command ts_bench_devices_command;

#endif
