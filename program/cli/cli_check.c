/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage check`: plans a chain, prints the plan, and, if asked to, draws the geometry of its
 * scan.
 */
#include <inttypes.h>
#include <string.h>

#include "core/json.h"
#include "io/file/whole_file.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/plan/predict.h"
#include "pipeline/plan/scale.h"
#include "pipeline/rates/machine.h"
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

static void print_head(const struct machine *machine, const struct rates *rates, FILE *stream)
{
    fprintf(stream, "on %" PRId64 " %s of %" PRId64 " processors and %g GiB", machine->nodes,
            machine->nodes == 1 ? "node" : "nodes", machine->cores, machine->memory);
    if (machine->gpus > 0)
        fprintf(stream, ", each with %" PRId64 " x %s", machine->gpus, rates->device);
    fprintf(stream, ":\n%7s %7s %12s %8s %14s%s  %s\n", machine->gpus > 0 ? "GPUs" : "ranks",
            "nodes", "predicted", "gain", "node's memory",
            machine->gpus > 0 ? "   GPU's memory" : "", "bound");
}

static void print_row(const struct scale_row *row, bool cuda, double one, FILE *stream)
{
    fprintf(stream, "%7" PRId64 " %7" PRId64, row->ranks, row->nodes);
    if (row->refusal) {
        fprintf(stream, " does not fit: %s\n", row->refusal);
        return;
    }
    fprintf(stream, " %10.2f s %8.2f %10.1f GiB", row->prediction.seconds,
            one / row->prediction.seconds, (double)row->node_bytes / (1 << 30));
    if (cuda && row->gpu_bytes > 0)
        fprintf(stream, " %10.1f GiB", (double)row->gpu_bytes / (1 << 30));
    else if (cuda)
        fprintf(stream, "%15s", "not counted");
    fprintf(stream, "  %s\n", row->bound);
}

static void print_row_json(const struct scale_row *row, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_integer(json, "ranks", row->ranks);
    ts_json_member_integer(json, "nodes", row->nodes);
    if (row->refusal) {
        ts_json_member_text(json, "refusal", row->refusal);
    } else {
        ts_json_member_real(json, "seconds", row->prediction.seconds);
        ts_json_member_text(json, "bound", row->bound);
        ts_json_member_real(json, "bound_seconds", row->prediction.bound_seconds);
        ts_json_member_integer(json, "node_memory_bytes", row->node_bytes);
        if (row->gpu_bytes > 0)
            ts_json_member_integer(json, "gpu_memory_bytes", row->gpu_bytes);
        ts_json_open_member(json, "parts", '{');
        for (int i = 0; i < PREDICT_PARTS; i++)
            ts_json_member_real(json, ts_predict_part_name((enum predict_part)i),
                                row->prediction.parts[i].seconds);
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
}

/* Says which stage has no rate, and what the prediction does not include. */
static void print_foot(const struct ts_plan *plan, const struct scale_row *last, FILE *stream)
{
    if (last->prediction.ratio < 1 && !last->refusal)
        fprintf(stream, "assumes that compression leaves %.0f %%", 100 * last->prediction.ratio);
    if (last->prediction.no_rate_of)
        fprintf(stream, "%s%s",
                last->prediction.ratio < 1 ? "; the rate is assumed of " : "assumes the rate of ",
                last->prediction.no_rate_of);
    if (last->prediction.ratio < 1 || last->prediction.no_rate_of)
        fputc('\n', stream);
    if (plan->cuda && last->gpu_bytes == 0)
        fputs("the memory of GPUs is not counted, since this build has no CUDA code\n", stream);
}

/* Prints a row for 1, 2, 4, ... ranks and for all, as a table or as one JSON object (event
 * `scale`). */
static enum ts_status scale_print(struct ts_plan *plan, const struct machine *machine,
                                  const struct rates *rates, FILE *stream, bool json,
                                  struct ts_diag *diag)
{
    const int64_t most = ts_scale_most(machine);
    struct scale_row row;
    struct json object;
    double one = NAN; /* seconds of one rank */
    enum ts_status status = TS_OK;
    if (json) {
        ts_json_init(&object, stream, false);
        ts_json_open(&object, '{');
        ts_json_member_text(&object, "event", "scale");
        ts_json_member_text(&object, "device", machine->gpus > 0 ? rates->device : "cpu");
        ts_json_open_member(&object, "rows", '[');
    } else {
        print_head(machine, rates, stream);
    }
    for (int64_t ranks = 1; status == TS_OK;
         ranks = ranks < most && 2 * ranks > most ? most : 2 * ranks) {
        if (ranks > most)
            break;
        status = ts_scale_predict(plan, machine, rates, ranks, &row, diag);
        one = ranks == 1 && !row.refusal ? row.prediction.seconds : one;
        if (status == TS_OK && json)
            print_row_json(&row, &object);
        else if (status == TS_OK)
            print_row(&row, machine->gpus > 0, one, stream);
    }
    if (json) {
        ts_json_close(&object, ']');
        if (status == TS_OK && row.prediction.no_rate_of)
            ts_json_member_text(&object, "assumed_rate_of", row.prediction.no_rate_of);
        ts_json_close(&object, '}');
    } else if (status == TS_OK) {
        print_foot(plan, &row, stream);
    }
    return status;
}

/* Predicts the chain for the machine that --machine names. The plan is then no longer one of this
   machine. */
static enum ts_status predict_elsewhere(struct ts_plan *plan, struct machine *machine,
                                        const struct rates *rates, struct ts_diag *diag)
{
    const char *device = ts_cli_chain.options.device;
    if (!ts_plan_computes_on_cuda(plan->chain) || (device && !strcmp(device, "cpu")))
        machine->gpus = 0;
    return ts_cli_chain.quiet ? TS_OK
                              : scale_print(plan, machine, rates, stdout, ts_cli_chain.json, diag);
}

/* Returns the last node that gives a sinogram with angles, or -1. */
static int32_t last_sinogram(const struct ts_plan *plan)
{
    int32_t found = -1;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct ts_image *image = &plan->nodes[i].out;
        if (ts_image_is_sinogram(image) && image->axes[1].unit &&
            !strcmp(image->axes[1].unit, "degree"))
            found = i;
    }
    return found;
}

/* Draws a plan's last sinogram with angles to a file, about the axis that its reconstruction uses.
   Replaces an existing file only with `force`. Returns TS_BAD_CHAIN (code picture-nothing) if the
   plan has no such image, TS_RUN_FAILED (picture-exists, picture-write). */
static enum ts_status geometry_write(const struct ts_plan *plan, const char *path, bool force,
                                     struct ts_diag *diag)
{
    const int32_t node = last_sinogram(plan);
    if (node < 0)
        return ts_diag_error(
            diag, TS_BAD_CHAIN, &(struct diag_site){.code = "picture-nothing"},
            "no image of this chain is a sinogram with angles, whose geometry could be drawn");
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, force, diag);
    if (status != TS_OK)
        return status;
    const struct rotation_axis axis = ts_plan_rotation_axis(plan, node);
    struct ts_image sinogram = plan->nodes[node].out;
    sinogram.axes[2].first = -axis.center * sinogram.axes[2].spacing;
    ts_geometry_picture(&sinogram, &axis, file.stream, NULL);
    return ts_whole_file_close(&file, diag);
}

static int cli_check_check(char **operands)
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
        status = geometry_write(plan, arguments->picture, arguments->options.force, diag);
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
    .run = cli_check_check,
};
