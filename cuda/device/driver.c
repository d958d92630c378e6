/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the calls of a driver on a CUDA device, for the steps of stages/engine/driver.c.
 * Partial results of a reduction stay on the device over all slabs of a round. Then either the
 * stage's launcher makes the results on the device, or the partials are copied to the host, the
 * stage's finish() makes the results, and they are copied back.
 */
#include "cuda/device/driver.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "cuda/device/driver_state.h"
#include "cuda/device/fft.h"
#include "cuda/device/gather.h"
#include "cuda/device/launch.h"
#include "cuda/device/packed.h"
#include "cuda/device/texture.h"
#include "cuda/device/validity.h"
#include "stages/engine/border.h"
#include "stages/engine/validity.h"

/* ---- driver bytes ------------------------------------------------------------------------------
 *
 * This computes how much memory a driver holds on a CUDA device, and on the host for it. Plan and
 * driver both ask here, so what is planned is what is allocated. */

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

/* Returns true if the results are made on the device. */
static bool driver_finishes(const struct stage_context *context)
{
    const struct cuda_reduction *reduction = context->stage->cuda->reduction;
    return reduction && reduction->finishes && reduction->finishes(context);
}

/* Returns true if the host's finish() makes tables of the results that the device has made. */
static bool driver_tabulates(const struct stage_context *context)
{
    struct stage_table tables[STAGE_TABLES];
    int n_map;
    return driver_finishes(context) && ts_stage_tables(context, tables, &n_map) > n_map;
}

/* Returns true if the device checks slices and the host's finish() is asked later; the other
 * function returns the bytes of a refused total, on the device and in pinned host memory. */
static bool driver_checks(const struct stage_context *context)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->reduction && cuda->reduction->check && ts_stage_reduces_slices(context) &&
           !cuda->iterates;
}

static size_t refused_bytes(const struct stage_context *context)
{
    return driver_checks(context) ? ts_cuda_stride(sizeof(struct cuda_refused)) : 0;
}

bool ts_cuda_driver_stays(const struct stage_context *context)
{
    return (driver_finishes(context) && !driver_tabulates(context)) || driver_checks(context);
}

/* Returns the distance in bytes of the results of neighboring slices. */
static size_t result_stride(const struct stage_context *context)
{
    return ts_cuda_stride(driver_finishes(context)
                              ? context->stage->cuda->reduction->result_bytes(context)
                              : context->stage->reduction->result_bytes(context));
}

/* Returns how many partials or results of an input there are side by side. */
static int64_t partial_count(const struct stage_context *context, int input, int64_t slab_slices)
{
    return input == 0 && ts_stage_reduces_slices(context) ? slab_slices : 1;
}

/* These return the bytes of all partials of an input, and of all results. */
static size_t partials_bytes(const struct stage_context *context, int input, int64_t slab_slices)
{
    return largest_partial(context, input) * (size_t)partial_count(context, input, slab_slices);
}

static size_t results_bytes(const struct stage_context *context, int64_t slab_slices)
{
    return result_stride(context) * (size_t)partial_count(context, 0, slab_slices);
}

/* Returns the scratch bytes of the launcher that needs most. */
static size_t driver_scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    size_t largest = cuda->map && cuda->scratch_bytes ? cuda->scratch_bytes(context, n) : 0;
    struct stage_context probe = *context;
    for (int input = 0; cuda->reduction && cuda->reduction->scratch_bytes && input < STAGE_INPUTS;
         input++)
        for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
            const bool reduced = (input == 0 || context->references[input - 1]) &&
                                 cuda->reduction->partial_bytes(&probe, input) > 0;
            const size_t bytes = reduced ? cuda->reduction->scratch_bytes(&probe, input, n) : 0;
            largest = bytes > largest ? bytes : largest;
        }
    return ts_cuda_stride(largest);
}

static size_t driver_constants_bytes(const struct stage_context *context)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->constants_bytes ? ts_cuda_stride(cuda->constants_bytes(context)) : 0;
}

/* Returns the bytes of one slice filled with the border's constant. */
static size_t outside_bytes(const struct stage_context *context)
{
    const struct stage_reach reach = ts_stage_reach(context);
    return reach.halo > 0 && reach.border == BORDER_CONSTANT ? ts_slice_bytes(&context->in) : 0;
}

/* Describes the transforms on the device, and returns how many there are. */
static int driver_transforms(const struct stage_context *context,
                             struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->transforms ? cuda->transforms(context, shapes) : 0;
}

/* All plans of a stage share one work area, since their transforms run one after the other. The
 * plans also hold tables of factors, which count here if `tables` is set. */
static size_t transforms_bytes(const struct stage_context *context, bool tables)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = driver_transforms(context, shapes);
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

size_t ts_cuda_driver_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t bytes = tables_bytes(context) + driver_scratch_bytes(context, slab_slices) +
                   driver_constants_bytes(context) + transforms_bytes(context, true) +
                   ts_cuda_stride(outside_bytes(context)) +
                   ts_cuda_packed_bytes(context, slab_slices);
    if (!context->stage->reduction)
        return bytes;
    for (int input = 0; input < STAGE_INPUTS; input++)
        bytes += partials_bytes(context, input, slab_slices);
    return bytes + results_bytes(context, slab_slices) + refused_bytes(context);
}

/* Returns the bytes of pinned host memory through which constants, partials and results are
 * copied. */
static size_t pinned_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t largest = driver_constants_bytes(context);
    if (!context->stage->reduction || driver_finishes(context) || driver_checks(context))
        return largest;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const size_t bytes = partials_bytes(context, input, slab_slices);
        largest = bytes > largest ? bytes : largest;
    }
    const size_t results = results_bytes(context, slab_slices);
    return results > largest ? results : largest;
}

size_t ts_cuda_driver_host_bytes(const struct stage_context *context, int64_t slab_slices)
{
    return pinned_bytes(context, slab_slices) + refused_bytes(context) +
           ts_cuda_packed_pinned_bytes(context, slab_slices) +
           outside_bytes(context); /* the slice of constants, while it is copied */
}

size_t ts_cuda_driver_transfers(const struct stage_context *context, int64_t n)
{
    size_t bytes = driver_constants_bytes(context) + tables_bytes(context);
    struct stage_context probe = *context;
    const bool by_slice = ts_stage_reduces_slices(context);
    if (!context->stage->reduction || driver_finishes(context) || driver_checks(context))
        return bytes + refused_bytes(context) +
               (driver_tabulates(context) ? context->stage->cuda->reduction->result_bytes(context)
                                          : 0);
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
        bool volume = false;
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ts_stage_reduces_volume(context, input)) {
                bytes += context->stage->cuda->reduction->partial_bytes(&probe, input);
                volume = true;
            }
        bytes += volume ? result_stride(context) : 0;
        if (by_slice)
            bytes += (size_t)n *
                     (ts_cuda_stride(context->stage->cuda->reduction->partial_bytes(&probe, 0)) +
                      result_stride(context));
    }
    return bytes;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static enum ts_status driver_fill(struct cuda_driver *driver, void *at, size_t bytes)
{
    return ts_cuda_fill(driver->session, CUDA_COMPUTE, at, 0, bytes);
}

/* Allocates device memory and enqueues zeros for it. */
static enum ts_status allocate_cleared(struct cuda_driver *driver, size_t bytes, void **at)
{
    *at = ts_cuda_allocate(driver->session, bytes);
    return *at ? driver_fill(driver, *at, bytes) : TS_RUN_FAILED;
}

static enum ts_status clear_refused(struct cuda_driver *driver)
{
    memset(driver->seen, 0, sizeof *driver->seen);
    return driver_fill(driver, driver->refused, sizeof *driver->refused);
}

static enum ts_status create_refused(struct cuda_driver *driver)
{
    const size_t bytes = refused_bytes(&driver->base.context);
    driver->refused = ts_cuda_allocate(driver->session, bytes);
    driver->seen = driver->refused ? ts_cuda_allocate_pinned(driver->session, bytes) : NULL;
    return driver->seen ? clear_refused(driver) : TS_RUN_FAILED;
}

/* Partials start out as zeros because the gaps between those of slices are copied along. */
static enum ts_status create_reduction(struct cuda_driver *driver)
{
    const struct stage_context *context = &driver->base.context;
    const int64_t slab = driver->base.slab_slices;
    enum ts_status status = TS_OK;
    driver->per_slice = ts_stage_reduces_slices(context);
    driver->finishes = driver_finishes(context);
    driver->tabulates = driver_tabulates(context);
    driver->checks = driver_checks(context);
    driver->host_result_bytes = context->stage->reduction->result_bytes(context);
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++) {
        const size_t bytes = partials_bytes(context, input, slab);
        if (bytes > 0)
            status = allocate_cleared(driver, bytes, &driver->partials[input]);
    }
    if (status == TS_OK)
        status = allocate_cleared(driver, results_bytes(context, slab), &driver->results);
    return status == TS_OK && driver->checks ? create_refused(driver) : status;
}

/* Allocates the tables that the map writes on the device, each in full. */
static enum ts_status create_tables(struct cuda_driver *driver)
{
    const struct stage_table *tables;
    enum ts_status status = TS_OK;
    driver->n_tables = ts_stage_reduced_map_tables(driver->base.reduced, &tables);
    for (int i = 0; status == TS_OK && i < driver->n_tables; i++) {
        driver->tables[i] = tables[i].image;
        status =
            allocate_cleared(driver, ts_image_bytes(&tables[i].image), &driver->tables[i].data);
    }
    return status;
}

enum ts_status ts_cuda_driver_copy_tables(struct stage_driver *base, enum cuda_direction direction)
{
    const struct cuda_driver *driver = cuda_of(base);
    const struct stage_table *tables;
    enum ts_status status = TS_OK;
    if (driver->n_tables == 0)
        return TS_OK;
    ts_stage_reduced_map_tables(base->reduced, &tables);
    for (int i = 0; status == TS_OK && i < driver->n_tables; i++) {
        void *host = tables[i].image.data, *device = driver->tables[i].data;
        status = ts_cuda_copy(
            driver->session, CUDA_COMPUTE, direction, direction == CUDA_TO_HOST ? host : device,
            direction == CUDA_TO_HOST ? device : host, ts_image_bytes(&tables[i].image));
    }
    return status == TS_OK ? ts_cuda_wait(driver->session, CUDA_COMPUTE) : status;
}

static enum ts_status create_transforms(struct cuda_driver *driver)
{
    const struct stage_context *context = &driver->base.context;
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = driver_transforms(context, shapes);
    void *work = ts_cuda_allocate(driver->session, transforms_bytes(context, false));
    enum ts_status status = work ? TS_OK : TS_RUN_FAILED;
    for (int i = 0; status == TS_OK && i < n; i++)
        status = ts_cuda_fft_create(driver->session, context->stage->name, &shapes[i], work,
                                    context->diag, &driver->transforms[i]);
    return status;
}

static enum ts_status write_constants(struct cuda_driver *driver)
{
    const struct stage_context *context = &driver->base.context;
    if (driver->constants_bytes == 0)
        return TS_OK;
    driver->cuda->constants(context, driver->pinned);
    return ts_cuda_driver_copy(driver, CUDA_TO_DEVICE, driver->constants, driver->pinned,
                               driver->cuda->constants_bytes(context));
}

/* Makes a slice filled with the border's constant on the host and copies it to the device. */
static enum ts_status create_outside(struct cuda_driver *driver)
{
    const struct stage_context *context = &driver->base.context;
    const size_t bytes = outside_bytes(context);
    if (bytes == 0)
        return TS_OK;
    driver->outside = ts_cuda_allocate(driver->session, bytes);
    if (!driver->outside)
        return TS_RUN_FAILED;
    void *slice = ts_memory_aligned(bytes);
    if (!slice)
        return ts_diag_no_memory(context->diag, bytes);
    ts_constant_fill(slice, context->in.dtype, ts_stage_reach(context).constant,
                     (int64_t)ts_slice_count(&context->in));
    const enum ts_status status =
        ts_cuda_driver_copy(driver, CUDA_TO_DEVICE, driver->outside, slice, bytes);
    free(slice);
    return status;
}

static enum ts_status create_on_device(struct cuda_driver *driver)
{
    const struct stage_context *context = &driver->base.context;
    const int64_t slab = driver->base.slab_slices;
    driver->constants_bytes = driver_constants_bytes(context);
    driver->pinned = ts_cuda_allocate_pinned(driver->session, pinned_bytes(context, slab));
    driver->scratch = ts_cuda_allocate(driver->session, driver_scratch_bytes(context, slab));
    driver->constants = ts_cuda_allocate(driver->session, driver->constants_bytes);
    enum ts_status status =
        driver->pinned && driver->scratch && driver->constants ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = create_transforms(driver);
    if (status == TS_OK)
        status = write_constants(driver);
    if (status == TS_OK)
        status = create_outside(driver);
    if (status == TS_OK && context->stage->reduction)
        status = create_reduction(driver);
    if (status == TS_OK && ts_cuda_packed_bytes(context, slab) > 0)
        status = ts_cuda_packed_create(driver->session, context, slab, &driver->packed);
    return status == TS_OK && driver->base.reduced ? create_tables(driver) : status;
}

static enum ts_status renew(struct stage_driver *base)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct stage_context *context = &base->context;
    const struct stage_table *tables;
    const int n = base->reduced ? ts_stage_reduced_map_tables(base->reduced, &tables) : 0;
    if (driver_constants_bytes(context) != driver->constants_bytes)
        return ts_diag_error(
            context->diag, TS_RUN_FAILED,
            &(struct diag_site){.code = "found-sizes", .stage = context->set->owner},
            "its constants would have another size with the axes that an earlier stage found");
    for (int i = 0; i < n; i++)
        memcpy(driver->tables[i].axes, tables[i].image.axes, sizeof driver->tables[i].axes);
    return write_constants(driver);
}

static void destroy(struct stage_driver *base)
{
    struct cuda_driver *driver = cuda_of(base);
    for (int i = 0; i < STAGE_TRANSFORMS; i++)
        ts_cuda_fft_destroy(driver->transforms[i]);
    if (driver->textures)
        (void)ts_cuda_wait(driver->session, CUDA_COMPUTE);
    ts_cuda_textures_destroy(driver->textures);
    ts_driver_clear(base);
    free(driver);
}

static enum ts_status restart(struct stage_driver *base)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct stage_context *context = &base->context;
    if (!context->stage->reduction)
        return TS_OK;
    ts_stage_reduced_destroy(base->reduced);
    base->reduced = NULL;
    base->context.round = 0;
    base->context.result = NULL;
    memset(driver->begun, 0, sizeof driver->begun);
    enum ts_status status =
        driver_fill(driver, driver->results, results_bytes(context, base->slab_slices));
    if (status == TS_OK && driver->checks)
        status = ts_cuda_wait(driver->session, CUDA_COMPUTE); /* waits for copies of what was
                                                               * refused before */
    if (status == TS_OK && driver->checks)
        status = clear_refused(driver);
    return status == TS_OK ? ts_stage_reduced_create(context, base->slab_slices, &base->reduced)
                           : status;
}

/* ---- work ------------------------------------------------------------------------------------ */

static struct cuda_call call_of(const struct cuda_driver *driver)
{
    return (struct cuda_call){.stream = ts_cuda_stream(driver->session, CUDA_COMPUTE),
                              .scratch = driver->scratch,
                              .constants = driver->constants,
                              .result = driver->results,
                              .transforms = driver->transforms};
}

void ts_cuda_driver_time(struct stage_driver *driver, struct cuda_timer *timer)
{
    cuda_of(driver)->timer = timer;
}

enum ts_status ts_cuda_driver_follow(struct stage_driver *base)
{
    const struct cuda_driver *driver = cuda_of(base);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < STAGE_TRANSFORMS; i++)
        status = ts_cuda_fft_follow(driver->transforms[i], driver->session,
                                    base->context.stage->name, base->context.diag);
    return status;
}

void ts_cuda_driver_report(struct stage_driver *driver, const struct cuda_reporting *reporting)
{
    cuda_of(driver)->reporting = reporting;
}

/* Records an event at the start or the end of a stretch of work that is timed. Does nothing if
 * `status` is an error, which it then returns, or if nothing is timed. */
static enum ts_status mark(struct cuda_driver *driver, enum ts_status status)
{
    struct cuda_timer *timer = driver->timer;
    if (status != TS_OK || !timer || timer->n >= CUDA_TIMER_EVENTS)
        return status;
    return ts_cuda_event_record(driver->session, timer->events[timer->n++], CUDA_COMPUTE);
}

/* Returns the distance in bytes of the partials of neighboring slices, or 0 if the volume has one
 * partial. */
static size_t partial_stride(const struct cuda_driver *driver, bool of_slices)
{
    return of_slices
               ? ts_cuda_stride(driver->cuda->reduction->partial_bytes(&driver->base.context, 0))
               : 0;
}

/* Reduces only the pixels of each slice that are not left out. A slice without such pixels adds
 * nothing; if reduce() would have overwritten its partial, an empty partial is written. */
static enum ts_status reduce_packed(struct cuda_driver *driver, int input,
                                    const struct ts_image *slices, bool of_slices)
{
    const struct cuda_reduction *reduction = driver->cuda->reduction;
    const struct stage_context *context = &driver->base.context;
    const size_t stride = partial_stride(driver, of_slices);
    enum ts_status status =
        ts_cuda_packed_bring(driver->session, context, input, slices, &driver->packed);
    for (int64_t i = 0; status == TS_OK && i < slices->axes[0].n; i++) {
        struct ts_image views[STAGE_INPUTS];
        struct cuda_call call = call_of(driver);
        char *partial = (char *)driver->partials[input] + (size_t)i * stride;
        ts_cuda_packed_slice(&driver->packed, context, input, slices, i, views);
        if (of_slices)
            call.result = (const char *)driver->results + (size_t)i * result_stride(context);
        if (views[0].axes[2].n > 0)
            status = reduction->reduce(context, input, views, partial, &call);
        else if (of_slices)
            status = driver_fill(driver, partial, stride);
    }
    return status;
}

/* Enqueues the reduction of these slices into the partial of the volume, or into those of the
 * slices. */
static enum ts_status driver_reduce(struct cuda_driver *driver, int input,
                                    const struct ts_image *slices, bool of_slices)
{
    const struct cuda_call call = call_of(driver);
    if (ts_stage_packs_now(&driver->base.context, input))
        return reduce_packed(driver, input, slices, of_slices);
    return driver->cuda->reduction->reduce(&driver->base.context, input, slices,
                                           driver->partials[input], &call);
}

static enum ts_status driver_add(struct stage_driver *base, int input,
                                 const struct ts_image *slices)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct cuda_reduction *reduction = driver->cuda->reduction;
    const size_t bytes = reduction->partial_bytes(&base->context, input);
    if (bytes == 0)
        return TS_OK;
    enum ts_status status = mark(driver, TS_OK);
    if (status == TS_OK && !driver->begun[input])
        status = driver_fill(driver, driver->partials[input], bytes);
    driver->begun[input] = true;
    if (status == TS_OK)
        status = driver_reduce(driver, input, slices, false);
    return mark(driver, status);
}

/* Copies from the device to pinned memory and waits. */
static enum ts_status fetch(struct cuda_driver *driver, const void *from, size_t bytes)
{
    return ts_cuda_driver_copy(driver, CUDA_TO_HOST, driver->pinned, from, bytes);
}

/* Copies the host's n results to the device, each one stride behind the one before. */
static enum ts_status send_results(struct cuda_driver *driver, const void *results, int64_t n)
{
    const size_t stride = result_stride(&driver->base.context), bytes = driver->host_result_bytes;
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)driver->pinned + (size_t)i * stride,
               (const char *)results + (size_t)i * bytes, bytes);
    return ts_cuda_driver_copy(driver, CUDA_TO_DEVICE, driver->results, driver->pinned,
                               (size_t)n * stride);
}

static enum ts_status finish_on_host(struct cuda_driver *driver)
{
    struct stage_reduced *reduced = driver->base.reduced;
    enum ts_status status = TS_OK;
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++)
        status = ts_cuda_driver_collect(&driver->base, input);
    if (status == TS_OK)
        status = ts_stage_reduced_finish(reduced);
    if (status == TS_OK)
        status = send_results(driver,
                              driver->per_slice ? ts_stage_reduced_reference_result(reduced)
                                                : ts_stage_reduced_result(reduced),
                              1);
    return status;
}

/* Hands the result that the device has made to the stage's finish() as its total. */
static enum ts_status tabulate(struct cuda_driver *driver)
{
    void *total = ts_stage_reduced_total(driver->base.reduced, 0);
    const enum ts_status status =
        ts_cuda_driver_copy(driver, CUDA_TO_HOST, total, driver->results,
                            driver->cuda->reduction->result_bytes(&driver->base.context));
    return status == TS_OK ? ts_stage_reduced_finish(driver->base.reduced) : status;
}

static enum ts_status driver_finish(struct stage_driver *base)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct cuda_call call = call_of(driver);
    base->context.result = ts_stage_reduced_result(base->reduced);
    enum ts_status status =
        driver->finishes ? ts_cuda_driver_return_counts(driver) : finish_on_host(driver);
    if (driver->finishes)
        status = mark(driver, status);
    if (driver->finishes && status == TS_OK)
        status = mark(driver, driver->cuda->reduction->finish(&base->context, driver->partials[0],
                                                              driver->results, 1, &call));
    if (status == TS_OK && driver->tabulates)
        status = tabulate(driver);
    memset(driver->begun, 0, sizeof driver->begun);
    base->context.round++;
    return status;
}

/* Writes the total of slice i, for ts_stage_reduced_slices(). */
static void collect_slice(const void *of_driver, int64_t i, void *total)
{
    const struct cuda_driver *driver = of_driver;
    const char *partial = (const char *)driver->pinned + (size_t)i * partial_stride(driver, true);
    driver->cuda->reduction->collect(&driver->base.context, 0, partial, total);
}

/* Calls collect() and the stage's finish() for every slice of a slab, and copies the results to the
 * device. */
static enum ts_status finish_slices(struct cuda_driver *driver, int round, int64_t z_first,
                                    int64_t n)
{
    struct stage_reduced *reduced = driver->base.reduced;
    enum ts_status status =
        fetch(driver, driver->partials[0], (size_t)n * partial_stride(driver, true));
    if (status == TS_OK)
        status = ts_stage_reduced_slices(reduced, round, z_first, n, collect_slice, driver);
    return status == TS_OK ? send_results(driver, ts_stage_reduced_result(reduced), n) : status;
}

/* Enqueues the check of a slab, and the copy of what it and those before it have refused. */
static enum ts_status check_slices(struct cuda_driver *driver, int64_t z_first, int64_t n,
                                   const struct cuda_call *call)
{
    const enum ts_status status =
        driver->cuda->reduction->check(&driver->base.context, driver->partials[0], driver->results,
                                       z_first, n, driver->refused, call);
    return status == TS_OK ? ts_cuda_copy(driver->session, CUDA_COMPUTE, CUDA_TO_HOST, driver->seen,
                                          driver->refused, sizeof *driver->seen)
                           : status;
}

/* The copy may still run while this looks, so only `past` is read then. */
static enum ts_status refused(struct stage_driver *base, bool wait, int64_t *slice)
{
    const struct cuda_driver *driver = cuda_of(base);
    const enum ts_status status =
        driver->checks && wait ? ts_cuda_wait(driver->session, CUDA_COMPUTE) : TS_OK;
    *slice =
        driver->checks && status == TS_OK ? *(const volatile int64_t *)&driver->seen->past - 1 : -1;
    return status;
}

/* Writes the total of the refused slice, for ts_stage_reduced_slices(). */
static void collect_refused(const void *of_driver, int64_t i, void *total)
{
    const struct cuda_driver *driver = of_driver;
    (void)i;
    driver->cuda->reduction->collect(&driver->base.context, 0, driver->seen->partial, total);
}

static enum ts_status driver_refuse(struct stage_driver *base)
{
    const struct cuda_driver *driver = cuda_of(base);
    return ts_stage_reduced_slices(base->reduced, 0, driver->seen->past - 1, 1, collect_refused,
                                   driver);
}

static enum ts_status reduce_slices(struct stage_driver *base, const struct ts_image *slices)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct cuda_reduction *reduction = driver->cuda->reduction;
    struct stage_context *context = &base->context;
    const struct cuda_call call = call_of(driver);
    const int64_t n = slices->axes[0].n;
    const int rounds = ts_stage_rounds(context), before = context->round;
    enum ts_status status = TS_OK;
    for (int round = 0; status == TS_OK && round < rounds; round++) {
        context->round = round;
        status = mark(driver, TS_OK);
        if (status == TS_OK && (!reduction->overwrites || !reduction->overwrites(context)))
            status =
                driver_fill(driver, driver->partials[0], (size_t)n * partial_stride(driver, true));
        if (status == TS_OK)
            status = driver_reduce(driver, 0, slices, true);
        if (status == TS_OK && driver->finishes)
            status = reduction->finish(context, driver->partials[0], driver->results, n, &call);
        if (status == TS_OK && driver->checks)
            status = check_slices(driver, slices->z_first, n, &call);
        status = mark(driver, status);
        if (status == TS_OK && !driver->finishes && !driver->checks)
            status = finish_slices(driver, round, slices->z_first, n);
    }
    context->round = before;
    return status;
}

static enum ts_status driver_map(struct stage_driver *base, const struct ts_image *slices,
                                 struct ts_image *out)
{
    struct cuda_driver *driver = cuda_of(base);
    struct cuda_call call = call_of(driver);
    struct ts_image rows[STAGE_TABLES];
    base->context.result = base->reduced ? ts_stage_reduced_result(base->reduced) : NULL;
    for (int i = 0; i < driver->n_tables; i++)
        rows[i] = ts_image_slices(&driver->tables[i], out->z_first, out->axes[0].n);
    base->context.tables = rows;
    if (driver->reporting) {
        call.progress = driver->reporting->progress;
        call.number = driver->reporting->call;
    }
    enum ts_status status = TS_OK;
    if (driver->cuda->textures && driver->cuda->textures(&base->context))
        status = ts_cuda_textures(&driver->textures, slices, base->context.stage->name,
                                  base->context.diag, &call.textures, &call.n_textures);
    status = mark(driver, status);
    return status == TS_OK ? mark(driver, driver->cuda->map(&base->context, slices, out, &call))
                           : status;
}

static enum ts_status copy(struct stage_driver *base, void *to, const void *from, size_t bytes)
{
    const struct cuda_driver *driver = cuda_of(base);
    return ts_cuda_copy(driver->session, CUDA_COMPUTE, CUDA_ON_DEVICE, to,
                        from ? from : driver->outside, bytes);
}

static enum ts_status driver_collect(struct stage_driver *base, void *to, const void *const *from,
                                     int n, size_t slice_bytes)
{
    const struct cuda_driver *driver = cuda_of(base);
    struct cuda_slices slices;
    for (int i = 0; i < n; i++)
        slices.from[i] = from[i] ? from[i] : driver->outside;
    return ts_cuda_collect(&base->context, &slices, n, slice_bytes, to,
                           ts_cuda_stream(driver->session, CUDA_COMPUTE));
}

static enum ts_status set(struct stage_driver *base, void *to, size_t bytes)
{
    return ts_cuda_fill(cuda_of(base)->session, CUDA_COMPUTE, to, 0xFF, bytes);
}

static enum ts_status fill_invalid(struct stage_driver *base, const struct ts_image *slices,
                                   double value)
{
    return ts_cuda_valid_fill(&base->context, slices, value,
                              ts_cuda_stream(cuda_of(base)->session, CUDA_COMPUTE));
}

static enum ts_status mark_zeros(struct stage_driver *base, const struct ts_image *slices)
{
    return ts_cuda_valid_mark(base->context.device, slices, &(struct invalid_range){0, 0},
                              ts_cuda_stream(cuda_of(base)->session, CUDA_COMPUTE),
                              base->context.diag);
}

static const struct stage_driver_calls calls = {.add = driver_add,
                                                .finish = driver_finish,
                                                .reduce_slices = reduce_slices,
                                                .refused = refused,
                                                .refuse = driver_refuse,
                                                .map = driver_map,
                                                .copy = copy,
                                                .collect = driver_collect,
                                                .set = set,
                                                .fill = fill_invalid,
                                                .mark = mark_zeros,
                                                .restart = restart,
                                                .renew = renew,
                                                .destroy = destroy};

enum ts_status ts_cuda_driver_create(struct cuda_session *session,
                                     const struct stage_context *context, int64_t slab_slices,
                                     void *padded, struct stage_driver **result)
{
    struct cuda_driver *driver = calloc(1, sizeof *driver);
    *result = NULL;
    if (!driver)
        return ts_diag_no_memory(context->diag, sizeof *driver);
    driver->session = session;
    driver->cuda = context->stage->cuda;
    enum ts_status status = ts_driver_init(&driver->base, &calls, context, slab_slices, padded);
    if (status == TS_OK)
        status = create_on_device(driver);
    if (status == TS_OK)
        *result = &driver->base;
    else
        destroy(&driver->base);
    return status;
}
