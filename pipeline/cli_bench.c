/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/bench.h"
#include "pipeline/cli.h"

static int bench(int argc, char **argv)
{
    enum { OPTION_JSON = 256 };
    static const struct option options[] = {
        {"json", no_argument, NULL, OPTION_JSON}, {"help", no_argument, NULL, 'h'}, {0}};
    bool json = false;
    int option;
    while ((option = ts_cli_option(&ts_cli_bench, argc, argv, ":h", options)) != -1) {
        if (option != OPTION_JSON)
            return option == 0 ? 0 : CLI_WRONG;
        json = true;
    }
    if (!ts_cli_operands(&ts_cli_bench, argc, argv, optind == argc ? 0 : 1, "a STAGE"))
        return CLI_WRONG;
    if (optind < argc && !ts_stage_find(argv[optind]))
        return ts_cli_wrong_stage(&ts_cli_bench, argv[optind]);
    return ts_bench(argv[optind], json, stdout);
}

const struct cli_command ts_cli_bench = {
    .name = "bench",
    .usage = "[STAGE] [--json]",
    .summary = "time the stages: rate, percent of memcpy, error",
    .help = "      --json              an array of one object per case instead of the table\n",
    .run = bench,
};
