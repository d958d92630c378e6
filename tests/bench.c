/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-bench: the benchmark of the stages with their errors against the naive double oracles of tests/stages.
 * The program `tomostage bench` hands over to this one. With --apply it runs a stage once over raw values in a file, so
 * that a script can compare them with other tools.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/omp_wait.h"
#include "pipeline/bench/bench.h"
#include "stages/engine/execute.h"
#include "tests/support/oracles.h"

static const char usage[] =
    "usage: tomostage-bench [STAGE [--parameters 'a=1 b=name']] [--dtype NAME] [--values ct|uniform|constant|checker]\n"
    "                       [--size ZxYxX] [--runs N] [--threads N] [--device auto|cpu|cuda|cuda:N] [--json]\n"
    "                       [--save FILE.json] [--plot FILE.svg]\n"
    "       tomostage-bench --stage NAME --dtype NAME --size ZxYxX [--parameters ...] --apply IN OUT\n"
    "       tomostage-bench --stage NAME --dtype NAME --size ZxYxX [--values ...] --image OUT\n"
    "\n"
    "With --size a device is timed on that size; without it, what takes long on some of the slices. --runs 1 times "
    "one\n"
    "run after the first.\n"
    "--parameters 'a=1|a=2 method=*' are two cases, the second with every method.\n"
    "--image writes the values that would be timed. IN holds values to compute on, z slowest, in the machine's byte\n"
    "order; OUT receives those of the result, or of the first table where the stage passes its image on.\n";

struct arguments {
    struct bench_request request;
    const char *in, *out, *image;
};

static bool parse(int argc, char **argv, struct arguments *arguments)
{
    enum { APPLY = BENCH_OPTIONS_END, IMAGE };
    static const struct option options[] = {BENCH_OPTIONS,
                                            {"stage", required_argument, NULL, BENCH_STAGE},
                                            {"apply", required_argument, NULL, APPLY},
                                            {"image", required_argument, NULL, IMAGE},
                                            {0}};
    struct bench_request *request = &arguments->request;
    *arguments = (struct arguments){.request = {.dtype = -1, .values = -1, .oracles = ts_oracles_of}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (option == APPLY)
            arguments->in = optarg;
        else if (option == IMAGE)
            arguments->image = optarg;
        else if (!ts_bench_option(request, option, optarg))
            return false;
    if (arguments->in && optind < argc)
        arguments->out = argv[optind++];
    else if (!request->stage && optind < argc)
        request->stage = argv[optind++];
    const bool one_case = request->stage && request->dtype >= 0 && request->nz;
    return (!arguments->image || one_case) && (!arguments->in || (arguments->out && one_case)) && optind == argc &&
           (!request->parameters || request->stage);
}

/* ---- one run over a file ----------------------------------------------------------------------- */

static bool read_whole(const char *path, void *data, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    const bool complete = file && fread(data, 1, bytes, file) == bytes && fgetc(file) == EOF;
    if (file)
        fclose(file);
    return complete;
}

static bool write_whole(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    const bool complete = file && fwrite(data, 1, bytes, file) == bytes;
    return file && !fclose(file) && complete;
}

static enum ts_status apply_prepared(struct stage_context *context, const struct ts_image *in, const char *path)
{
    struct ts_image out = context->out;
    struct stage_reduced *reduced = NULL;
    const struct stage_table *tables;
    out.data = malloc(ts_image_bytes(&out) + 1);
    enum ts_status status = out.data ? ts_stage_apply(context, in, &out, NULL, 0, &reduced) : TS_RUN_FAILED;
    const struct ts_image *result = &out;
    if (status == TS_OK && !context->stage->map)
        result = reduced && ts_stage_reduced_tables(reduced, &tables) > 0 ? &tables[0].image : in;
    if (status == TS_OK && !write_whole(path, result->data, ts_image_bytes(result)))
        status = ts_diag_error(context->diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                               "could not write %s", path);
    ts_stage_reduced_destroy(reduced);
    free(out.data);
    return status;
}

static enum ts_status apply(const struct bench_case *which, const struct arguments *arguments, struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    const char *parameters = arguments->request.parameters;
    struct stage_context context;
    struct param_set set = {.rows = stage->params,
                            .n_rows = stage->n_params,
                            .owner = stage->name,
                            .values = calloc(1, stage->params_bytes + 1)};
    struct ts_image in = ts_bench_image(which);
    enum ts_status status = set.values && in.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&in));
    if (status == TS_OK && !read_whole(arguments->in, in.data, ts_image_bytes(&in)))
        status = ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "wrong-size"},
                               "%s does not hold %zu bytes", arguments->in, ts_image_bytes(&in));
    if (status == TS_OK)
        status = ts_bench_assign(&set, parameters ? parameters : "", diag);
    if (status == TS_OK)
        status = ts_stage_prepare(stage, &set, &in, NULL, 1, NULL, diag, &context);
    if (status == TS_OK)
        status = apply_prepared(&context, &in, arguments->out);
    free(in.data);
    ts_bench_params_clear(&set);
    return status;
}

static enum ts_status write_image(const struct bench_case *which, const char *path, struct ts_diag *diag)
{
    struct ts_image image = ts_bench_image(which);
    enum ts_status status = TS_OK;
    if (!image.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&image));
    if (!write_whole(path, image.data, ts_image_bytes(&image)))
        status =
            ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"}, "could not write %s", path);
    free(image.data);
    return status;
}

static enum ts_status carry_out(const struct arguments *arguments, struct ts_diag *diag)
{
    const struct bench_request *request = &arguments->request;
    if (!arguments->in && !arguments->image)
        return ts_bench_run(request, stdout, diag);
    const struct bench_case which = {.stage = ts_stage_find(request->stage),
                                     .dtype = (enum ts_dtype)request->dtype,
                                     .values = (enum bench_values)(request->values < 0 ? BENCH_CT : request->values),
                                     .nz = request->nz,
                                     .ny = request->ny,
                                     .nx = request->nx};
    if (!which.stage)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-stage"}, "there is no stage '%s'",
                             request->stage);
    return arguments->image ? write_image(&which, arguments->image, diag) : apply(&which, arguments, diag);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    ts_omp_wait_asleep(argv);
    if (!parse(argc, argv, &arguments)) {
        fputs(usage, stderr);
        return TS_BAD_CHAIN;
    }
    struct ts_diag *diag = ts_diag_create();
    if (!diag) {
        fputs("tomostage-bench: error: out of memory\n", stderr);
        return TS_RUN_FAILED;
    }
    const enum ts_status status = carry_out(&arguments, diag);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}
