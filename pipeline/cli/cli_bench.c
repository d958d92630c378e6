/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "pipeline/bench/bench.h"
#include "pipeline/cli/cli.h"

static int study_reductions(const struct bench_request *request)
{
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return TS_RUN_FAILED;
    return ts_cli_finish_take(diag, ts_bench_reduction(request, stdout, diag), false);
}

static int bench(int argc, char **argv)
{
    enum { OPTION_REDUCTIONS = BENCH_OPTIONS_END };
    static const struct option options[] = {
        BENCH_OPTIONS, {"reductions", no_argument, NULL, OPTION_REDUCTIONS}, {"help", no_argument, NULL, 'h'}, {0}};
    struct bench_request request = {.dtype = -1, .values = -1};
    bool reductions = false;
    int option;
    while ((option = ts_cli_option(&ts_cli_bench, argc, argv, ":h", options)) != -1) {
        if (option == OPTION_REDUCTIONS)
            reductions = true;
        else if (option < BENCH_STAGE)
            return option == 0 ? 0 : CLI_WRONG;
        else if (!ts_bench_option(&request, option, optarg))
            return ts_cli_wrong(&ts_cli_bench, "'%s' is not a value that this option takes; see --help", optarg);
    }
    if (!ts_cli_operands(&ts_cli_bench, argc, argv, optind == argc || reductions ? 0 : 1, "a STAGE"))
        return CLI_WRONG;
    if (reductions)
        return study_reductions(&request);
    if (optind < argc && strcmp(argv[optind], "chain") && !ts_stage_find(argv[optind]))
        return ts_cli_wrong_stage(&ts_cli_bench, argv[optind]);
    if (optind == argc && request.parameters)
        return ts_cli_wrong(&ts_cli_bench, "--parameters are those of a STAGE, which is missing");
    request.stage = argv[optind];
    return ts_bench(&request, argc, argv, stdout);
}

const struct cli_command ts_cli_bench = {
    .name = "bench",
    .usage = "[STAGE] [--size ZxYxX] [--dtype TYPE] [--values NAME] [--device DEVICE] [--plot FILE.svg] | --reductions",
    .summary = "time the stages: rate, percent of the ceiling, error",
    .help =
        "STAGE is timed in each of its methods and types, over all values and three sizes: 512 x 512 (so many slices\n"
        "that no cache holds them), one such slice, and 2,048 x 2,048; without it every stage in 512 x 512, and a\n"
        "`chain` of three on one slice (which `bench chain` times alone), in the values that matter. Rows: minutes.\n\n"
        "      --parameters 'A=1 B=name'  only with these parameters; 'A=1|A=2' is two cases, method=* every method\n"
        "      --size ZxYxX        only in this size\n"
        "      --dtype TYPE        only in this type: u8, i16, u16, f32, ...\n"
        "      --values NAME       only with these values: ct, uniform, constant or checker\n"
        "      --device DEVICE     auto (the CPU, and a CUDA device where there is one), cpu, cuda or cuda:N\n"
        "      --threads N         on the CPU with N threads, from 1 to 4096, instead of one and all\n"
        "      --runs N            the median of N runs\n"
        "      --json              an array of one object per row instead of the table\n"
        "      --save FILE.json    the same into a file, beside the table\n"
        "      --plot FILE.svg     a bar chart of the rows as well\n"
        "      --reductions        instead: speed-up and efficiency of the orders in which partial results are joined, "
        "for\n"
        "                          sum, product, min, max, variance and tables; --size ZxYxX: for at most Z Y X "
        "values,\n"
        "                          1,024 values and 16 tables always;\n"
        "                          --plot: against processors; --parameters, --dtype, --values and --threads play no "
        "part\n",
    .run = bench,
};
