/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver carries out one stage slab by slab: its reductions, then its map(). The steps, which
 * are the same on every device, come first. The calls of the CPU follow, for which images are in
 * host memory and a call has finished its work when it returns.
 */
#include "stages/engine/driver.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"
#include "stages/engine/prepare.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Returns true if invalid pixels are replaced before the map. */
static bool replaces(const struct stage_context *context)
{
    return context->in.masked && context->stage->invalid_value;
}

/* Returns the offset of the bits, which are behind the values of the slab. */
static size_t valid_offset(const struct stage_context *context, int64_t slices)
{
    const size_t bytes = (size_t)slices * ts_slice_bytes(&context->in);
    return context->in.masked ? (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT
                              : bytes;
}

/* Returns true if the stage moves the validity of pixels as it moves values: as bytes, one output
 * slice at a time. */
static bool moves(const struct stage_context *context)
{
    return context->out.masked && context->stage->map && context->stage->validity == VALIDITY_MOVES;
}

/* Returns the bytes of one output slice, and sets *in_bytes to those of the input slices that it is
 * made from, with one byte for each pixel. */
static size_t moving_bytes(const struct stage_context *context, size_t *in_bytes)
{
    int64_t most = 0;
    for (int64_t z = 0; z < context->out.axes[0].n; z++) {
        const struct stage_slices read = ts_stage_reads(context, z, z + 1);
        most = read.end - read.first > most ? read.end - read.first : most;
    }
    *in_bytes = ((size_t)most * ts_slice_count(&context->in) + MEMORY_ALIGNMENT - 1) /
                MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    return *in_bytes + ts_slice_count(&context->out);
}

size_t ts_driver_padded_bytes(const struct stage_context *context, int64_t n)
{
    size_t in_bytes;
    if (moves(context))
        return moving_bytes(context, &in_bytes);
    const int64_t halo = ts_stage_reach(context).halo, slices = n + 2 * halo;
    return halo == 0 && !replaces(context)
               ? 0
               : valid_offset(context, slices) + (size_t)slices * ts_valid_bytes(&context->in);
}

size_t ts_driver_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return context->stage->scratch_bytes ? context->stage->scratch_bytes(context, n) : 0;
}

static int transforms_of(const struct stage_context *context,
                         struct fft_shape shapes[STAGE_TRANSFORMS])
{
    return context->stage->transforms ? context->stage->transforms(context, shapes) : 0;
}

size_t ts_driver_transforms_bytes(const struct stage_context *context)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = transforms_of(context, shapes);
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += ts_fft_bytes(&shapes[i]);
    return bytes;
}

static enum ts_status create_transforms(struct stage_context *context)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = transforms_of(context, shapes);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++)
        status = ts_fft_create(&shapes[i], context->diag, &context->transforms[i]);
    return status;
}

enum ts_status ts_driver_init(struct stage_driver *driver, const struct stage_driver_calls *calls,
                              const struct stage_context *context, int64_t slab_slices,
                              void *padded)
{
    *driver = (struct stage_driver){
        .calls = calls, .context = *context, .slab_slices = slab_slices, .padded = padded};
    const enum ts_status status = create_transforms(&driver->context);
    if (status != TS_OK || !ts_stage_has_state(context))
        return status;
    return ts_stage_reduced_create(&driver->context, slab_slices, &driver->reduced);
}

void ts_driver_clear(struct stage_driver *driver)
{
    ts_stage_reduced_destroy(driver->reduced);
    for (int i = 0; i < STAGE_TRANSFORMS; i++)
        ts_fft_destroy(driver->context.transforms[i]);
}

void ts_driver_destroy(struct stage_driver *driver)
{
    if (driver)
        driver->calls->destroy(driver);
}

enum ts_status ts_driver_restart(struct stage_driver *driver)
{
    return driver->calls->restart(driver);
}

enum ts_status ts_driver_renew(struct stage_driver *driver, const struct stage_context *context)
{
    if (!driver)
        return TS_OK;
    driver->context.in = context->in;
    driver->context.out = context->out;
    const enum ts_status status =
        driver->reduced ? ts_stage_reduced_renew(driver->reduced, &driver->context) : TS_OK;
    return status == TS_OK && driver->calls->renew ? driver->calls->renew(driver) : status;
}

struct stage_reduced *ts_driver_reduced_take(struct stage_driver *driver)
{
    struct stage_reduced *reduced = driver->reduced;
    driver->reduced = NULL;
    return reduced;
}

/* ---- reductions ------------------------------------------------------------------------------ */

enum ts_status ts_driver_add(struct stage_driver *driver, int input, const struct ts_image *slices)
{
    return driver->calls->add(driver, input, slices);
}

enum ts_status ts_driver_finish(struct stage_driver *driver)
{
    return driver->calls->finish(driver);
}

enum ts_status ts_driver_reduce_slices(struct stage_driver *driver, const struct ts_image *slices)
{
    return driver->calls->reduce_slices(driver, slices);
}

enum ts_status ts_driver_refused(struct stage_driver *driver, bool wait, int64_t *slice)
{
    *slice = -1;
    return driver && driver->calls->refused ? driver->calls->refused(driver, wait, slice) : TS_OK;
}

enum ts_status ts_driver_refuse(struct stage_driver *driver)
{
    return driver->calls->refuse(driver);
}

static enum ts_status reduce_input(struct stage_driver *driver, int input, stage_feed *feed,
                                   void *from)
{
    const int64_t nz = ts_stage_input(&driver->context, input)->axes[0].n,
                  slab = driver->slab_slices;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < nz; z += slab) {
        struct ts_image slices[STAGE_INPUTS];
        status = feed(from, input, z, nz - z < slab ? nz - z : slab, slices);
        if (status == TS_OK)
            status = ts_driver_add(driver, input, slices);
    }
    return status;
}

enum ts_status ts_driver_reduce(struct stage_driver *driver, stage_feed *feed, void *from)
{
    const struct stage_context *context = &driver->context;
    const int rounds = ts_stage_reduces_volumes(context) ? ts_stage_rounds(context) : 0;
    enum ts_status status = TS_OK;
    for (int round = 0; status == TS_OK && round < rounds; round++) {
        for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++)
            if (ts_stage_reduces_volume(context, input))
                status = reduce_input(driver, input, feed, from);
        if (status == TS_OK)
            status = ts_driver_finish(driver);
    }
    return status;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Returns the part that has slice z, or NULL. */
static const struct ts_image *part_of(const struct ts_image *parts, int n_parts, int64_t z)
{
    for (int i = 0; i < n_parts; i++)
        if (z >= parts[i].z_first && z < parts[i].z_first + parts[i].axes[0].n)
            return &parts[i];
    return NULL;
}

/* Copies `run` slices of a part, starting at slice `index` of the volume, and their bits, to place
 * k of the padded slab. Without a part it fills one slice with the border's constant, which is
 * valid. */
static enum ts_status copy_slices(struct stage_driver *driver, const struct ts_image *part,
                                  int64_t index, int64_t k, int64_t run,
                                  const struct ts_image *padded)
{
    const int64_t from = part ? index - part->z_first : 0;
    const size_t valid_bytes = (size_t)run * ts_valid_bytes(padded);
    const enum ts_status status = driver->calls->copy(driver, ts_slice_data(padded, k),
                                                      part ? ts_slice_data(part, from) : NULL,
                                                      (size_t)run * ts_slice_bytes(padded));
    if (status != TS_OK || valid_bytes == 0)
        return status;
    return part ? driver->calls->copy(driver, ts_slice_valid(padded, k), ts_slice_valid(part, from),
                                      valid_bytes)
                : driver->calls->set(driver, ts_slice_valid(padded, k), valid_bytes);
}

/* Copies every slice of a padded slab from its part. */
static enum ts_status collect_slices(struct stage_driver *driver, const struct ts_image *parts,
                                     int n_parts, const struct ts_image *padded)
{
    const void *from[DRIVER_COLLECT_SLICES];
    const int n = (int)padded->axes[0].n;
    for (int k = 0; k < n; k++) {
        const int64_t index = ts_border_index(padded->z_first + k, driver->context.in.axes[0].n,
                                              ts_stage_reach(&driver->context).border);
        const struct ts_image *part = index < 0 ? NULL : part_of(parts, n_parts, index);
        from[k] = part ? ts_slice_data(part, index - part->z_first) : NULL;
    }
    return driver->calls->collect(driver, padded->data, from, n, ts_slice_bytes(padded));
}

/* Neighboring slices are copied at once, because a copy on a device takes longer than its bytes
 * need. */
enum ts_status ts_driver_pad(struct stage_driver *driver, const struct ts_image *parts, int n_parts,
                             int64_t z, int64_t n, struct ts_image *padded)
{
    const struct stage_reach reach = ts_stage_reach(&driver->context);
    const struct ts_image *whole = &driver->context.in;
    const struct stage_slices read = ts_stage_reads(&driver->context, z, z + n);
    const int64_t nz = whole->axes[0].n, first = read.first, count = read.end - read.first;
    const struct ts_image *holder = part_of(parts, n_parts, first);
    *padded = *whole;
    padded->axes[0].n = count;
    padded->z_first = first;
    padded->data = driver->padded;
    if (whole->masked)
        padded->valid =
            (uint64_t *)(void *)((char *)driver->padded + valid_offset(&driver->context, count));
    if (!replaces(&driver->context) && holder &&
        first + count <= holder->z_first + holder->axes[0].n) {
        padded->data = ts_slice_data(holder, first - holder->z_first);
        padded->valid = ts_slice_valid(holder, first - holder->z_first);
        return TS_OK;
    }
    if (driver->calls->collect && !whole->masked && count <= DRIVER_COLLECT_SLICES &&
        ts_image_bytes(padded) <= DRIVER_COLLECT_BYTES)
        return collect_slices(driver, parts, n_parts, padded);
    enum ts_status status = TS_OK;
    for (int64_t k = 0, run; status == TS_OK && k < count; k += run) {
        const int64_t index = ts_border_index(first + k, nz, reach.border);
        const struct ts_image *part = index < 0 ? NULL : part_of(parts, n_parts, index);
        for (run = 1; part && k + run < count && index + run < part->z_first + part->axes[0].n &&
                      ts_border_index(first + k + run, nz, reach.border) == index + run;)
            run++;
        status = copy_slices(driver, part, index, k, run, padded);
    }
    return status == TS_OK && replaces(&driver->context)
               ? driver->calls->fill(driver, padded,
                                     driver->context.stage->invalid_value(&driver->context))
               : status;
}

/* Makes the stage map bytes that are 0 for invalid pixels of its input; where the output is 0, it
 * is invalid. Meanwhile the context describes bytes. */
static enum ts_status move_valid(struct stage_driver *driver, const struct ts_image *read,
                                 const struct ts_image *out)
{
    const struct stage_context context = driver->context;
    size_t in_bytes;
    enum ts_status status = TS_OK;
    moving_bytes(&context, &in_bytes);
    driver->context.in.dtype = driver->context.out.dtype = TS_U8;
    for (int64_t z = out->z_first; status == TS_OK && z < out->z_first + out->axes[0].n; z++) {
        const struct stage_slices from = ts_stage_reads(&context, z, z + 1);
        struct ts_image bytes = driver->context.in, moved = driver->context.out;
        bytes.axes[0].n = from.end - from.first;
        bytes.z_first = from.first;
        bytes.data = driver->padded;
        bytes.valid = ts_slice_valid(read, from.first - read->z_first);
        moved.axes[0].n = 1;
        moved.z_first = z;
        moved.data = (char *)driver->padded + in_bytes;
        moved.valid = ts_slice_valid(out, z - out->z_first);
        status = driver->calls->set(driver, bytes.data, ts_image_bytes(&bytes));
        if (status == TS_OK)
            status = driver->calls->fill(driver, &bytes, 0);
        if (status == TS_OK)
            status = driver->calls->map(driver, &bytes, &moved);
        if (status == TS_OK)
            status = driver->calls->mark(driver, &moved);
    }
    driver->context.in = context.in;
    driver->context.out = context.out;
    return status;
}

/* Returns true if map() wrote the bits of its output: it makes pixels invalid, or output slices are
 * not made from the input slices of the same number. */
static bool map_writes_valid(const struct stage_context *context)
{
    return ts_stage_masks(context) || (context->stage->validity == VALIDITY_SAME &&
                                       (context->stage->reads || ts_slice_count(&context->out) !=
                                                                     ts_slice_count(&context->in)));
}

/* Writes which pixels of the output are valid. `read` is what map() was given; behind it is the
 * mask, for a stage that masks its output. `valid` has the bits of the input's slices. */
static enum ts_status write_valid(struct stage_driver *driver,
                                  const struct ts_image read[STAGE_INPUTS], const uint64_t *valid,
                                  const struct ts_image *out)
{
    if (map_writes_valid(&driver->context))
        return TS_OK;
    return moves(&driver->context)
               ? move_valid(driver, read, out)
               : driver->calls->copy(driver, out->valid, valid,
                                     (size_t)out->axes[0].n * ts_valid_bytes(out));
}

enum ts_status ts_driver_slab(struct stage_driver *driver, const struct ts_image *parts,
                              int n_parts, struct ts_image slices[STAGE_INPUTS],
                              struct ts_image *out)
{
    const uint64_t *valid = driver->context.stage->reads ? NULL : slices[0].valid;
    enum ts_status status = TS_OK;
    if (ts_stage_reduces_slices(&driver->context))
        status = ts_driver_reduce_slices(driver, slices);
    if (status != TS_OK || !driver->context.stage->map)
        return status;
    status = ts_driver_pad(driver, parts, n_parts, out->z_first, out->axes[0].n, &slices[0]);
    if (status == TS_OK)
        status = driver->calls->map(driver, slices, out);
    return status == TS_OK && out->valid ? write_valid(driver, slices, valid, out) : status;
}

enum ts_status ts_driver_run(struct stage_driver *driver, const struct stage_images *images,
                             struct stage_context *context, struct ts_image *out)
{
    const int64_t nz = context->out.axes[0].n, slab = driver->slab_slices;
    enum ts_status status = ts_driver_reduce(driver, images->feed, images->from);
    if (status == TS_OK && ts_stage_finds_axes(context)) {
        status = ts_stage_find_axes(context, ts_stage_reduced_result(driver->reduced));
        memcpy(out->axes, context->out.axes, sizeof out->axes);
        if (status == TS_OK)
            status = ts_driver_renew(driver, context);
    }
    for (int64_t z = 0; status == TS_OK && z < nz; z += slab)
        status = images->slab(images->from, z, nz - z < slab ? nz - z : slab);
    int64_t refused = -1;
    if (status == TS_OK)
        status = ts_driver_refused(driver, true, &refused);
    return refused >= 0 ? ts_driver_refuse(driver) : status;
}

/* ---- the CPU --------------------------------------------------------------------------------- */

struct host_driver {
    struct stage_driver base;
    struct stage_buffers buffers, own; /* the buffers in use; and those of them that were allocated
                                        * here */
};

static enum ts_status host_add(struct stage_driver *driver, int input,
                               const struct ts_image *slices)
{
    ts_stage_reduced_add(driver->reduced, input, slices);
    return TS_OK;
}

static enum ts_status host_finish(struct stage_driver *driver)
{
    return ts_stage_reduced_finish(driver->reduced);
}

static enum ts_status host_reduce_slices(struct stage_driver *driver, const struct ts_image *slices)
{
    return ts_stage_reduced_slab(driver->reduced, slices);
}

static enum ts_status host_map(struct stage_driver *driver, const struct ts_image *slices,
                               struct ts_image *out)
{
    const struct host_driver *host = (const struct host_driver *)driver;
    struct ts_image rows[STAGE_TABLES];
    const struct stage_table *tables;
    const int n = driver->reduced ? ts_stage_reduced_map_tables(driver->reduced, &tables) : 0;
    for (int i = 0; i < n; i++)
        rows[i] = ts_image_slices(&tables[i].image, out->z_first, out->axes[0].n);
    driver->context.result = driver->reduced ? ts_stage_reduced_result(driver->reduced) : NULL;
    driver->context.tables = rows;
    return driver->context.stage->map(&driver->context, slices, out, host->buffers.scratch);
}

static enum ts_status host_copy(struct stage_driver *driver, void *to, const void *from,
                                size_t bytes)
{
    const struct ts_image *in = &driver->context.in;
    if (from)
        memcpy(to, from, bytes);
    else
        ts_constant_fill(to, in->dtype, ts_stage_reach(&driver->context).constant,
                         (int64_t)ts_slice_count(in));
    return TS_OK;
}

static enum ts_status host_set(struct stage_driver *driver, void *to, size_t bytes)
{
    (void)driver;
    memset(to, 0xFF, bytes);
    return TS_OK;
}

static enum ts_status host_fill(struct stage_driver *driver, const struct ts_image *slices,
                                double value)
{
    ts_valid_fill(slices, value, driver->context.threads);
    return TS_OK;
}

static enum ts_status host_mark(struct stage_driver *driver, const struct ts_image *slices)
{
    ts_valid_mark(slices, &(struct invalid_range){0, 0}, driver->context.threads);
    return TS_OK;
}

static enum ts_status host_restart(struct stage_driver *driver)
{
    if (!ts_stage_has_state(&driver->context))
        return TS_OK;
    ts_stage_reduced_destroy(driver->reduced);
    return ts_stage_reduced_create(&driver->context, driver->slab_slices, &driver->reduced);
}

static void host_destroy(struct stage_driver *driver)
{
    struct host_driver *host = (struct host_driver *)driver;
    ts_driver_clear(driver);
    free(host->own.padded);
    free(host->own.scratch);
    free(host);
}

const struct stage_driver_calls ts_driver_host = {.add = host_add,
                                                  .finish = host_finish,
                                                  .reduce_slices = host_reduce_slices,
                                                  .map = host_map,
                                                  .copy = host_copy,
                                                  .set = host_set,
                                                  .fill = host_fill,
                                                  .mark = host_mark,
                                                  .restart = host_restart,
                                                  .destroy = host_destroy};

static enum ts_status create_buffers(struct host_driver *host, int64_t slab_slices)
{
    const size_t padded = ts_driver_padded_bytes(&host->base.context, slab_slices);
    const size_t scratch = ts_driver_scratch_bytes(&host->base.context, slab_slices);
    host->own = (struct stage_buffers){ts_memory_aligned(padded), ts_memory_aligned(scratch)};
    host->buffers = host->own;
    host->base.padded = host->own.padded;
    return host->own.padded && host->own.scratch
               ? TS_OK
               : ts_diag_no_memory(host->base.context.diag, padded + scratch);
}

enum ts_status ts_driver_create(const struct stage_context *context, int64_t slab_slices,
                                const struct stage_buffers *buffers, struct stage_driver **driver)
{
    struct host_driver *host = calloc(1, sizeof *host);
    *driver = NULL;
    if (!host)
        return ts_diag_no_memory(context->diag, sizeof *host);
    enum ts_status status = ts_driver_init(&host->base, &ts_driver_host, context, slab_slices,
                                           buffers ? buffers->padded : NULL);
    if (buffers)
        host->buffers = *buffers;
    else if (status == TS_OK && context->stage->map)
        status = create_buffers(host, slab_slices);
    if (status == TS_OK)
        *driver = &host->base;
    else
        host_destroy(&host->base);
    return status;
}

/* ---- execute -----------------------------------------------------------------------------------
 *
 * This runs one stage over whole images in host memory, slab by slab, or for one slice of its
 * output. */

struct whole {
    struct stage_driver *driver;
    struct ts_image images[STAGE_INPUTS]; /* the input, then the references that are given */
    struct ts_image *out;
};

static enum ts_status feed(void *from, int input, int64_t z, int64_t n,
                           struct ts_image slices[STAGE_INPUTS])
{
    const struct whole *whole = from;
    ts_stage_slices(&whole->driver->context, input, &whole->images[input], z, n, slices);
    return TS_OK;
}

static enum ts_status slab(void *from, int64_t z, int64_t n)
{
    struct whole *whole = from;
    struct ts_image slices[STAGE_INPUTS], target = ts_image_slices(whole->out, z, n);
    if (!whole->driver->context.stage->reads)
        feed(whole, 0, z, n, slices);
    return ts_driver_slab(whole->driver, &whole->images[0], 1, slices, &target);
}

enum ts_status ts_stage_apply_slice(struct stage_driver *driver, const struct ts_image *in,
                                    struct ts_image *out, int64_t z)
{
    struct ts_image one = *out, slices[STAGE_INPUTS];
    struct whole whole = {.driver = driver, .images = {*in}};
    const enum ts_status status = ts_driver_reduce(driver, feed, &whole);
    if (status != TS_OK)
        return status;
    one.axes[0].n = 1;
    one.z_first = z;
    if (!driver->context.stage->reads)
        feed(&whole, 0, z, 1, slices);
    return ts_driver_slab(driver, in, 1, slices, &one);
}

void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS])
{
    images[0] = *in;
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        images[1 + i] = context->references[i] ? *context->references[i] : (struct ts_image){0};
        images[1 + i].data = context->references[i] ? in->data : NULL;
    }
}

enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES],
                              int64_t slab_slices, struct stage_reduced **reduced)
{
    const int64_t nz = ts_stage_most_slices(context);
    struct whole whole = {.images = {*in}, .out = out};
    for (int i = 0; references && i < STAGE_REFERENCES; i++)
        if (references[i])
            whole.images[1 + i] = *references[i];
    enum ts_status status = ts_driver_create(
        context, slab_slices > 0 && slab_slices < nz ? slab_slices : nz, NULL, &whole.driver);
    if (status == TS_OK)
        status =
            ts_driver_run(whole.driver, &(struct stage_images){feed, slab, &whole}, context, out);
    if (reduced)
        *reduced = status == TS_OK ? ts_driver_reduced_take(whole.driver) : NULL;
    ts_driver_destroy(whole.driver);
    return status;
}
