/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `devices` of tomostage-bench.
 */
#ifndef TESTS_BENCH_DEVICES_H
#define TESTS_BENCH_DEVICES_H

#include "pipeline/command/command.h"

extern const struct command ts_bench_devices_command;

#endif
