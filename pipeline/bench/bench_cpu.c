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
    struct stage_driver *driver;
    struct ts_image in, out, padded;
    bool borrowed; /* in.data: the result of the stage before */
    void *copy;
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
    *ready = (struct bench_stage){.set = {.rows = stage->params,
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

void ts_bench_describe(struct bench_row *row, const struct bench_case *which, const struct bench_stage *ready)
{
    const struct stage *stage = which->stage;
    const struct ts_image *in = &ready->context.in, *out = &ready->context.out;
    const double in_bytes = (double)ts_image_bytes(in), out_bytes = (double)ts_image_bytes(out);
    double reference_bytes = 0;
    for (int i = 0; i < STAGE_REFERENCES; i++)
        reference_bytes += ready->context.references[i] ? (double)ts_image_bytes(ready->context.references[i]) : 0;
    *row =
        (struct bench_row){.which = *which,
                           .name = stage->name,
                           .total_seconds = NAN,
                           .error = {.distance = NAN},
                           .bytes = !stage->map ? in_bytes : (reduces(&ready->context) ? 2 : 1) * in_bytes + out_bytes};
    row->bytes += reference_bytes;
    if (out->rank == 3 && in->axes[1].kind == TS_AXIS_Y && out->axes[1].kind == TS_AXIS_VIEW)
        row->samples =
            (double)ts_image_count(out) * (double)(in->axes[1].n > in->axes[2].n ? in->axes[1].n : in->axes[2].n);
    if (ts_image_is_sinogram(in) && out->rank == 3 && out->axes[1].kind == TS_AXIS_Y)
        row->samples = (double)ts_image_count(out) * (double)in->axes[1].n * steps_of(ready);
    size_t i;
    const struct param *method = ts_param_find(stage->params, stage->n_params, "method", &i);
    if (!method || method->kind != PARAM_CHOICE || ts_param_is_idle(&ready->set, i))
        return;
    const int32_t value = *(const int32_t *)((const char *)ready->context.params + method->offset);
    for (const struct choice *choice = method->choices; choice->name; choice++)
        if (choice->value == value)
            snprintf(row->method, sizeof row->method, "%s", choice->name);
}

/* ---- runs -------------------------------------------------------------------------------------- */

static void memory_clear(struct memory *memory)
{
    ts_driver_destroy(memory->driver);
    if (!memory->borrowed)
        free(memory->in.data);
    free(memory->out.data);
    free(memory->copy);
}

static enum ts_status pad(struct memory *memory)
{
    return ts_driver_pad(memory->driver, &memory->in, 1, 0, memory->in.axes[0].n, &memory->padded);
}

/* in NULL: the case's image; else the result of the stage before. */
static enum ts_status memory_init(struct memory *memory, const struct bench_stage *ready,
                                  const struct bench_case *which, const struct ts_image *in, struct ts_diag *diag)
{
    *memory = (struct memory){.in = in ? *in : ts_bench_image(which), .out = ready->context.out, .borrowed = in};
    if (!memory->in.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&memory->in));
    memory->copy = allocate(ts_image_bytes(&memory->in));
    memory->out.data = allocate(ts_image_bytes(&memory->out));
    if (!memory->copy || !memory->out.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&memory->in) + ts_image_bytes(&memory->out));
    const enum ts_status status = ts_driver_create(&ready->context, which->nz, NULL, &memory->driver);
    return status == TS_OK ? pad(memory) : status;
}

static enum ts_status feed(void *from, int input, int64_t z, int64_t n, struct ts_image slices[STAGE_INPUTS])
{
    const struct memory *memory = from;
    struct ts_image images[STAGE_INPUTS];
    ts_stage_inputs_alike(&memory->driver->context, &memory->in, images);
    ts_stage_slices(&memory->driver->context, input, &images[input], z, n, slices);
    return TS_OK;
}

static enum ts_status run_once(struct memory *memory, double *seconds)
{
    struct ts_image slices[STAGE_INPUTS];
    const int threads = memory->driver->context.threads;
    enum ts_status status = ts_driver_restart(memory->driver);
    const double start = now(threads);
    if (status == TS_OK)
        status = ts_driver_reduce(memory->driver, feed, memory);
    if (status == TS_OK)
        status = feed(memory, 0, 0, memory->in.axes[0].n, slices);
    if (status == TS_OK)
        status = ts_driver_slab(memory->driver, &memory->padded, 1, slices, &memory->out);
    *seconds = now(threads) - start;
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
static enum ts_status run_all(struct memory memory[], int n, double *seconds)
{
    enum ts_status status = TS_OK;
    *seconds = 0;
    for (int i = 0; status == TS_OK && i < n; i++) {
        double one = 0;
        if (i > 0)
            status = pad(&memory[i]);
        if (status == TS_OK)
            status = run_once(&memory[i], &one);
        *seconds += one;
    }
    return status;
}

static enum ts_status run_many(struct memory memory[], int n_stages, int runs, struct bench_row *row)
{
    const int threads = memory->driver->context.threads;
    double seconds[MAX_RUNS], copy_seconds[MAX_RUNS];
    int n = 0;
    enum ts_status status = run_all(memory, n_stages, &row->cold_seconds); /* warms caches, pages and threads */
    copy_once(memory, threads);
    for (double spent = 0; status == TS_OK && n < (runs > 0 && runs < MAX_RUNS ? runs : MAX_RUNS); n++) {
        if (runs <= 0 && n >= LEAST_RUNS && spent > run_seconds)
            break;
        status = run_all(memory, n_stages, &seconds[n]);
        copy_seconds[n] = copy_once(memory, threads);
        spent += seconds[n] + copy_seconds[n];
    }
    if (status != TS_OK)
        return status;
    row->seconds = ts_median(seconds, n);
    row->spread = ts_spread(seconds, n);
    row->ceiling_rate = 2 * (double)ts_image_bytes(&memory->in) / ts_median(copy_seconds, n);
    return TS_OK;
}

/* in: as of memory_init. */
static enum ts_status make_ready(struct bench_stage *ready, struct memory *memory, const struct bench_case *which,
                                 const struct ts_image *in, int threads, struct ts_diag *diag)
{
    const enum ts_status status = ts_bench_prepare(ready, which, in, threads, NULL, diag);
    return status == TS_OK ? memory_init(memory, ready, which, in, diag) : status;
}

static void unmake(struct bench_stage *ready, struct memory *memory)
{
    memory_clear(memory);
    ts_bench_stage_clear(ready);
}

enum ts_status ts_bench_cpu(const struct bench_case *which, int threads, int runs, struct ts_diag *diag,
                            struct bench_row *row)
{
    struct bench_stage ready;
    struct memory memory = {0};
    enum ts_status status = make_ready(&ready, &memory, which, NULL, threads, diag);
    if (status == TS_OK) {
        ts_bench_describe(row, which, &ready);
        row->threads = threads;
        row->ceiling = BENCH_MEMCPY;
        status = run_many(&memory, 1, runs, row);
    }
    unmake(&ready, &memory);
    return status;
}

enum ts_status ts_bench_cpu_chain(const struct bench_case *cases, int n, int threads, int runs, struct ts_diag *diag,
                                  struct bench_row *row)
{
    struct bench_stage ready[CUDA_BENCH_STAGES] = {0};
    struct memory memory[CUDA_BENCH_STAGES] = {0};
    enum ts_status status = TS_OK;
    const struct ts_image *in = NULL;
    double bytes = 0;
    for (int i = 0; status == TS_OK && i < n; i++) {
        status = make_ready(&ready[i], &memory[i], &cases[i], in, threads, diag);
        if (status != TS_OK)
            break;
        ts_bench_describe(row, &cases[i], &ready[i]);
        bytes += row->bytes;
        in = cases[i].stage->map ? &memory[i].out : &memory[i].in;
    }
    if (status == TS_OK)
        status = run_many(memory, n, runs, row);
    row->which = cases[0];
    row->name = "chain";
    row->method[0] = '\0';
    row->threads = threads;
    row->bytes = bytes;
    row->ceiling = BENCH_MEMCPY;
    row->ceiling_rate = NAN; /* a single slice stays in the caches */
    for (int i = 0; i < n; i++)
        unmake(&ready[i], &memory[i]);
    return status;
}
