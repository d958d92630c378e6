/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage check`: plans a chain, prints the plan, and draws the geometry of its scan where that is asked for.
 */
#include "pipeline/cli/cli.h"
#include "pipeline/command/rates_path.h"
#include "pipeline/drawing/geometry_picture.h"

static const struct command_option options[] = {
    CLI_CHAIN_OPTIONS,
    {"resume-from", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, resume_from), "FILE.h5",
     "start from the images that this result of the same inputs holds, where the\n"
     "chain has not changed before them; the output is the same as without"},
    {"picture", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, picture), "FILE.svg",
     "draws how the chain's sinogram is taken: source, detector, rotation axis, sense of\n"
     "the angle, field of view, with numbers"}};

static int check(char **operands)
{
    struct cli_chain *arguments = &ts_cli_chain;
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    arguments->options.rates = ts_rates_path_found();
    enum ts_status status = ts_cli_chain_load(operands[0], &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments->options, &plan, diag);
    if (status == TS_OK && arguments->resume_from)
        status = ts_plan_resume(plan, arguments->resume_from, diag);
    if (status == TS_OK)
        ts_plan_warn_output(plan, diag);
    if (status == TS_OK && !arguments->quiet)
        ts_plan_print(plan, stdout, arguments->json);
    if (status == TS_OK && arguments->picture)
        status = ts_geometry_write(plan, arguments->picture, arguments->options.force, diag);
    if (status == TS_OK && arguments->picture)
        ts_command_written(arguments->picture);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return ts_command_finish_take(diag, status, arguments->json);
}

const struct command ts_cli_check = {
    .name = "check",
    .usage = "CHAIN [options]",
    .summary = "plan a chain without running it: shapes, units, bytes, or all that is wrong",
    .help = ts_cli_chain_help,
    COMMAND_ARGUMENTS(options, ts_cli_chain),
    .operands = {1, 1, "a CHAIN"},
    .run = check,
};
