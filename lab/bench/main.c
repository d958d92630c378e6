/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-bench, which `tomostage bench` starts with its whole command line. Two more commands
 * are for scripts that compare with other tools: `apply` runs a stage once over raw values in a
 * file, `image` writes the values that would be timed. `api` measures the library on arrays,
 * `deflate` the compression of chunks on a device, `devices` reconstructions on several. Without
 * the name of a command, `bench` is meant.
 */
#include <stdlib.h>
#include <string.h>

#include "core/omp_wait.h"
#include "io/sandbox/sandbox.h"
#include "lab/bench/api.h"
#include "lab/bench/bench.h"
#include "stages/engine/driver.h"

static struct bench_request arguments = BENCH_REQUEST_DEFAULT;
static const struct command_option options[] = {BENCH_CASE_OPTIONS};
static const struct command apply_command, image_command;

/* ---- files of raw values --------------------------------------------------------------------- */

static bool read_whole(const char *path, void *data, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    const bool complete = file && fread(data, 1, bytes, file) == bytes && fgetc(file) == EOF;
    if (file)
        fclose(file);
    return complete;
}

static enum ts_status write_whole(const char *path, const void *data, size_t bytes,
                                  struct ts_diag *diag)
{
    FILE *file = fopen(path, "wb");
    const bool complete = file && fwrite(data, 1, bytes, file) == bytes;
    if (file && !fclose(file) && complete)
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                         "could not write %s", path);
}

static enum ts_status apply_prepared(struct stage_context *context, const struct ts_image *in,
                                     const char *path)
{
    struct ts_image out = context->out;
    struct stage_reduced *reduced = NULL;
    const struct stage_table *tables;
    out.data = malloc(ts_image_bytes(&out) + 1);
    enum ts_status status = out.data ? ts_bench_apply(context, in, &out, &reduced) : TS_RUN_FAILED;
    const struct ts_image *result = &out;
    if (status == TS_OK && !context->stage->map)
        result = reduced && ts_stage_reduced_tables(reduced, &tables) > 0 ? &tables[0].image : in;
    if (status == TS_OK)
        status = write_whole(path, result->data, ts_image_bytes(result), context->diag);
    ts_stage_reduced_destroy(reduced);
    free(out.data);
    return status;
}

static enum ts_status apply_case(const struct bench_case *which, const char *in_path,
                                 const char *out_path, struct ts_diag *diag)
{
    struct bench_stage ready = {0};
    struct ts_image in = ts_bench_image(which);
    enum ts_status status = in.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&in));
    if (status == TS_OK && !read_whole(in_path, in.data, ts_image_bytes(&in)))
        status = ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "wrong-size"},
                               "%s does not hold %zu bytes", in_path, ts_image_bytes(&in));
    if (status == TS_OK)
        status = ts_bench_prepare(&ready, which, &in, 1, NULL, diag);
    if (status == TS_OK)
        status = apply_prepared(&ready.context, &in, out_path);
    free(in.data);
    ts_bench_stage_clear(&ready);
    return status;
}

static enum ts_status write_image(const struct bench_case *which, const char *path,
                                  struct ts_diag *diag)
{
    struct ts_image image = ts_bench_image(which);
    if (!image.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&image));
    const enum ts_status status = write_whole(path, image.data, ts_image_bytes(&image), diag);
    free(image.data);
    return status;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Runs both commands: with three operands the stage is applied. */
static int run(char **operands)
{
    const bool applies = operands[2] != NULL;
    const struct command *command = applies ? &apply_command : &image_command;
    struct bench_case which = {
        .stage = ts_stage_find(operands[0]),
        .dtype = (enum ts_dtype)arguments.dtype,
        .values = (enum bench_values)(arguments.values < 0 ? BENCH_CT : arguments.values),
        .nz = arguments.nz,
        .ny = arguments.ny,
        .nx = arguments.nx};
    const char *parameters = arguments.parameters ? arguments.parameters : "";
    if (!which.stage)
        return ts_command_wrong_stage(command, operands[0]);
    if (arguments.dtype < 0 || !arguments.nz)
        return ts_command_wrong(command, "--dtype and --size are missing");
    if (snprintf(which.parameters, sizeof which.parameters, "%s", parameters) >=
        (int)sizeof which.parameters)
        return ts_command_wrong(command, "the parameters have more than %zu characters",
                                sizeof which.parameters - 1);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = applies ? apply_case(&which, operands[1], operands[2], diag)
                                          : write_image(&which, operands[1], diag);
    return ts_command_finish_take(diag, status, false);
}

static const struct command apply_command = {
    .program = "tomostage-bench",
    .name = "apply",
    .usage = "STAGE IN OUT --dtype TYPE --size ZxYxX [--parameters 'A=1 B=name']",
    .summary = "run a stage once over raw values",
    .help = "IN holds values to compute on, z slowest, in the machine's byte order; OUT receives "
            "those of the result, or of\nthe first table where the stage passes its image on.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {3, 3, "a STAGE, IN or OUT"},
    .run = run,
};

static const struct command image_command = {
    .program = "tomostage-bench",
    .name = "image",
    .usage = "STAGE OUT --dtype TYPE --size ZxYxX [--values NAME]",
    .summary = "write the values that a stage would be timed on",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {2, 2, "a STAGE or OUT"},
    .run = run,
};

static const struct command *const commands[] = {
    &ts_bench_command,
    &apply_command,
    &image_command,
    &ts_api_command,
#ifdef TS_HAVE_CUDA
    &ts_bench_deflate_command,
    &ts_bench_devices_command,
#endif
};

int main(int argc, char **argv)
{
    ts_omp_wait_asleep(argv);
    (void)ts_sandbox_begin();
    ts_command_json_find(argc, argv);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i]->name))
            return ts_command_output_end(ts_command_run(commands[i], argc - 1, argv + 1));
    return ts_command_output_end(ts_command_run(&ts_bench_command, argc, argv));
}
