/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats are tested by their exponent bits, which are all ones for NaN and infinity, so that the
 * loop vectorizes. The reduction is slice by slice, so that a map sees its slices in the same pass.
 */
#include "stages/values/finite_values.h"

#include <string.h>

static bool per_slice(const struct stage_context *context)
{
    (void)context;
    return true;
}

static int finite_values_rounds(const struct stage_context *context)
{
    return context->in.dtype == TS_F32;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct not_finite) : 0;
}

/* NaN and infinity have all ones in the exponent. */
static bool is_finite(uint32_t bits)
{
    return (bits & 0x7F800000u) != 0x7F800000u;
}

static TS_VECTORIZED struct not_finite look(const uint32_t *values, size_t n)
{
    struct not_finite found = {0};
    uint32_t largest = 0;
    for (size_t first = 0; first < n; first += 4096) {
        const size_t end = n - first < 4096 ? n : first + 4096;
        uint32_t some = 0;
        for (size_t i = first; i < end; i++) {
            const uint32_t magnitude = values[i] & 0x7FFFFFFFu;
            some += !is_finite(magnitude);
            largest = magnitude > largest ? magnitude : largest;
        }
        found.n += some;
    }
    found.largest = largest;
    return found;
}

static void finite_values_reduce(const struct stage_context *context, int input,
                                 const struct ts_image *slices, void *partial)
{
    const size_t n = ts_image_count(slices);
    const uint32_t *values = slices->data;
    struct not_finite found = look(values, n);
    size_t first = 0;
    (void)context;
    (void)input;
    while (found.n && is_finite(values[first]))
        first++;
    if (found.n)
        found.not_first = ~((uint64_t)slices->z_first * ts_slice_count(slices) + first);
    memcpy(partial, &found, sizeof found);
}

static void finite_values_merge(const struct stage_context *context, int input, void *into,
                                const void *from)
{
    struct not_finite *a = into;
    const struct not_finite *b = from;
    (void)context;
    (void)input;
    a->n += b->n;
    a->not_first = a->not_first > b->not_first ? a->not_first : b->not_first;
    a->largest = a->largest > b->largest ? a->largest : b->largest;
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(struct finite_slice);
}

static enum ts_status finite_values_finish(const struct stage_context *context,
                                           const void *const totals[], void *result,
                                           const struct ts_image *tables)
{
    const struct not_finite *found = totals[0];
    const uint64_t slice = ts_slice_count(&context->in), row = (uint64_t)context->in.axes[2].n,
                   first = ~found->not_first;
    (void)tables;
    *(struct finite_slice *)result = (struct finite_slice){.largest = found->largest};
    if (found->n == 0)
        return TS_OK;
    ts_diag_error(
        context->diag, TS_BAD_INPUT,
        &(struct diag_site){
            .code = "not-finite", .span = context->set->span, .stage = context->stage->name},
        "%llu of %llu values of slice %llu are NaN or infinite, and finite numbers were expected, "
        "as these would spoil the result; the first is in view %llu at detector pixel %llu",
        (unsigned long long)found->n, (unsigned long long)slice,
        (unsigned long long)(first / slice), (unsigned long long)(first % slice / row),
        (unsigned long long)(first % row));
    return ts_diag_hint(context->diag,
                        "`bad_pixels` before it fills them from the pixels beside them");
}

const struct stage_reduction ts_finite_reduction = {
    .per_slice = per_slice,
    .exact = true,
    .feeds_map = true,
    .rounds = finite_values_rounds,
    .partial_bytes = partial_bytes,
    .reduce = finite_values_reduce,
    .merge = finite_values_merge,
    .result_bytes = result_bytes,
    .finish = finite_values_finish,
};
