/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage check`: plans a chain, prints the plan, and draws the geometry of its scan where that
 * is asked for.
 */
#include <string.h>

#include "pipeline/plan/scale.h"
#include "program/cli/cli.h"
#include "program/cli/rates_path.h"
#include "program/show/geometry_picture.h"

static const struct command_option options[] = {
    CLI_CHAIN_OPTIONS,
    {"resume-from", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, resume_from), "FILE.h5",
     "start from the images that this result of the same inputs holds, where the\n"
     "chain has not changed before them; the output is the same as without"},
    {"machine", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, machine), "FILE.yaml",
     "predicts the time and memory of the chain on another machine, with 1, 2, 4, ...\n"
     "ranks or GPUs, and what will bound it"},
    {"picture", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, picture), "FILE.svg",
     "draws how the chain's sinogram is taken: source, detector, rotation axis, sense of\n"
     "the angle, field of view, with numbers"}};

/* Predicts the chain for the machine that --machine names. The plan is no longer one of this
 * machine then. */
static enum ts_status predict_elsewhere(struct ts_plan *plan, struct machine *machine,
                                        const struct rates *rates, struct ts_diag *diag)
{
    const char *device = ts_cli_chain.options.device;
    if (!ts_plan_computes_on_cuda(plan->chain) || (device && !strcmp(device, "cpu")))
        machine->gpus = 0;
    return ts_cli_chain.quiet
               ? TS_OK
               : ts_scale_print(plan, machine, rates, stdout, ts_cli_chain.json, diag);
}

static int check(char **operands)
{
    struct cli_chain *arguments = &ts_cli_chain;
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct machine machine;
    struct rates rates;
    arguments->options.rates = ts_rates_path_found();
    enum ts_status status = TS_OK;
    if (arguments->machine)
        status =
            ts_machine_load(arguments->machine, arguments->options.rates, &machine, &rates, diag);
    if (status == TS_OK)
        status = ts_cli_chain_load(operands[0], &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments->options, &plan, diag);
    if (status == TS_OK && arguments->resume_from)
        status = ts_plan_resume(plan, arguments->resume_from, diag);
    if (status == TS_OK)
        ts_plan_warn_output(plan, diag);
    if (status == TS_OK && !arguments->quiet)
        ts_plan_print(plan, stdout, arguments->json);
    if (status == TS_OK && arguments->picture)
        status = ts_plan_keep_inputs(plan, arguments->picture, diag);
    if (status == TS_OK && arguments->picture)
        status = ts_geometry_write(plan, arguments->picture, arguments->options.force, diag);
    if (status == TS_OK && arguments->picture)
        ts_command_written(arguments->picture);
    if (status == TS_OK && arguments->machine)
        status = predict_elsewhere(plan, &machine, &rates, diag);
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
