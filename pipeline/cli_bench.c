/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/bench.h"
#include "pipeline/cli.h"

static int study_reductions(const struct bench_request *request)
{
    struct ts_diag *diag = ts_diag_create();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_bench_reduction(request, stdout, diag);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}

static int bench(int argc, char **argv)
{
    enum { OPTION_JSON = 256, OPTION_DEVICE, OPTION_PLOT, OPTION_REDUCTIONS };
    static const struct option options[] = {{"json", no_argument, NULL, OPTION_JSON},
                                            {"device", required_argument, NULL, OPTION_DEVICE},
                                            {"plot", required_argument, NULL, OPTION_PLOT},
                                            {"reductions", no_argument, NULL, OPTION_REDUCTIONS},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct bench_request request = {.dtype = -1, .values = -1};
    bool reductions = false;
    int option;
    while ((option = ts_cli_option(&ts_cli_bench, argc, argv, ":h", options)) != -1) {
        if (option == OPTION_JSON)
            request.json = true;
        else if (option == OPTION_DEVICE)
            request.device = optarg;
        else if (option == OPTION_PLOT)
            request.plot = optarg;
        else if (option == OPTION_REDUCTIONS)
            reductions = true;
        else
            return option == 0 ? 0 : CLI_WRONG;
    }
    if (!ts_cli_operands(&ts_cli_bench, argc, argv, optind == argc || reductions ? 0 : 1, "a STAGE"))
        return CLI_WRONG;
    if (reductions)
        return study_reductions(&request);
    if (optind < argc && !ts_stage_find(argv[optind]))
        return ts_cli_wrong_stage(&ts_cli_bench, argv[optind]);
    request.stage = argv[optind];
    return ts_bench(&request, stdout);
}

const struct cli_command ts_cli_bench = {
    .name = "bench",
    .usage = "[STAGE] [--device DEVICE] [--json] [--plot FILE.svg] | --reductions [--device DEVICE] [--json]",
    .summary = "time the stages: rate, percent of the ceiling, error",
    .help = "      --device DEVICE     auto (the CPU, and a CUDA device where there is one), cpu, cuda or cuda:N\n"
            "      --json              an array of one object per row instead of the table\n"
            "      --plot FILE.svg     a bar chart of the rows as well\n"
            "      --reductions        instead: speed-up and efficiency of the orders in which sums are joined\n",
    .run = bench,
};
