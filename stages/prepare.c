/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stage accepts, and its input slabs: halos filled by the border rules at the ends of the volume.
 */
#include <string.h>

#include "stages/execute.h"

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
    const bool sinogram = ts_image_is_sinogram(in);
    char accepted[160] = "";
    size_t used = 0;
    if (!(stage->axes & (sinogram ? AXES_SINOGRAM : AXES_VOLUME))) {
        refuse(context, "stage-axes", "a", sinogram ? "sinogram" : "volume");
        ts_diag_hint(context->diag, "it takes %s (%s)", sinogram ? "volumes" : "sinograms",
                     sinogram ? "z, y, x" : "z, view, detector");
        return TS_BAD_CHAIN;
    }
    if (!(stage->quantities & TS_QUANTITY_BIT(in->quantity))) {
        for (int i = TS_COUNTS; i <= TS_INTENSITY; i++)
            if (stage->quantities & TS_QUANTITY_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s", ts_quantity_name(i));
        const char *hint = stage->quantity_hints[in->quantity];
        refuse(context, "stage-quantity", "the quantity", ts_quantity_name(in->quantity));
        ts_diag_hint(context->diag, "it takes%s%s%s", accepted, hint ? "; " : "", hint ? hint : "");
        return TS_BAD_CHAIN;
    }
    if (sinogram && !(stage->beams & TS_BEAM_BIT(in->beam.kind))) {
        for (int i = TS_BEAM_PARALLEL; i <= TS_BEAM_FAN_FLAT; i++)
            if (stage->beams & TS_BEAM_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s", ts_beam_name(i));
        refuse(context, "stage-beam", "the beam", ts_beam_name(in->beam.kind));
        ts_diag_hint(context->diag, "it takes%s", accepted);
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
    return TS_OK;
}

/* The row of the table that reference i is given in. */
static const struct param *reference_row(const struct stage *stage, int reference)
{
    for (size_t i = 0; i < stage->n_params; i++)
        if (stage->params[i].kind == PARAM_REFERENCE && reference-- == 0)
            return &stage->params[i];
    return NULL;
}

bool ts_stage_travels(const struct stage_context *context, int reference)
{
    return context->stage->travels && context->references[reference] && context->stage->travels(context, reference);
}

enum ts_status ts_stage_same_shape(const struct stage_context *context, int reference)
{
    const struct ts_image *image = context->references[reference], *in = &context->in;
    for (int axis = 0; image && axis < 3; axis++)
        if (image->axes[axis].n != in->axes[axis].n)
            return ts_param_error(context->set, reference_row(context->stage, reference)->name, "reference-shape",
                                  context->diag, "is %lld x %lld x %lld, and the image is %lld x %lld x %lld",
                                  (long long)image->axes[0].n, (long long)image->axes[1].n, (long long)image->axes[2].n,
                                  (long long)in->axes[0].n, (long long)in->axes[1].n, (long long)in->axes[2].n);
    return TS_OK;
}

static enum ts_status check_travelers(const struct stage_context *context)
{
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        const struct ts_image *image = context->references[i];
        if (ts_stage_travels(context, i) && image->axes[0].n != context->in.axes[0].n)
            return ts_param_error(context->set, reference_row(context->stage, i)->name, "reference-slices",
                                  context->diag, "has %lld slices in z, and the image has %lld",
                                  (long long)image->axes[0].n, (long long)context->in.axes[0].n);
    }
    return TS_OK;
}

struct stage_tolerance ts_stage_tolerance(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const struct param *row = ts_param_find(stage->params, stage->n_params, "method", NULL);
    const char *method =
        row ? ts_choice_name(row->choices, *(const int32_t *)((const char *)context->params + row->offset)) : NULL;
    for (const struct stage_method_tolerance *at = stage->method_tolerances; method && at && at->method; at++)
        if (!strcmp(at->method, method))
            return at->tolerance;
    return stage->tolerance;
}

/* Methods that only one kind of device can run. */
static enum ts_status check_choices(const struct stage_context *context)
{
    const unsigned device = context->device ? ON_CUDA : ON_CPU;
    for (size_t i = 0; i < context->stage->n_params; i++) {
        const struct param *row = &context->stage->params[i];
        const int32_t value = row->choices ? *(const int32_t *)((const char *)context->params + row->offset) : 0;
        for (const struct choice *choice = row->choices; choice && choice->name; choice++) {
            if (choice->value != value || !choice->devices || (choice->devices & device))
                continue;
            ts_param_error(context->set, row->name, "choice-device", context->diag, "'%s' runs on %s alone",
                           choice->name, device == ON_CPU ? "a CUDA device" : "the CPU");
            ts_diag_hint(context->diag, "--device %s, or another %s", device == ON_CPU ? "cuda" : "cpu", row->name);
            return TS_BAD_CHAIN;
        }
    }
    return TS_OK;
}

/* On a device what is found slice by slice is counted in 32 bits. */
static enum ts_status check_slice_size(const struct stage_context *context)
{
    const size_t pixels = ts_slice_count(&context->in);
    if (!context->device || !ts_stage_reduces_slices(context) || pixels <= UINT32_MAX)
        return TS_OK;
    const struct diag_site site = {.code = "slice-size", .span = context->set->span, .stage = context->stage->name};
    ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                  "counts slice by slice in 32 bits on a CUDA device, and a slice has %zu pixels", pixels);
    ts_diag_hint(context->diag, "--device cpu, or scope: volume");
    return TS_BAD_CHAIN;
}

enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set, const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES], int threads,
                                const struct cuda_device *device, struct ts_diag *diag, struct stage_context *context)
{
    *context = (struct stage_context){.stage = stage,
                                      .set = set,
                                      .params = set->values,
                                      .in = *in,
                                      .threads = threads,
                                      .device = device,
                                      .diag = diag};
    context->in.data = NULL;
    context->in.z_first = 0;
    for (int i = 0; references && i < STAGE_REFERENCES; i++)
        context->references[i] = references[i];
    enum ts_status status = check_accepts(context);
    if (status == TS_OK && stage->resolve)
        status = stage->resolve(context, set->values);
    if (status == TS_OK)
        status = check_choices(context);
    if (status == TS_OK)
        status = check_travelers(context);
    if (status == TS_OK)
        status = check_slice_size(context);
    if (status != TS_OK)
        return status;
    set->resolved = true;
    context->out = context->in;
    if (stage->shape)
        status = stage->shape(context, &context->out);
    if (status == TS_OK && ts_image_bytes(&context->out) == SIZE_MAX)
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "too-large", .span = set->span, .stage = stage->name},
                             "the image it would make has more bytes than a number can count");
    return status;
}

enum ts_status ts_stage_find_axes(struct stage_context *context, const void *result)
{
    struct stage_context informed = *context;
    struct ts_image out = context->in;
    informed.result = result;
    const enum ts_status status = context->stage->shape(&informed, &out);
    if (status == TS_OK && !ts_image_same_layout(&out, &context->out))
        return ts_diag_error(context->diag, TS_RUN_FAILED,
                             &(struct diag_site){.code = "found-shape", .stage = context->stage->name},
                             "it gives an image of another shape or kind than was planned");
    context->out = out;
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

void ts_stage_fill_slice(void *slice, const struct ts_image *image, double value)
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

const struct ts_image *ts_stage_part(const struct ts_image *parts, int n_parts, int64_t z)
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
    const struct ts_image *holder = ts_stage_part(parts, n_parts, first);
    *padded = *whole;
    padded->axes[0].n = count;
    padded->z_first = first;
    padded->data = room;
    if (holder && first + count <= holder->z_first + holder->axes[0].n) {
        padded->data = ts_slice_data(holder, first - holder->z_first);
        return;
    }
    const size_t bytes = ts_slice_bytes(whole);
    for (int64_t k = 0; k < count; k++) {
        const int64_t from = ts_border_index(first + k, nz, reach->border);
        const struct ts_image *part = from < 0 ? NULL : ts_stage_part(parts, n_parts, from);
        if (part)
            memcpy(ts_slice_data(padded, k), ts_slice_data(part, from - part->z_first), bytes);
        else
            ts_stage_fill_slice(ts_slice_data(padded, k), whole, reach->constant);
    }
}
