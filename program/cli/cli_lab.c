/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage bench` and `tomostage study`: the programs tomostage-bench and tomostage-study (lab/)
 * carry them out, and have their options and help.
 */
#include "program/cli/cli.h"

const struct command ts_cli_bench = {
    .name = "bench",
    .summary = "time the stages: rate, percent of the ceiling, error",
    .apart = "tomostage-bench",
};

const struct command ts_cli_study = {
    .name = "study",
    .summary = "repeat a published experiment on this machine, with a table and a chart",
    .apart = "tomostage-study",
};
