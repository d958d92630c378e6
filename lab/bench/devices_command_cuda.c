/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage-bench devices` runs reconstructions on one CUDA device, on two, on four and so on. The
 * sinogram comes from host memory and the volume goes to host memory, so that no file bounds a run.
 * Everything else is as in any run: the plan, its slabs, the pinned pieces that copies go through.
 * A row has two times: from the beginning of the first kernel to the end of the last download, by
 * the clocks of the devices, and from the first value that was read to the last that was put into
 * host memory. Beside them stands how long copies in host memory took, which one thread hands to a
 * team. Numbers of devices take turns, and the shortest run counts. The volumes must be the same to
 * the bit.
 */
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/timing.h"
#include "io/file/digest.h"
#include "lab/bench/bench.h"
#include "pipeline/chain/chain.h"
#include "pipeline/plan/device_choice.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/profile.h"

enum { PATH = 64, TEXT = 256, DEVICES = 64, COUNTS = 8 };
/* Projections of these slices are computed; those of all others are copies of them. */
enum { MADE_SLICES = 16 };
static const int64_t host_budget = (int64_t)4 << 30;

static struct arguments {
    const char *device, *profile;
    int64_t smaller, gpu_memory;
    int runs, threads;
    bool json;
} arguments = {.device = "cuda:all", .smaller = 1, .runs = 3};

static const struct job {
    const char *name, *stage, *parameters;
    int64_t slices, views, detectors;
} jobs[] = {
    {"sirt", "sirt", "iterations=20", 1024, 1024, 1024},
    {"sirt tensor", "sirt", "iterations=20 method=tensor", 1024, 1024, 1024},
    {"fbp", "fbp", "", 2048, 1500, 2048},
    {"fbp tensor", "fbp", "method=tensor", 2048, 1500, 2048},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

struct devices_row {
    const char *job;
    int64_t devices, slab_slices;
    double seconds, faster; /* first kernel to last download; how many times one device's */
    double host_seconds, host_faster; /* first value read to last value put */
    double copy_seconds; /* of the shortest host_seconds: in copies to and from pinned memory */
    double run_seconds;  /* with the start and the end of the run */
};

#define COLUMN(member) offsetof(struct devices_row, member)
static const struct table_column columns[] = {
    {.key = "job", .head = "job", .kind = COLUMN_TEXT, .offset = COLUMN(job), .width = -12},
    {.key = "devices",
     .head = "devices",
     .kind = COLUMN_INTEGER,
     .offset = COLUMN(devices),
     .width = 7},
    {.key = "slab_slices",
     .head = "slab",
     .kind = COLUMN_INTEGER,
     .offset = COLUMN(slab_slices),
     .width = 6},
    {"seconds", "kernels s", COLUMN_REAL, COLUMN(seconds), .width = 10, .decimals = 3},
    {"faster", "times", COLUMN_REAL, COLUMN(faster), .width = 6, .decimals = 2},
    {"host_seconds", "host s", COLUMN_REAL, COLUMN(host_seconds), .width = 10, .decimals = 3},
    {"host_faster", "times", COLUMN_REAL, COLUMN(host_faster), .width = 6, .decimals = 2},
    {"copy_seconds", "copies s", COLUMN_REAL, COLUMN(copy_seconds), .width = 10, .decimals = 3},
    {"run_seconds", "run s", COLUMN_REAL, COLUMN(run_seconds), .width = 10, .decimals = 3},
};
static const struct table table = TABLE_OF(struct devices_row, columns);

/* ---- input and output in host memory --------------------------------------------------------- */

/* The run at hand reads and writes these, and notes when it did so first and last. */
static struct {
    struct ts_image input;
    unsigned char *output;
    double first_read, last_put, copying;
    struct trace *trace;
} memory;

/* Every thread copies as many bytes as the others do, since one alone cannot copy as fast as
 * several devices. */
static void copy(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const size_t line = 64, share = (bytes / (size_t)arguments.threads + line) / line * line;
    const double begin = ts_seconds();
#pragma omp parallel for num_threads(arguments.threads) schedule(static)
    for (size_t at = 0; at < bytes; at += share)
        memcpy(to + at, from + at, bytes - at < share ? bytes - at : share);
    memory.copying += ts_seconds() - begin;
}

static enum ts_status read_slices(struct source *source, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    (void)source, (void)diag;
    const struct ts_image slices = ts_image_slices(&memory.input, z, n);
    if (memory.first_read == 0)
        memory.first_read = ts_seconds();
    copy(out, slices.data, ts_image_bytes(&slices));
    return TS_OK;
}

static void close_source(struct source *source)
{
    free(source->slices);
    free(source);
}

static enum ts_status open_source(const struct param_set *set, struct source **out,
                                  struct ts_diag *diag)
{
    static const struct source_ops ops = {.read = read_slices, .close = close_source};
    (void)set;
    struct source *source = *out = calloc(1, sizeof *source);
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    source->ops = &ops;
    source->image = memory.input;
    source->image.data = NULL;
    source->n_volumes = 1;
    return ts_source_make_slices(source, diag);
}

static const struct source_format memory_source = {.name = "memory", .open = open_source};

static const char *refuses_nothing(const struct sink_request *request)
{
    (void)request;
    return NULL;
}

static enum ts_status open_sink(struct sink *sink, struct ts_diag *diag)
{
    (void)sink, (void)diag;
    return TS_OK;
}

static enum ts_status put_slices(struct sink *sink, const struct ts_image *slab,
                                 struct ts_diag *diag)
{
    (void)diag;
    const double begin = ts_trace_begin(memory.trace);
    copy(memory.output + (size_t)slab->z_first * ts_slice_bytes(&sink->image), slab->data,
         ts_image_bytes(slab));
    ts_trace_add(memory.trace, TRACE_WRITE, begin, ts_image_bytes(slab));
    memory.last_put = ts_seconds();
    return TS_OK;
}

/* The file of the output exists, and stays empty. */
static const struct sink_format memory_sink = {.name = "memory",
                                               .suffixes = {".nii"},
                                               .sink_bytes = sizeof(struct sink),
                                               .refusal = refuses_nothing,
                                               .open = open_sink,
                                               .put = put_slices};

/* ---- one run --------------------------------------------------------------------------------- */

static enum ts_status make_chain(const struct job *job, const char *folder, struct ts_chain **chain,
                                 struct ts_diag *diag)
{
    char text[TEXT];
    const int n = snprintf(text, sizeof text, "nifti values.nii | %s %s | nifti volume.nii",
                           job->stage, job->parameters);
    const enum ts_status status = ts_chain_parse(text, (size_t)n, "devices", folder, chain, diag);
    if (status != TS_OK)
        return status;
    (*chain)->sources[0].format = &memory_source;
    (*chain)->sources[0].set = (struct param_set){.owner = "input"};
    (*chain)->output.sinks[0].format = &memory_sink;
    return TS_OK;
}

static enum ts_status run_plan(struct ts_plan *plan, struct devices_row *row, struct ts_diag *diag)
{
    struct profile_sum sums[TRACE_PARTS];
    memory.first_read = memory.copying = 0;
    memory.trace = plan->state->trace = ts_trace_create();
    if (!plan->state->trace)
        return ts_diag_no_memory(diag, sizeof plan->state->trace);
    const double begin = ts_seconds();
    const enum ts_status status = ts_plan_run(plan, diag);
    const double run_seconds = ts_seconds() - begin;
    if (status != TS_OK)
        return status;
    if (ts_profile_sums(plan->state->trace, sums) < 0)
        return ts_diag_no_memory(diag, sizeof sums);
    const double seconds = sums[TRACE_DOWNLOAD].last - sums[TRACE_COMPUTE].first;
    row->slab_slices = plan->slab_slices;
    row->seconds = fmin(row->seconds, seconds);
    if (memory.last_put - memory.first_read < row->host_seconds) {
        row->host_seconds = memory.last_put - memory.first_read;
        row->copy_seconds = memory.copying;
    }
    row->run_seconds = fmin(row->run_seconds, run_seconds);
    return arguments.profile ? ts_profile_write(plan->state->trace, (struct profile_memory){0}, "",
                                                arguments.profile, true, diag)
                             : TS_OK;
}

/* Allocates what receives the volume, once its size is known, and touches its pages. */
static enum ts_status make_output(const struct ts_image *volume, struct ts_diag *diag)
{
    const size_t bytes = ts_image_bytes(volume);
    if (!memory.output) {
        memory.output = ts_memory_aligned(bytes);
        if (!memory.output)
            return ts_diag_no_memory(diag, bytes);
    }
    /* A value that no volume has shows later what was not written. */
#pragma omp parallel for
    for (int64_t z = 0; z < volume->axes[0].n; z++)
        memset(memory.output + (size_t)z * ts_slice_bytes(volume), 0xff, ts_slice_bytes(volume));
    return TS_OK;
}

/* Writes the digest of the digests of all slices. */
static enum ts_status digest_output(const struct ts_image *volume, char text[DIGEST_TEXT_BYTES],
                                    struct ts_diag *diag)
{
    const int64_t n = volume->axes[0].n;
    unsigned char *sums = malloc((size_t)n * DIGEST_SUM_BYTES);
    bool complete = sums != NULL;
#pragma omp parallel for reduction(&& : complete)
    for (int64_t z = 0; z < n; z++)
        complete = complete && ts_digest_sum(memory.output + (size_t)z * ts_slice_bytes(volume),
                                             ts_slice_bytes(volume), sums + z * DIGEST_SUM_BYTES);
    complete = complete && ts_digest_of(sums, (size_t)n * DIGEST_SUM_BYTES, text);
    free(sums);
    return complete ? TS_OK : ts_diag_no_memory(diag, (size_t)n * DIGEST_SUM_BYTES);
}

/* Runs the chain once. The first run of a job leaves its digest, and all others must have the same
 * one. */
static enum ts_status run_once(const struct ts_chain *chain, const char *device,
                               struct devices_row *row, char digest[DIGEST_TEXT_BYTES],
                               struct ts_diag *diag)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_plan *plan = NULL;
    char found[DIGEST_TEXT_BYTES];
    options.device = device;
    options.memory_bytes =
        host_budget; /* of the run itself, whatever the values above leave of it */
    options.gpu_memory_bytes = arguments.gpu_memory;
    options.force = true;
    enum ts_status status = ts_plan_create(chain, &options, &plan, diag);
    const struct ts_image *volume = status == TS_OK ? &plan->nodes[plan->n_nodes - 1].out : NULL;
    if (status == TS_OK)
        status = make_output(volume, diag);
    if (status == TS_OK)
        status = run_plan(plan, row, diag);
    if (status == TS_OK)
        status = digest_output(volume, found, diag);
    if (status == TS_OK && *digest && strcmp(found, digest) != 0)
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "bytes-differ"},
                               "%s on %s gives other bytes than on one device", row->job, device);
    if (status == TS_OK)
        memcpy(digest, found, sizeof found);
    ts_plan_destroy(plan);
    return status;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Makes the sinogram. Its slices repeat, since computing them takes longer than reconstructing
 * them. */
static enum ts_status make_input(const struct job *job, struct ts_diag *diag)
{
    struct bench_case which = {.stage = ts_stage_find(job->stage),
                               .dtype = TS_F32,
                               .values = BENCH_CT,
                               .nz = job->slices,
                               .ny = job->views,
                               .nx = job->detectors};
    memory.input = ts_bench_describe_image(&which);
    memory.input.data = ts_memory_aligned(ts_image_bytes(&memory.input));
    if (!memory.input.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&memory.input));
    which.nz = job->slices < MADE_SLICES ? job->slices : MADE_SLICES;
    ts_bench_fill(&which, &memory.input);
#pragma omp parallel for
    for (int64_t z = which.nz; z < job->slices; z++)
        memcpy(ts_slice_data(&memory.input, z), ts_slice_data(&memory.input, z % which.nz),
               ts_slice_bytes(&memory.input));
    return TS_OK;
}

/* Lists 1, 2, 4, ... devices, and all, as --device takes them. */
static int list_counts(const int *indices, int n, char devices[COUNTS][DEVICES], int counts[COUNTS])
{
    int listed = 0;
    for (int many = 1; many <= n && listed < COUNTS;
         many = many < n && many * 2 > n ? n : many * 2) {
        size_t used = 0;
        for (int i = 0; i < many; i++)
            used += (size_t)snprintf(devices[listed] + used, DEVICES - used, i ? ",%d" : "cuda:%d",
                                     indices[i]);
        counts[listed++] = many;
    }
    return listed;
}

static enum ts_status run_job(const struct job *given, const int *indices, int n,
                              const char *folder, struct table_rows *rows, struct ts_diag *diag)
{
    const int64_t smaller = arguments.smaller;
    const struct job job = {given->name,
                            given->stage,
                            given->parameters,
                            given->slices / smaller,
                            given->views / smaller,
                            given->detectors / smaller};
    char devices[COUNTS][DEVICES], digest[DIGEST_TEXT_BYTES] = "";
    struct devices_row made[COUNTS];
    int counts[COUNTS];
    const int n_counts = list_counts(indices, n, devices, counts);
    struct ts_chain *chain = NULL;
    enum ts_status status = make_input(&job, diag);
    if (status == TS_OK)
        status = make_chain(&job, folder, &chain, diag);
    for (int i = 0; i < n_counts; i++)
        made[i] = (struct devices_row){.job = job.name,
                                       .devices = counts[i],
                                       .seconds = INFINITY,
                                       .host_seconds = INFINITY,
                                       .run_seconds = INFINITY};
    for (int k = 0; k < arguments.runs; k++)
        for (int i = 0; status == TS_OK && i < n_counts; i++)
            status = run_once(chain, devices[i], &made[i], digest, diag);
    for (int i = 0; status == TS_OK && i < n_counts; i++) {
        made[i].faster = made[0].seconds / made[i].seconds;
        made[i].host_faster = made[0].host_seconds / made[i].host_seconds;
        status = ts_table_add(rows, &made[i], diag);
    }
    ts_chain_destroy(chain);
    free(memory.input.data);
    free(memory.output);
    memory.output = NULL;
    return status;
}

static enum ts_status run_jobs(const char *only, const char *folder, struct ts_diag *diag)
{
    struct device_choice choice;
    struct cuda_devices found;
    int indices[CUDA_MAX_DEVICES];
    struct table_rows rows = {.table = &table, .stream = stdout, .json = arguments.json};
    enum ts_status status = ts_device_choice_parse(arguments.device, &choice, diag);
    const int n = status == TS_OK ? ts_device_choice_find_all(&choice, &found, indices, diag) : 0;
    if (status == TS_OK && n == 0)
        status = TS_RUN_FAILED;
    if (status == TS_OK)
        ts_table_begin(&rows);
    for (int i = 0; status == TS_OK && i < JOBS; i++)
        if (!only || !strcmp(only, jobs[i].name))
            status = run_job(&jobs[i], indices, n, folder, &rows, diag);
    if (status == TS_OK)
        status = ts_table_end(&rows, diag);
    ts_table_clear(&rows);
    return status;
}

static int run(char **operands)
{
    char folder[PATH] = "/tmp/tomostage-devices-XXXXXX", file[PATH + 16];
    bool known = !operands[0];
    for (int i = 0; i < JOBS; i++)
        known = known || !strcmp(operands[0], jobs[i].name);
    if (!known)
        return ts_command_wrong(&ts_bench_devices_command,
                                "'%s' is no JOB: sirt, 'sirt tensor', fbp, 'fbp tensor'",
                                operands[0]);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    if (!arguments.threads)
        arguments.threads = (omp_get_num_procs() + 1) / 2;
    enum ts_status status = TS_OK;
    if (!mkdtemp(folder))
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                               "cannot make %s", folder);
    if (status == TS_OK)
        status = run_jobs(operands[0], folder, diag);
    snprintf(file, sizeof file, "%s/volume.nii", folder);
    unlink(file);
    rmdir(folder);
    return ts_command_finish_take(diag, status, false);
}

static const struct command_option options[] = {
    {"device", 0, OPTION_TEXT, OPTION_AT(struct arguments, device), "DEVICE",
     "cuda:all (the default), cuda:N or cuda:N,M"},
    {"smaller", 0, OPTION_INTEGER, OPTION_AT(struct arguments, smaller), "N",
     "divide each side by N, from 1 to 64", 1, 64},
    {"runs", 0, OPTION_INTEGER, OPTION_AT(struct arguments, runs), "N",
     "the shortest of N runs; default: 3", 1, INT_MAX - 1},
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct arguments, threads), "N",
     "copy values in host memory with N threads, from 1 to 4096; default: one for two processors",
     1, 4096},
    {"gpu-memory", 0, OPTION_BYTES, OPTION_AT(struct arguments, gpu_memory), "SIZE",
     "memory of each device, which slabs depend on, such as 8G"},
    {"profile", 0, OPTION_TEXT, OPTION_AT(struct arguments, profile), "NAME",
     "draw the last run to NAME.svg and NAME.json, which are replaced"},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, json), NULL,
     "an array of one object per row"},
};

const struct command ts_bench_devices_command = {
    .program = "tomostage-bench",
    .name = "devices",
    .usage = "[JOB] [options]",
    .summary = "time reconstructions on 1, 2, 4, ... CUDA devices, from host memory to host memory",
    .help = "JOB is sirt (20 iterations, 1,024 cubed from 1,024 views), fbp (2,048 cubed from "
            "1,500 views), or\n"
            "'sirt tensor' and 'fbp tensor', by tensor cores; without it all of them.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {0, 1},
    .run = run,
};
