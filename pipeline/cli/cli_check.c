/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/cli/cli.h"
#include "pipeline/plan/geometry_picture.h"

static void print_picture_help(FILE *stream)
{
    fputs(
        "      --picture FILE.svg  draws how the chain's sinogram is taken: source, detector, rotation axis, sense of\n"
        "                          the angle, field of view, with numbers\n",
        stream);
}

static int check(int argc, char **argv)
{
    struct cli_chain arguments;
    int code;
    if (!ts_cli_chain_arguments(&ts_cli_check, argc, argv, &arguments, &code))
        return code;
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    enum ts_status status = ts_cli_chain_load(&arguments, &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments.options, &plan, diag);
    if (status == TS_OK)
        ts_plan_warn_output(plan, diag);
    if (status == TS_OK && !arguments.quiet)
        ts_plan_print(plan, stdout, arguments.json);
    if (status == TS_OK && arguments.picture)
        status = ts_geometry_write(plan, arguments.picture, arguments.options.force, diag);
    if (status == TS_OK && arguments.picture)
        ts_cli_written(arguments.picture);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return ts_cli_finish_take(diag, status, arguments.json);
}

const struct cli_command ts_cli_check = {
    .name = "check",
    .usage = "CHAIN [options]",
    .summary = "plan a chain without running it: shapes, units, bytes, or all that is wrong",
    .help = ts_cli_chain_options,
    .more_help = print_picture_help,
    .run = check,
};
