/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions: partials stay on the device over all slabs of a round. Then either the stage's own launcher makes the
 * results there, or the partials are copied to the host, the stage's finish() makes the results and they are copied
 * back.
 */
#include "cuda/device/stage_state.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/device/fft.h"
#include "cuda/device/launch.h"

struct cuda_stage {
    struct cuda_session *session;
    struct stage_context context;
    const struct stage_cuda *cuda;
    struct stage_reduced *reduced; /* the host's part */
    bool per_slice, finishes;
    int64_t slab_slices;
    bool begun[STAGE_INPUTS];
    void *partials[STAGE_INPUTS];
    struct ts_image tables[STAGE_TABLES]; /* whole, of those that the map writes */
    int n_tables;
    void *results, *scratch, *constants, *pinned;
    struct cuda_fft *transforms[STAGE_TRANSFORMS];
    size_t host_result_bytes, constants_bytes;
    struct cuda_timer *timer;
};

static size_t largest_partial(const struct stage_context *context, int input)
{
    const struct cuda_reduction *reduction = context->stage->cuda->reduction;
    struct stage_context probe = *context;
    size_t largest = 0;
    if (input > 0 && !context->references[input - 1])
        return 0;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
        const size_t bytes = reduction->partial_bytes(&probe, input);
        largest = bytes > largest ? bytes : largest;
    }
    return ts_cuda_stride(largest);
}

static bool finishes(const struct stage_context *context)
{
    const struct cuda_reduction *reduction = context->stage->cuda->reduction;
    return reduction->finishes && reduction->finishes(context);
}

static size_t result_stride(const struct stage_context *context)
{
    return ts_cuda_stride(finishes(context) ? context->stage->cuda->reduction->result_bytes(context)
                                            : context->stage->reduction->result_bytes(context));
}

/* Partials and results that stand side by side. */
static int64_t partial_count(const struct stage_context *context, int input, int64_t slab_slices)
{
    return input == 0 && ts_stage_reduces_slices(context) ? slab_slices : 1;
}

static int64_t result_count(const struct stage_context *context, int64_t slab_slices)
{
    return partial_count(context, 0, slab_slices);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    size_t largest = cuda->map && cuda->scratch_bytes ? cuda->scratch_bytes(context, n) : 0;
    struct stage_context probe = *context;
    for (int input = 0; cuda->reduction && cuda->reduction->scratch_bytes && input < STAGE_INPUTS; input++)
        for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
            const bool reduced =
                (input == 0 || context->references[input - 1]) && cuda->reduction->partial_bytes(&probe, input) > 0;
            const size_t bytes = reduced ? cuda->reduction->scratch_bytes(&probe, input, n) : 0;
            largest = bytes > largest ? bytes : largest;
        }
    return ts_cuda_stride(largest);
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->constants_bytes ? ts_cuda_stride(cuda->constants_bytes(context)) : 0;
}

static int transforms_of(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->transforms ? cuda->transforms(context, shapes) : 0;
}

/* One work area for all plans of a stage: their transforms follow one another. What the plans themselves hold, tables
 * of factors, is counted with it. */
static size_t transforms_bytes(const struct stage_context *context, bool tables)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = transforms_of(context, shapes);
    size_t largest = 0, all = 0;
    for (int i = 0; i < n; i++) {
        const size_t work = ts_cuda_fft_work_bytes(&shapes[i]);
        largest = work > largest ? work : largest;
        all += ts_cuda_stride(ts_fft_bytes(&shapes[i]));
    }
    return ts_cuda_stride(largest) + (tables ? all : 0);
}

static size_t tables_bytes(const struct stage_context *context)
{
    struct stage_table tables[STAGE_TABLES];
    const int n = context->stage->tables ? context->stage->tables(context, tables) : 0;
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += ts_cuda_stride(ts_image_bytes(&tables[i].image));
    return bytes;
}

size_t ts_cuda_stage_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t bytes = tables_bytes(context) + scratch_bytes(context, slab_slices) + constants_bytes(context) +
                   transforms_bytes(context, true);
    if (!context->stage->reduction)
        return bytes;
    for (int input = 0; input < STAGE_INPUTS; input++)
        bytes += largest_partial(context, input) * (size_t)partial_count(context, input, slab_slices);
    return bytes + result_stride(context) * (size_t)result_count(context, slab_slices);
}

size_t ts_cuda_stage_pinned_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t largest = constants_bytes(context);
    if (!context->stage->reduction || finishes(context))
        return largest;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const size_t bytes = largest_partial(context, input) * (size_t)partial_count(context, input, slab_slices);
        largest = bytes > largest ? bytes : largest;
    }
    const size_t results = result_stride(context) * (size_t)result_count(context, slab_slices);
    return results > largest ? results : largest;
}

size_t ts_cuda_stage_transfers(const struct stage_context *context, int64_t n)
{
    size_t bytes = constants_bytes(context) + tables_bytes(context);
    struct stage_context probe = *context;
    const bool by_slice = ts_stage_reduces_slices(context);
    if (!context->stage->reduction || finishes(context))
        return bytes;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
        bool volume = false;
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ts_stage_reduces_volume(context, input)) {
                bytes += context->stage->cuda->reduction->partial_bytes(&probe, input);
                volume = true;
            }
        bytes += volume ? result_stride(context) : 0;
        if (by_slice)
            bytes += (size_t)n * (ts_cuda_stride(context->stage->cuda->reduction->partial_bytes(&probe, 0)) +
                                  result_stride(context));
    }
    return bytes;
}

static enum ts_status create_reduction(struct cuda_stage *stage)
{
    const struct stage_context *context = &stage->context;
    stage->per_slice = ts_stage_reduces_slices(context);
    stage->finishes = finishes(context);
    stage->host_result_bytes = context->stage->reduction->result_bytes(context);
    enum ts_status status = TS_OK;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const size_t bytes =
            largest_partial(context, input) * (size_t)partial_count(context, input, stage->slab_slices);
        if (bytes > 0 && !(stage->partials[input] = ts_cuda_take(stage->session, bytes)))
            return TS_RUN_FAILED;
        /* Reductions that overwrite their partials leave the pads between them, which are copied along. */
        if (status == TS_OK && bytes > 0)
            status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->partials[input], 0, bytes);
    }
    const size_t bytes = result_stride(context) * (size_t)result_count(context, stage->slab_slices);
    stage->results = ts_cuda_take(stage->session, bytes);
    if (status == TS_OK && !stage->results)
        status = TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->results, 0, bytes);
    return status;
}

/* Memory on the device for the tables that the map writes, whole. */
static enum ts_status create_tables(struct cuda_stage *stage)
{
    const struct stage_table *tables;
    enum ts_status status = TS_OK;
    stage->n_tables = ts_stage_reduced_map_tables(stage->reduced, &tables);
    for (int i = 0; status == TS_OK && i < stage->n_tables; i++) {
        const size_t bytes = ts_image_bytes(&tables[i].image);
        stage->tables[i] = tables[i].image;
        stage->tables[i].data = ts_cuda_take(stage->session, bytes);
        status = stage->tables[i].data ? TS_OK : TS_RUN_FAILED;
        if (status == TS_OK)
            status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->tables[i].data, 0, bytes);
    }
    return status;
}

enum ts_status ts_cuda_stage_fetch_tables(struct cuda_stage *stage)
{
    const struct stage_table *tables;
    enum ts_status status = TS_OK;
    if (stage->n_tables == 0)
        return TS_OK;
    ts_stage_reduced_map_tables(stage->reduced, &tables);
    for (int i = 0; status == TS_OK && i < stage->n_tables; i++)
        status = ts_cuda_copy(stage->session, CUDA_COMPUTE, CUDA_TO_HOST, tables[i].image.data, stage->tables[i].data,
                              ts_image_bytes(&tables[i].image));
    return status == TS_OK ? ts_cuda_wait(stage->session, CUDA_COMPUTE) : status;
}

static enum ts_status create_transforms(struct cuda_stage *stage)
{
    struct stage_context *context = &stage->context;
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = transforms_of(context, shapes);
    void *work = ts_cuda_take(stage->session, transforms_bytes(context, false));
    enum ts_status status = work ? ts_stage_transforms_create(context) : TS_RUN_FAILED;
    for (int i = 0; status == TS_OK && i < n; i++)
        status = ts_cuda_fft_create(stage->session, context->stage->name, &shapes[i], work, context->diag,
                                    &stage->transforms[i]);
    return status;
}

static enum ts_status write_constants(struct cuda_stage *stage)
{
    if (stage->constants_bytes == 0)
        return TS_OK;
    stage->cuda->constants(&stage->context, stage->pinned);
    const enum ts_status status = ts_cuda_copy(stage->session, CUDA_COMPUTE, CUDA_TO_DEVICE, stage->constants,
                                               stage->pinned, stage->cuda->constants_bytes(&stage->context));
    return status == TS_OK ? ts_cuda_wait(stage->session, CUDA_COMPUTE) : status;
}

enum ts_status ts_cuda_stage_create(struct cuda_session *session, const struct stage_context *context,
                                    int64_t slab_slices, struct cuda_stage **result)
{
    struct cuda_stage *stage = calloc(1, sizeof *stage);
    *result = NULL;
    if (!stage)
        return ts_diag_no_memory(context->diag, sizeof *stage);
    *stage = (struct cuda_stage){
        .session = session, .context = *context, .cuda = context->stage->cuda, .slab_slices = slab_slices};
    stage->constants_bytes = constants_bytes(context);
    stage->pinned = ts_cuda_take_pinned(session, ts_cuda_stage_pinned_bytes(context, slab_slices));
    stage->scratch = ts_cuda_take(session, scratch_bytes(context, slab_slices));
    stage->constants = ts_cuda_take(session, stage->constants_bytes);
    enum ts_status status = stage->pinned && stage->scratch && stage->constants ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = create_transforms(stage);
    if (status == TS_OK)
        status = write_constants(stage);
    if (status == TS_OK && context->stage->reduction)
        status = create_reduction(stage);
    if (status == TS_OK && ts_stage_has_state(context))
        status = ts_stage_reduced_create(&stage->context, slab_slices, &stage->reduced);
    if (status == TS_OK && stage->reduced)
        status = create_tables(stage);
    if (status == TS_OK)
        *result = stage;
    else
        ts_cuda_stage_destroy(stage);
    return status;
}

enum ts_status ts_cuda_stage_renew(struct cuda_stage *stage, const struct stage_context *context)
{
    if (constants_bytes(context) != stage->constants_bytes)
        return ts_diag_error(context->diag, TS_RUN_FAILED,
                             &(struct diag_site){.code = "found-sizes", .stage = context->set->owner},
                             "its constants would have another size with the axes that an earlier stage found");
    stage->context.in = context->in;
    stage->context.out = context->out;
    const enum ts_status status = stage->reduced ? ts_stage_reduced_renew(stage->reduced, context) : TS_OK;
    const struct stage_table *tables;
    const int n = stage->reduced ? ts_stage_reduced_map_tables(stage->reduced, &tables) : 0;
    for (int i = 0; i < n; i++)
        memcpy(stage->tables[i].axes, tables[i].image.axes, sizeof stage->tables[i].axes);
    return status == TS_OK ? write_constants(stage) : status;
}

void ts_cuda_stage_destroy(struct cuda_stage *stage)
{
    if (!stage)
        return;
    ts_stage_reduced_destroy(stage->reduced);
    for (int i = 0; i < STAGE_TRANSFORMS; i++)
        ts_cuda_fft_destroy(stage->transforms[i]);
    ts_stage_transforms_destroy(&stage->context);
    free(stage);
}

struct stage_reduced *ts_cuda_stage_reduced(const struct cuda_stage *stage)
{
    return stage->reduced;
}

struct stage_reduced *ts_cuda_stage_reduced_take(struct cuda_stage *stage)
{
    struct stage_reduced *reduced = stage->reduced;
    stage->reduced = NULL;
    return reduced;
}

static struct cuda_call call_of(const struct cuda_stage *stage)
{
    return (struct cuda_call){.stream = ts_cuda_stream(stage->session, CUDA_COMPUTE),
                              .scratch = stage->scratch,
                              .constants = stage->constants,
                              .result = stage->results,
                              .transforms = stage->transforms};
}

enum ts_status ts_cuda_stage_restart(struct cuda_stage *stage)
{
    const struct stage_context *context = &stage->context;
    if (!context->stage->reduction)
        return TS_OK;
    const size_t bytes = result_stride(context) * (size_t)result_count(context, stage->slab_slices);
    ts_stage_reduced_destroy(stage->reduced);
    stage->reduced = NULL;
    stage->context.round = 0;
    memset(stage->begun, 0, sizeof stage->begun);
    const enum ts_status status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->results, 0, bytes);
    return status == TS_OK ? ts_stage_reduced_create(context, stage->slab_slices, &stage->reduced) : status;
}

void ts_cuda_stage_time(struct cuda_stage *stage, struct cuda_timer *timer)
{
    stage->timer = timer;
}

/* Begins or ends a stretch of work that is timed. */
static enum ts_status mark(struct cuda_stage *stage, enum ts_status status)
{
    struct cuda_timer *timer = stage->timer;
    if (status != TS_OK || !timer || timer->n >= CUDA_TIMER_EVENTS)
        return status;
    return ts_cuda_event_record(stage->session, timer->events[timer->n++], CUDA_COMPUTE);
}

enum ts_status ts_cuda_stage_add(struct cuda_stage *stage, int input, const struct ts_image *slab)
{
    const size_t bytes = stage->cuda->reduction->partial_bytes(&stage->context, input);
    const struct cuda_call call = call_of(stage);
    if (bytes == 0)
        return TS_OK;
    enum ts_status status = mark(stage, TS_OK);
    if (status == TS_OK && !stage->begun[input])
        status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->partials[input], 0, bytes);
    stage->begun[input] = true;
    if (status == TS_OK)
        status = stage->cuda->reduction->reduce(&stage->context, input, slab, stage->partials[input], &call);
    return mark(stage, status);
}

/* Copies to pinned memory and waits. */
static enum ts_status fetch(struct cuda_stage *stage, const void *from, size_t bytes)
{
    const enum ts_status status = ts_cuda_copy(stage->session, CUDA_COMPUTE, CUDA_TO_HOST, stage->pinned, from, bytes);
    return status == TS_OK ? ts_cuda_wait(stage->session, CUDA_COMPUTE) : status;
}

/* Copies the host's n results to the device, where each starts a stride after the last. */
static enum ts_status send_results(struct cuda_stage *stage, const void *results, int64_t n)
{
    const size_t stride = result_stride(&stage->context);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)stage->pinned + (size_t)i * stride, (const char *)results + (size_t)i * stage->host_result_bytes,
               stage->host_result_bytes);
    const enum ts_status status =
        ts_cuda_copy(stage->session, CUDA_COMPUTE, CUDA_TO_DEVICE, stage->results, stage->pinned, (size_t)n * stride);
    return status == TS_OK ? ts_cuda_wait(stage->session, CUDA_COMPUTE) : status;
}

static enum ts_status finish_on_host(struct cuda_stage *stage)
{
    enum ts_status status = TS_OK;
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++) {
        const size_t bytes = stage->begun[input] ? stage->cuda->reduction->partial_bytes(&stage->context, input) : 0;
        if (bytes == 0)
            continue;
        status = fetch(stage, stage->partials[input], bytes);
        if (status == TS_OK)
            stage->cuda->reduction->collect(&stage->context, input, stage->pinned,
                                            ts_stage_reduced_total(stage->reduced, input));
    }
    if (status == TS_OK)
        status = ts_stage_reduced_finish(stage->reduced);
    if (status == TS_OK)
        status = send_results(stage,
                              stage->per_slice ? ts_stage_reduced_reference_result(stage->reduced)
                                               : ts_stage_reduced_result(stage->reduced),
                              1);
    return status;
}

enum ts_status ts_cuda_stage_finish(struct cuda_stage *stage)
{
    const struct cuda_call call = call_of(stage);
    stage->context.result = ts_stage_reduced_result(stage->reduced);
    enum ts_status status = stage->finishes ? mark(stage, TS_OK) : finish_on_host(stage);
    if (stage->finishes && status == TS_OK)
        status =
            mark(stage, stage->cuda->reduction->finish(&stage->context, stage->partials[0], stage->results, 1, &call));
    memset(stage->begun, 0, sizeof stage->begun);
    stage->context.round++;
    stage->context.result = ts_stage_reduced_result(stage->reduced);
    return status;
}

static size_t slice_stride(const struct cuda_stage *stage)
{
    return ts_cuda_stride(stage->cuda->reduction->partial_bytes(&stage->context, 0));
}

/* The total of slice i, for ts_stage_reduced_slices(). */
static void collect_slice(const void *of_stage, int64_t i, void *total)
{
    const struct cuda_stage *stage = of_stage;
    const char *partial = (const char *)stage->pinned + (size_t)i * slice_stride(stage);
    stage->cuda->reduction->collect(&stage->context, 0, partial, total);
}

/* collect() and the stage's finish() for every slice of a slab, and the results back to the device. */
static enum ts_status finish_slices(struct cuda_stage *stage, int round, int64_t z_first, int64_t n)
{
    enum ts_status status = fetch(stage, stage->partials[0], (size_t)n * slice_stride(stage));
    if (status == TS_OK)
        status = ts_stage_reduced_slices(stage->reduced, round, z_first, n, collect_slice, stage);
    return status == TS_OK ? send_results(stage, ts_stage_reduced_result(stage->reduced), n) : status;
}

enum ts_status ts_cuda_stage_slab(struct cuda_stage *stage, const struct ts_image *slab)
{
    const struct cuda_reduction *reduction = stage->cuda->reduction;
    const struct cuda_call call = call_of(stage);
    const int64_t n = slab->axes[0].n;
    const int rounds = ts_stage_rounds(&stage->context), before = stage->context.round;
    enum ts_status status = TS_OK;
    for (int round = 0; status == TS_OK && round < rounds; round++) {
        stage->context.round = round;
        const size_t bytes = (size_t)n * ts_cuda_stride(reduction->partial_bytes(&stage->context, 0));
        status = mark(stage, TS_OK);
        if (status == TS_OK && (!reduction->overwrites || !reduction->overwrites(&stage->context)))
            status = ts_cuda_fill(stage->session, CUDA_COMPUTE, stage->partials[0], 0, bytes);
        if (status == TS_OK)
            status = reduction->reduce(&stage->context, 0, slab, stage->partials[0], &call);
        if (status == TS_OK && stage->finishes)
            status = reduction->finish(&stage->context, stage->partials[0], stage->results, n, &call);
        status = mark(stage, status);
        if (status == TS_OK && !stage->finishes)
            status = finish_slices(stage, round, slab->z_first, n);
    }
    stage->context.round = before;
    return status;
}

enum ts_status ts_cuda_stage_map(struct cuda_stage *stage, const struct ts_image *in, struct ts_image *out)
{
    const struct cuda_call call = call_of(stage);
    struct ts_image rows[STAGE_TABLES];
    if (stage->reduced)
        stage->context.result = ts_stage_reduced_result(stage->reduced);
    for (int i = 0; i < stage->n_tables; i++)
        rows[i] = ts_image_slices(&stage->tables[i], out->z_first, out->axes[0].n);
    stage->context.tables = rows;
    const enum ts_status status = mark(stage, TS_OK);
    return status == TS_OK ? mark(stage, stage->cuda->map(&stage->context, in, out, &call)) : status;
}
