/* SPDX-License-Identifier: Apache-2.0
 *
 * One stage on slabs. Order of float operations is fixed by the image: where merging is not exact every slice is its
 * own partial result and partials join in rising z, so neither slabs nor threads show in the bytes.
 */
#include "stages/execute.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static void *allocate(size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = rounded < bytes ? NULL : aligned_alloc(ALIGNMENT, rounded > 0 ? rounded : ALIGNMENT);
    if (memory)
        memset(memory, 0, rounded);
    return memory;
}

/* ---- preparing --------------------------------------------------------------------------------- */

static enum ts_status refuse(const struct stage_context *context, const char *code, const char *what, const char *is)
{
    return ts_diag_error(context->diag, TS_BAD_CHAIN,
                         &(struct diag_site){.code = code, .span = context->set->span, .stage = context->stage->name},
                         "does not take %s %s", what, is);
}

static enum ts_status check_accepts(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const struct ts_image *in = &context->in;
    const bool sinogram = in->rank == 3 && in->axes[1].kind == TS_AXIS_VIEW;
    char accepted[160] = "";
    size_t used = 0;
    if (!(stage->axes & (sinogram ? AXES_SINOGRAM : AXES_VOLUME))) {
        refuse(context, "stage-axes", "a", sinogram ? "sinogram" : "volume");
        ts_diag_hint(context->diag, "it takes %s (%s)", sinogram ? "volumes" : "sinograms",
                     sinogram ? "z, y, x" : "z, view, detector");
        return TS_BAD_CHAIN;
    }
    if (!(stage->dtypes & TS_DTYPE_BIT(in->dtype))) {
        for (int i = TS_U8; i <= TS_F32; i++)
            if (stage->dtypes & TS_DTYPE_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s", ts_dtype_name(i));
        refuse(context, "stage-dtype", "values of type", ts_dtype_name(in->dtype));
        ts_diag_hint(context->diag, "it takes%s; `rescale` or `window` before it can change the type", accepted);
        return TS_BAD_CHAIN;
    }
    if (!(stage->quantities & TS_QUANTITY_BIT(in->quantity))) {
        for (int i = TS_COUNTS; i <= TS_INTENSITY; i++)
            if (stage->quantities & TS_QUANTITY_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s", ts_quantity_name(i));
        refuse(context, "stage-quantity", "the quantity", ts_quantity_name(in->quantity));
        ts_diag_hint(context->diag, "it takes%s", accepted);
        return TS_BAD_CHAIN;
    }
    return TS_OK;
}

enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set, const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES], int threads,
                                struct ts_diag *diag, struct stage_context *context)
{
    *context = (struct stage_context){
        .stage = stage, .set = set, .params = set->values, .in = *in, .threads = threads, .diag = diag};
    context->in.data = NULL;
    context->in.z_first = 0;
    for (int i = 0; references && i < STAGE_REFERENCES; i++)
        context->references[i] = references[i];
    enum ts_status status = check_accepts(context);
    if (status == TS_OK && stage->resolve)
        status = stage->resolve(context, set->values);
    if (status != TS_OK)
        return status;
    context->out = context->in;
    if (stage->shape)
        status = stage->shape(context, &context->out);
    if (status == TS_OK && ts_image_bytes(&context->out) == SIZE_MAX)
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "too-large", .span = set->span, .stage = stage->name},
                             "the image it would make has more bytes than a number can count");
    return status;
}

struct stage_reach ts_stage_reach(const struct stage_context *context)
{
    return context->stage->reach ? context->stage->reach(context) : (struct stage_reach){0};
}

int ts_stage_rounds(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    return !reduction ? 0 : reduction->rounds ? reduction->rounds(context) : 1;
}

/* ---- borders ----------------------------------------------------------------------------------- */

int64_t ts_border_index(int64_t i, int64_t n, enum ts_border border)
{
    if (i >= 0 && i < n)
        return i;
    const int64_t period = border == BORDER_REFLECT ? 2 * n : border == BORDER_MIRROR ? 2 * (n - 1) : n;
    switch (border) {
    case BORDER_CONSTANT:
        return -1;
    case BORDER_NEAREST:
        return i < 0 ? 0 : n - 1;
    case BORDER_WRAP:
        return ((i % n) + n) % n;
    case BORDER_REFLECT:
        i = ((i % period) + period) % period;
        return i < n ? i : period - 1 - i;
    case BORDER_MIRROR:
        if (n == 1)
            return 0;
        i = ((i % period) + period) % period;
        return i < n ? i : period - i;
    }
    return -1;
}

static void fill_slice(void *slice, const struct ts_image *image, double value)
{
    const size_t count = ts_slice_count(image), element = ts_dtype_bytes(image->dtype);
    unsigned char *bytes = slice;
    const float as_float = (float)value;
    if (count == 0)
        return;
    ts_store_f32(bytes, image->dtype, &as_float, 1);
    if (image->dtype == TS_I32 || image->dtype == TS_U32) { /* beyond float's 24 bits */
        const uint32_t exact = image->dtype == TS_I32 ? (uint32_t)(int32_t)value : (uint32_t)value;
        memcpy(bytes, &exact, element);
    }
    for (size_t i = 1; i < count; i++)
        memcpy(bytes + i * element, bytes, element);
}

static const struct ts_image *part_of(const struct ts_image *parts, int n_parts, int64_t z)
{
    for (int i = 0; i < n_parts; i++)
        if (z >= parts[i].z_first && z < parts[i].z_first + parts[i].axes[0].n)
            return &parts[i];
    return NULL;
}

void ts_stage_pad(const struct stage_reach *reach, const struct ts_image *whole, const struct ts_image *parts,
                  int n_parts, int64_t z, int64_t n, void *room, struct ts_image *padded)
{
    const int64_t nz = whole->axes[0].n, first = z - reach->halo, count = n + 2 * reach->halo;
    const struct ts_image *holder = part_of(parts, n_parts, first);
    if (holder && first + count <= holder->z_first + holder->axes[0].n) {
        *padded = ts_image_slices(holder, first - holder->z_first, count);
        return;
    }
    *padded = *whole;
    padded->axes[0].n = count;
    padded->z_first = first;
    padded->data = room;
    const size_t bytes = ts_slice_bytes(whole);
    for (int64_t k = 0; k < count; k++) {
        const int64_t from = ts_border_index(first + k, nz, reach->border);
        const struct ts_image *part = from < 0 ? NULL : part_of(parts, n_parts, from);
        if (part)
            memcpy(ts_slice_data(padded, k), ts_slice_data(part, from - part->z_first), bytes);
        else
            fill_slice(ts_slice_data(padded, k), whole, reach->constant);
    }
}

/* ---- reductions -------------------------------------------------------------------------------- */

enum { INPUTS = STAGE_REFERENCES + 1 };

struct stage_reduced {
    struct stage_context context; /* a copy: round and result belong to this state */
    int n_tables;
    struct stage_table tables[STAGE_TABLES];
    bool per_slice;
    int64_t slab_slices;
    size_t partial_bytes, result_bytes; /* the largest of all inputs and rounds */
    void *totals[INPUTS];
    bool begun[INPUTS];
    void *partials; /* slots of partial_bytes */
    int64_t n_slots;
    void *result; /* one, or slab_slices of them for a reduction per slice */
    void *reference_result;
};

static const struct ts_image *input_of(const struct stage_context *context, int input)
{
    return input == 0 ? &context->in : context->references[input - 1];
}

bool ts_stage_reduces_slices(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    return reduction && reduction->per_slice && reduction->per_slice(context);
}

/* Partials start on their own cache lines. */
static size_t padded_bytes(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t largest_partial(const struct stage_context *context)
{
    struct stage_context probe = *context;
    size_t largest = 0;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++)
        for (int input = 0; input < INPUTS; input++)
            if (input_of(context, input)) {
                const size_t bytes = context->stage->reduction->partial_bytes(&probe, input);
                largest = bytes > largest ? bytes : largest;
            }
    return padded_bytes(largest);
}

static int64_t slot_count(const struct stage_context *context, int64_t slab_slices)
{
    const bool one_a_thread = context->stage->reduction->exact || ts_stage_reduces_slices(context);
    return one_a_thread && context->threads < slab_slices ? context->threads : slab_slices;
}

static int describe_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    const struct stage_reduction *reduction = context->stage->reduction;
    return reduction && reduction->tables ? reduction->tables(context, tables) : 0;
}

bool ts_stage_reduces_volume(const struct stage_context *context, int input)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    if (!reduction || !input_of(context, input) || (input == 0 && ts_stage_reduces_slices(context)))
        return false;
    struct stage_context probe = *context;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++)
        if (reduction->partial_bytes(&probe, input) > 0)
            return true;
    return false;
}

size_t ts_stage_reduced_bytes(const struct stage_context *context, int64_t slab_slices)
{
    if (!context->stage->reduction)
        return 0;
    struct stage_table tables[STAGE_TABLES];
    const int n_tables = describe_tables(context, tables);
    const size_t result = context->stage->reduction->result_bytes(context);
    size_t bytes = sizeof(struct stage_reduced) + INPUTS * largest_partial(context) +
                   (size_t)slot_count(context, slab_slices) * largest_partial(context) +
                   (ts_stage_reduces_slices(context) ? (size_t)slab_slices + 1 : 1) * padded_bytes(result) + 64 * ALIGNMENT;
    for (int i = 0; i < n_tables; i++)
        bytes += padded_bytes(ts_image_bytes(&tables[i].image));
    return bytes;
}

enum ts_status ts_stage_reduced_create(const struct stage_context *context, int64_t slab_slices,
                                       struct stage_reduced **result)
{
    struct stage_reduced *reduced = calloc(1, sizeof *reduced);
    *result = NULL;
    if (!reduced)
        return ts_diag_no_memory(context->diag, sizeof *reduced);
    reduced->context = *context;
    reduced->per_slice = ts_stage_reduces_slices(context);
    reduced->slab_slices = slab_slices;
    reduced->partial_bytes = largest_partial(context);
    reduced->result_bytes = context->stage->reduction->result_bytes(context);
    reduced->n_slots = slot_count(context, slab_slices);
    reduced->n_tables = describe_tables(context, reduced->tables);
    bool complete = true;
    for (int i = 0; i < reduced->n_tables; i++) {
        reduced->tables[i].image.data = allocate(ts_image_bytes(&reduced->tables[i].image));
        complete &= reduced->tables[i].image.data != NULL;
    }
    for (int input = 0; input < INPUTS; input++)
        if (input_of(context, input)) {
            reduced->totals[input] = allocate(reduced->partial_bytes);
            complete &= reduced->totals[input] != NULL;
        }
    reduced->partials = allocate((size_t)reduced->n_slots * reduced->partial_bytes);
    reduced->result = allocate((reduced->per_slice ? (size_t)slab_slices : 1) * reduced->result_bytes);
    reduced->reference_result = allocate(reduced->result_bytes);
    complete &= reduced->partials && reduced->result && reduced->reference_result;
    if (!complete) {
        ts_stage_reduced_destroy(reduced);
        return ts_diag_no_memory(context->diag, ts_stage_reduced_bytes(context, slab_slices));
    }
    *result = reduced;
    return TS_OK;
}

void ts_stage_reduced_destroy(struct stage_reduced *reduced)
{
    if (!reduced)
        return;
    for (int i = 0; i < reduced->n_tables; i++)
        free(reduced->tables[i].image.data);
    for (int input = 0; input < INPUTS; input++)
        free(reduced->totals[input]);
    free(reduced->partials);
    free(reduced->result);
    free(reduced->reference_result);
    free(reduced);
}

static void *slot(const struct stage_reduced *reduced, int64_t i)
{
    return (unsigned char *)reduced->partials + (size_t)i * reduced->partial_bytes;
}

void ts_stage_reduced_add(struct stage_reduced *reduced, int input, const struct ts_image *slab)
{
    struct stage_context *context = &reduced->context;
    const struct stage_reduction *reduction = context->stage->reduction;
    context->result = reduced->per_slice ? reduced->reference_result : reduced->result;
    const size_t bytes = reduction->partial_bytes(context, input);
    const int64_t n = slab->axes[0].n;
    if (bytes == 0)
        return;
    for (int64_t done = 0; done < n;) {
        /* Exact: one contiguous group of slices a slot. Else: one slice a slot, as many rounds of slots as it takes. */
        const int64_t left = n - done, groups = left < reduced->n_slots ? left : reduced->n_slots;
        const int64_t taken = reduction->exact ? left : groups;
#pragma omp parallel for schedule(static, 1) num_threads(context->threads)
        for (int64_t group = 0; group < groups; group++) {
            const int64_t first = done + taken * group / groups, end = done + taken * (group + 1) / groups;
            const struct ts_image slices = ts_image_slices(slab, first, end - first);
            reduction->reduce(context, input, &slices, slot(reduced, group));
        }
        for (int64_t group = 0; group < groups; group++) {
            if (reduced->begun[input])
                reduction->merge(context, input, reduced->totals[input], slot(reduced, group));
            else
                memcpy(reduced->totals[input], slot(reduced, group), bytes);
            reduced->begun[input] = true;
        }
        done += taken;
    }
}

enum ts_status ts_stage_reduced_finish(struct stage_reduced *reduced)
{
    struct stage_context *context = &reduced->context;
    const struct stage_reduction *reduction = context->stage->reduction;
    const void *totals[INPUTS];
    struct ts_image tables[STAGE_TABLES];
    for (int input = 0; input < INPUTS; input++)
        totals[input] = reduced->begun[input] ? reduced->totals[input] : NULL;
    for (int i = 0; i < reduced->n_tables; i++)
        tables[i] = reduced->tables[i].image;
    void *result = reduced->per_slice ? reduced->reference_result : reduced->result;
    context->result = result;
    const enum ts_status status = reduction->finish(context, totals, result, reduced->per_slice ? NULL : tables);
    memset(reduced->begun, 0, sizeof reduced->begun);
    context->round++;
    return status;
}

static enum ts_status reduce_slice(const struct stage_reduced *reduced, const struct ts_image *slice, int64_t i,
                                   void *partial)
{
    struct stage_context context = reduced->context;
    const struct stage_reduction *reduction = context.stage->reduction;
    void *result = (unsigned char *)reduced->result + (size_t)i * reduced->result_bytes;
    memcpy(result, reduced->reference_result, reduced->result_bytes);
    context.result = result;
    struct ts_image rows[STAGE_TABLES];
    for (int t = 0; t < reduced->n_tables; t++)
        rows[t] = ts_image_slices(&reduced->tables[t].image, slice->z_first, 1);
    const void *totals[INPUTS] = {partial};
    enum ts_status status = TS_OK;
    for (context.round = 0; status == TS_OK && context.round < ts_stage_rounds(&reduced->context); context.round++) {
        reduction->reduce(&context, 0, slice, partial);
        status = reduction->finish(&context, totals, result, rows);
    }
    return status;
}

enum ts_status ts_stage_reduced_slab(struct stage_reduced *reduced, const struct ts_image *slab)
{
    const int64_t n = slab->axes[0].n, groups = n < reduced->n_slots ? n : reduced->n_slots;
    enum ts_status status = TS_OK;
#pragma omp parallel for schedule(static, 1) num_threads(reduced->context.threads)
    for (int64_t group = 0; group < groups; group++)
        for (int64_t i = n * group / groups; i < n * (group + 1) / groups; i++) {
            const struct ts_image slice = ts_image_slices(slab, i, 1);
            const enum ts_status one = reduce_slice(reduced, &slice, i, slot(reduced, group));
            if (one != TS_OK) {
#pragma omp critical(stage_reduced_status)
                status = one;
            }
        }
    return status;
}

const void *ts_stage_reduced_result(const struct stage_reduced *reduced)
{
    return reduced->result;
}

int ts_stage_reduced_tables(const struct stage_reduced *reduced, const struct stage_table **tables)
{
    *tables = reduced->tables;
    return reduced->n_tables;
}

/* ---- whole images ------------------------------------------------------------------------------ */

static enum ts_status reduce_volumes(struct stage_reduced *reduced, const struct ts_image *in,
                                     const struct ts_image *const references[STAGE_REFERENCES], int64_t slab)
{
    const struct stage_context *context = &reduced->context;
    const int rounds = ts_stage_rounds(context);
    bool any = false;
    for (int input = 0; input < INPUTS; input++)
        any |= ts_stage_reduces_volume(context, input);
    for (int round = 0; any && round < rounds; round++) {
        for (int input = 0; input < INPUTS; input++) {
            const struct ts_image *image = input == 0 ? in : references ? references[input - 1] : NULL;
            if (!image || !ts_stage_reduces_volume(context, input))
                continue;
            for (int64_t z = 0; z < image->axes[0].n; z += slab) {
                const int64_t left = image->axes[0].n - z;
                const struct ts_image slices = ts_image_slices(image, z, left < slab ? left : slab);
                ts_stage_reduced_add(reduced, input, &slices);
            }
        }
        const enum ts_status status = ts_stage_reduced_finish(reduced);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static enum ts_status map_slab(struct stage_context *context, struct stage_reduced *reduced, const struct ts_image *in,
                               struct ts_image *out, int64_t z, int64_t n, void *room, void *scratch)
{
    const struct stage_reach reach = ts_stage_reach(context);
    if (reduced && reduced->per_slice) {
        const struct ts_image slices = ts_image_slices(in, z, n);
        const enum ts_status status = ts_stage_reduced_slab(reduced, &slices);
        if (status != TS_OK)
            return status;
    }
    if (!context->stage->cpu)
        return TS_OK;
    struct ts_image padded, target = ts_image_slices(out, z, n);
    ts_stage_pad(&reach, &context->in, in, 1, z, n, room, &padded);
    context->result = reduced ? ts_stage_reduced_result(reduced) : NULL;
    return context->stage->cpu(context, &padded, &target, scratch);
}

enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                              struct stage_reduced **kept)
{
    const int64_t nz = in->axes[0].n;
    const struct stage_reach reach = ts_stage_reach(context);
    struct stage_reduced *reduced = NULL;
    void *room = NULL, *scratch = NULL;
    enum ts_status status = TS_OK;
    slab = slab > 0 && slab < nz ? slab : nz;
    if (kept)
        *kept = NULL;
    if (context->stage->reduction) {
        status = ts_stage_reduced_create(context, slab, &reduced);
        if (status == TS_OK)
            status = reduce_volumes(reduced, in, references, slab);
    }
    if (status == TS_OK && context->stage->cpu) {
        const size_t scratch_bytes = context->stage->scratch_bytes ? context->stage->scratch_bytes(context, slab) : 0;
        room = allocate((size_t)(slab + 2 * reach.halo) * ts_slice_bytes(in));
        scratch = allocate(scratch_bytes);
        if (!room || !scratch)
            status = ts_diag_no_memory(context->diag, scratch_bytes);
    }
    for (int64_t z = 0; status == TS_OK && z < nz; z += slab)
        status = map_slab(context, reduced, in, out, z, nz - z < slab ? nz - z : slab, room, scratch);
    free(room);
    free(scratch);
    if (kept && status == TS_OK)
        *kept = reduced;
    else
        ts_stage_reduced_destroy(reduced);
    return status;
}
