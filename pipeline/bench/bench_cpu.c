/* SPDX-License-Identifier: Apache-2.0
 *
 * Times a stage, or a chain of them, on the CPU: medians of several runs beside memcpy of the same image in the same
 * run. Scratch, results and padding are made outside the time taken.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "cuda/bench/bench.h"
#include "pipeline/bench/bench.h"
#include "stages/engine/execute.h"

enum { MAX_RUNS = 101, LEAST_RUNS = 5, FRAMES = 16 };
static const double run_seconds = 0.25;

struct memory {
    struct ts_image in, out, padded;
    bool lent; /* in.data: the result of the stage before */
    void *room, *scratch, *copy;
};

/* One thread: its processor time, which other programs do not lengthen by taking turns. More: wall time. */
static double now(int threads)
{
    return threads == 1 ? ts_thread_seconds() : ts_seconds();
}

static void *allocate(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

/* ---- a stage ready to run ---------------------------------------------------------------------- */

/* A choice that plays no part would be timed under a name that is not its own. */
static enum ts_status refuse_idle(const struct param_set *set, struct ts_diag *diag)
{
    for (size_t i = 0; i < set->n_rows; i++)
        if (set->rows[i].kind == PARAM_CHOICE && (set->given >> i & 1) && ts_param_is_idle(set, i))
            return ts_param_error(set, set->rows[i].name, "no-benchmark", diag, "it plays no part here");
    return TS_OK;
}

enum ts_status ts_bench_prepare(struct bench_stage *ready, const struct bench_case *which, const struct ts_image *in,
                                int threads, const struct device_numbers *device, struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    *ready = (struct bench_stage){.which = *which,
                                  .set = {.rows = stage->params,
                                          .n_rows = stage->n_params,
                                          .owner = stage->name,
                                          .values = calloc(1, stage->params_bytes + 1)}};
    if (!ready->set.values)
        return ts_diag_no_memory(diag, stage->params_bytes);
    const struct ts_image *references[STAGE_REFERENCES] = {NULL};
    enum ts_status status = ts_bench_assign(&ready->set, which->parameters, diag);
    ready->in = in ? *in : ts_bench_describe_image(which);
    ready->frames = ready->in;
    ready->frames.axes[1].n = ready->in.axes[1].n < FRAMES ? ready->in.axes[1].n : FRAMES;
    for (size_t i = 0, reference = 0; i < stage->n_params && reference < STAGE_REFERENCES; i++)
        if (stage->params[i].kind == PARAM_REFERENCE)
            references[reference++] = ready->set.given >> i & 1   ? &ready->in
                                      : stage->params[i].required ? &ready->frames
                                                                  : NULL;
    if (status == TS_OK)
        status = ts_stage_prepare(stage, &ready->set, &ready->in, references, threads, device, diag, &ready->context);
    return status == TS_OK ? refuse_idle(&ready->set, diag) : status;
}

void ts_bench_stage_clear(struct bench_stage *ready)
{
    ts_bench_params_clear(&ready->set);
}

static bool reduces(const struct stage_context *context)
{
    return context->stage->reduction && (ts_stage_reduces_slices(context) || ts_stage_reduces_volume(context, 0));
}

/* Passes over pixels and views in a reconstruction: of an iterative one, one forth and one back an iteration. */
static double steps_of(const struct bench_stage *ready)
{
    size_t i;
    const struct stage *stage = ready->context.stage;
    const struct param *row = ts_param_find(stage->params, stage->n_params, "iterations", &i);
    return row ? 2 * (double)*(const int64_t *)((const char *)ready->context.params + row->offset) : 1;
}

/* The method that ran; NULL where the stage has none, or where it plays no part. */
static const char *method_of(const struct bench_stage *ready)
{
    const struct stage *stage = ready->context.stage;
    size_t i;
    const struct param *method = ts_param_find(stage->params, stage->n_params, "method", &i);
    if (!method || method->kind != PARAM_CHOICE || ts_param_is_idle(&ready->set, i))
        return NULL;
    return ts_choice_name(method->choices, *(const int32_t *)((const char *)ready->context.params + method->offset));
}

/* Bytes that a stage reads and writes at least. */
static double bytes_of(const struct stage_context *context)
{
    const bool passes_on = !context->stage->map;
    double bytes = (reduces(context) && !passes_on ? 2 : 1) * (double)ts_image_bytes(&context->in);
    for (int i = 0; i < STAGE_REFERENCES; i++)
        bytes += context->references[i] ? (double)ts_image_bytes(context->references[i]) : 0;
    return bytes + (passes_on ? 0 : (double)ts_image_bytes(&context->out));
}

/* Values that the rays of a projection meet, or pixels in views of a reconstruction; NAN for other stages. */
static double samples_of(const struct bench_stage *ready)
{
    const struct ts_image *in = &ready->context.in, *out = &ready->context.out;
    const double pixels = (double)ts_image_count(out);
    if (out->rank == 3 && in->axes[1].kind == TS_AXIS_Y && out->axes[1].kind == TS_AXIS_VIEW)
        return pixels * (double)(in->axes[1].n > in->axes[2].n ? in->axes[1].n : in->axes[2].n);
    if (ts_image_is_sinogram(in) && out->rank == 3 && out->axes[1].kind == TS_AXIS_Y)
        return pixels * (double)in->axes[1].n * steps_of(ready);
    return NAN;
}

void ts_bench_describe(struct bench_row *row, const struct bench_stage ready[], int n)
{
    *row = (struct bench_row){.which = ready->which, .total_seconds = NAN, .error = {.distance = NAN}};
    for (int i = 0; i < n; i++)
        row->bytes += bytes_of(&ready[i].context);
    row->name = n > 1 ? "chain" : ready->context.stage->name;
    row->method = n > 1 ? NULL : method_of(ready);
    row->samples = n > 1 ? (double)NAN : samples_of(ready);
}

/* ---- runs -------------------------------------------------------------------------------------- */

static void memory_clear(struct memory *memory)
{
    if (!memory->lent)
        free(memory->in.data);
    free(memory->out.data);
    free(memory->room);
    free(memory->scratch);
    free(memory->copy);
}

static void pad(struct memory *memory, const struct stage_context *context)
{
    const struct stage_reach reach = ts_stage_reach(context);
    ts_stage_pad(&reach, &context->in, &memory->in, 1, 0, memory->in.axes[0].n, memory->room, &memory->padded);
}

/* in NULL: the case's image; else the result of the stage before. */
static enum ts_status memory_init(struct memory *memory, const struct bench_stage *ready,
                                  const struct bench_case *which, const struct ts_image *in, struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    const struct stage_reach reach = ts_stage_reach(&ready->context);
    *memory = (struct memory){.in = in ? *in : ts_bench_image(which), .out = ready->context.out, .lent = in != NULL};
    if (!memory->in.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&memory->in));
    memory->copy = allocate(ts_image_bytes(&memory->in));
    memory->room = allocate((size_t)(which->nz + 2 * reach.halo) * ts_slice_bytes(&memory->in));
    memory->out.data = allocate(ts_image_bytes(&memory->out));
    memory->scratch = allocate(stage->scratch_bytes ? stage->scratch_bytes(&ready->context, which->nz) : 0);
    if (!memory->copy || !memory->room || !memory->out.data || !memory->scratch)
        return ts_diag_no_memory(diag, ts_image_bytes(&memory->in) + ts_image_bytes(&memory->out));
    pad(memory, &ready->context);
    return TS_OK;
}

static enum ts_status reduce(const struct stage_context *context, struct stage_reduced *reduced,
                             const struct ts_image *in)
{
    struct ts_image images[STAGE_INPUTS];
    enum ts_status status = TS_OK;
    bool any = false;
    ts_stage_inputs_alike(context, in, images);
    for (int input = 0; input < STAGE_INPUTS; input++)
        any |= ts_stage_reduces_volume(context, input);
    const int rounds = any ? ts_stage_rounds(context) : 0;
    for (int round = 0; status == TS_OK && round < rounds; round++) {
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ts_stage_reduces_volume(context, input))
                ts_stage_reduced_add(reduced, input, &images[input]);
        status = ts_stage_reduced_finish(reduced);
    }
    return status == TS_OK && ts_stage_reduces_slices(context) ? ts_stage_reduced_slab(reduced, images) : status;
}

static enum ts_status run_once(struct bench_stage *ready, struct memory *memory, double *seconds)
{
    struct stage_context *context = &ready->context;
    struct stage_reduced *reduced = NULL;
    enum ts_status status = TS_OK;
    if (ts_stage_has_state(context))
        status = ts_stage_reduced_create(context, memory->in.axes[0].n, &reduced);
    const double start = now(context->threads);
    if (status == TS_OK && context->stage->reduction)
        status = reduce(context, reduced, &memory->in);
    if (status == TS_OK && context->stage->map) {
        struct ts_image rows[STAGE_TABLES], slices[STAGE_INPUTS];
        ts_stage_inputs_alike(context, &memory->in, slices);
        slices[0] = memory->padded;
        ts_stage_reduced_lend(reduced, &memory->out, rows, context);
        status = context->stage->map(context, slices, &memory->out, memory->scratch);
    }
    *seconds = now(context->threads) - start;
    ts_stage_reduced_destroy(reduced);
    return status;
}

static double copy_once(const struct memory *memory, int threads)
{
    const size_t bytes = ts_image_bytes(&memory->in);
    const double start = now(threads);
#pragma omp parallel for num_threads(threads)
    for (int part = 0; part < threads; part++) {
        const size_t first = bytes * (size_t)part / (size_t)threads, end = bytes * (size_t)(part + 1) / (size_t)threads;
        memcpy((char *)memory->copy + first, (const char *)memory->in.data + first, end - first);
    }
    return now(threads) - start;
}

/* The stages one after the other; their times together. */
static enum ts_status run_all(struct bench_stage ready[], struct memory memory[], int n, double *seconds)
{
    enum ts_status status = TS_OK;
    *seconds = 0;
    for (int i = 0; status == TS_OK && i < n; i++) {
        double one;
        if (i > 0)
            pad(&memory[i], &ready[i].context);
        status = run_once(&ready[i], &memory[i], &one);
        *seconds += one;
    }
    return status;
}

static enum ts_status run_many(struct bench_stage ready[], struct memory memory[], int n_stages, int runs,
                               struct bench_row *row)
{
    const int threads = ready->context.threads;
    double seconds[MAX_RUNS], copy_seconds[MAX_RUNS];
    int n = 0;
    enum ts_status status = run_all(ready, memory, n_stages, &row->cold_seconds); /* warms caches, pages and threads */
    copy_once(memory, threads);
    for (double spent = 0; status == TS_OK && n < (runs > 0 && runs < MAX_RUNS ? runs : MAX_RUNS); n++) {
        if (runs <= 0 && n >= LEAST_RUNS && spent > run_seconds)
            break;
        status = run_all(ready, memory, n_stages, &seconds[n]);
        copy_seconds[n] = copy_once(memory, threads);
        spent += seconds[n] + copy_seconds[n];
    }
    if (status != TS_OK)
        return status;
    row->seconds = ts_median(seconds, n);
    row->spread = ts_spread(seconds, n);
    row->ceiling_rate = n_stages == 1 ? 2 * (double)ts_image_bytes(&memory->in) / ts_median(copy_seconds, n)
                                      : (double)NAN; /* a single slice stays in the caches */
    return TS_OK;
}

/* in: as of memory_init. */
static enum ts_status make_ready(struct bench_stage *ready, struct memory *memory, const struct bench_case *which,
                                 const struct ts_image *in, int threads, struct ts_diag *diag)
{
    enum ts_status status = ts_bench_prepare(ready, which, in, threads, NULL, diag);
    if (status == TS_OK)
        status = ts_stage_transforms_create(&ready->context);
    return status == TS_OK ? memory_init(memory, ready, which, in, diag) : status;
}

static void unmake(struct bench_stage *ready, struct memory *memory)
{
    memory_clear(memory);
    ts_stage_transforms_destroy(&ready->context);
    ts_bench_stage_clear(ready);
}

enum ts_status ts_bench_cpu(const struct bench_case *cases, int n, int threads, int runs, struct ts_diag *diag,
                            struct bench_row *row)
{
    struct bench_stage ready[CUDA_BENCH_STAGES] = {0};
    struct memory memory[CUDA_BENCH_STAGES] = {0};
    enum ts_status status = TS_OK;
    const struct ts_image *in = NULL;
    for (int i = 0; status == TS_OK && i < n; i++) {
        status = make_ready(&ready[i], &memory[i], &cases[i], in, threads, diag);
        in = cases[i].stage->map ? &memory[i].out : &memory[i].in;
    }
    if (status == TS_OK) {
        ts_bench_describe(row, ready, n);
        row->threads = threads;
        row->ceiling = BENCH_MEMCPY;
        status = run_many(ready, memory, n, runs, row);
    }
    for (int i = 0; i < n; i++)
        unmake(&ready[i], &memory[i]);
    return status;
}
