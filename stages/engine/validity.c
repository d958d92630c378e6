/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits are handled in words of 64. Words with all bits set are by far the most frequent; their 64
 * values are copied at once.
 */
#include "stages/engine/validity.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"
#include "stages/engine/traits.h"

enum { WORD = 64 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* A comparison with NAN is false, so a range of NAN contains nothing, and a pixel that is NaN is
 * valid. */
#define MARK(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double value = (double)((const type *)values)[i];                                \
            bits |= (uint64_t) !(value >= range->low && value <= range->high) << i;                \
        }                                                                                          \
        break;

static uint64_t mark_word(const void *values, enum ts_dtype dtype, size_t n,
                          const struct invalid_range *range)
{
    uint64_t bits = 0;
    switch (dtype) {
        TS_IMAGE_DTYPES(MARK)
    default:
        break;
    }
    return bits;
}

void ts_valid_mark(const struct ts_image *slices, const struct invalid_range *range, int threads)
{
    const size_t n = ts_slice_count(slices), element = ts_dtype_bytes(slices->dtype);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t z = 0; z < slices->axes[0].n; z++) {
        const char *values = ts_slice_data(slices, z);
        uint64_t *valid = ts_slice_valid(slices, z);
        for (size_t i = 0; i < n; i += WORD)
            valid[i / WORD] =
                mark_word(values + i * element, slices->dtype, smaller(n - i, WORD), range);
    }
}

uint64_t ts_valid_count(const struct ts_image *slices)
{
    const size_t words =
        (size_t)slices->axes[0].n * (ts_valid_bytes(slices) / sizeof *slices->valid);
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(slices->valid[i]);
    return count;
}

void ts_valid_fill(const struct ts_image *slices, double value, int threads)
{
    const size_t n = ts_slice_count(slices), element = ts_dtype_bytes(slices->dtype);
    uint32_t bytes;
    ts_constant_fill(&bytes, slices->dtype, value, 1);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t z = 0; z < slices->axes[0].n; z++) {
        const uint64_t *valid = ts_slice_valid(slices, z);
        char *values = ts_slice_data(slices, z);
        for (size_t i = 0; i < n; i++)
            if (!ts_valid_at(valid, i))
                memcpy(values + i * element, &bytes, element);
    }
}

#define FILL(linkage, name, type)                                                                  \
    linkage void name(const uint64_t *valid, size_t first, size_t n, type value, type *values)     \
    {                                                                                              \
        for (size_t i = 0; valid && i < n; i += WORD) {                                            \
            const size_t in_word = smaller(n - i, WORD);                                           \
            const uint64_t bits = ts_valid_bits(valid, first + i, in_word);                        \
            for (size_t k = 0; bits == 0 && k < in_word; k++)                                      \
                values[i + k] = value;                                                             \
            for (uint64_t left = bits ? ~bits & UINT64_MAX >> (WORD - in_word) : 0; left;          \
                 left &= left - 1)                                                                 \
                values[i + (size_t)__builtin_ctzll(left)] = value;                                 \
        }                                                                                          \
    }
FILL(, ts_valid_fill_floats, float)
FILL(, ts_valid_fill_doubles, double)
FILL(static, zero_bytes, uint8_t)
FILL(static, zero_shorts, uint16_t)
FILL(static, zero_words, uint32_t)
#undef FILL

void ts_valid_zero(const uint64_t *valid, size_t first, size_t n, size_t bytes, void *values)
{
    if (bytes == 1)
        zero_bytes(valid, first, n, 0, values);
    else if (bytes == 2)
        zero_shorts(valid, first, n, 0, values);
    else
        zero_words(valid, first, n, 0, values);
}

bool ts_valid_all(const uint64_t *valid, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i += WORD) {
        const size_t in_word = smaller(n - i, WORD);
        if (ts_valid_bits(valid, first + i, in_word) != UINT64_MAX >> (WORD - in_word))
            return false;
    }
    return true;
}

uint64_t ts_valid_word(const struct ts_image *slice, const struct ts_image *mask, size_t i,
                       size_t n)
{
    const size_t first = i * WORD, count = smaller(n - first, WORD);
    uint64_t bits = slice->valid ? slice->valid[i] : UINT64_MAX >> (WORD - count);
    if (!mask)
        return bits;
    double values[WORD];
    uint64_t chosen = 0;
    ts_load_f64(values, (const char *)mask->data + first * ts_dtype_bytes(mask->dtype), mask->dtype,
                count);
    for (size_t k = 0; k < count; k++)
        chosen |= (uint64_t)(values[k] != 0 && !isnan(values[k])) << k;
    return bits & chosen & (mask->valid ? mask->valid[i] : UINT64_MAX);
}

void ts_valid_choose(const struct ts_image *slices, const struct ts_image *mask,
                     const struct ts_image *out, int threads)
{
    const size_t n = ts_slice_count(slices);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t z = 0; z < slices->axes[0].n; z++) {
        const struct ts_image slice = ts_image_slices(slices, z, 1),
                              chosen = ts_image_slices(mask, z, 1);
        uint64_t *valid = ts_slice_valid(out, z);
        for (size_t i = 0; i * WORD < n; i++)
            valid[i] = ts_valid_word(&slice, &chosen, i, n);
    }
}

/* ---- stages ---------------------------------------------------------------------------------- */

int ts_stage_mask(const struct stage_context *context)
{
    int reference = 0;
    for (size_t i = 0; i < context->stage->n_params; i++) {
        const struct param *param = &context->stage->params[i];
        if (param->kind != PARAM_REFERENCE)
            continue;
        if (!strcmp(param->name, "mask"))
            return context->references[reference] ? reference : -1;
        reference++;
    }
    return -1;
}

bool ts_stage_streams_mask(const struct stage_context *context, int reference)
{
    return reference == ts_stage_mask(context);
}

enum ts_status ts_stage_check_mask(const struct stage_context *context)
{
    const int mask = ts_stage_mask(context);
    if (mask >= 0)
        return ts_stage_same_shape(context, mask);
    ts_param_idle(context->set, "mask");
    return TS_OK;
}

void ts_stage_default_air(const struct stage_context *context, const char *param, double *value)
{
    double low, high;
    size_t i;
    ts_dtype_range(context->in.dtype, &low, &high);
    if (!ts_param_find(context->set->params, context->set->n_params, param, &i) ||
        ts_param_given(context->set, param))
        return;
    if (ts_param_keeps_old(context->set, i))
        *value = context->set->params[i].old.init.r;
    else
        *value = context->in.quantity == TS_HU ? fmax(-1000, low) : 0;
}

bool ts_stage_packs(const struct stage_context *context, int input)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    const struct ts_image *image = ts_stage_input(context, input);
    return reduction && reduction->order_free && image &&
           (image->masked || (input == 0 && ts_stage_mask(context) >= 0));
}

bool ts_stage_packs_now(const struct stage_context *context, int input)
{
    return ts_stage_packs(context, input) && !(context->stage->reduction->whole_slices &&
                                               context->stage->reduction->whole_slices(context));
}

static size_t packed_slice_bytes(const struct ts_image *image)
{
    return (ts_slice_bytes(image) + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

size_t ts_stage_packed_bytes(const struct stage_context *context)
{
    size_t bytes = 0, together = 0;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        if (!ts_stage_packs(context, input) && !(input > 0 && ts_stage_streams(context, input - 1)))
            continue;
        const size_t slice = packed_slice_bytes(ts_stage_input(context, input));
        together += input == 0 || ts_stage_streams(context, input - 1) ? slice : 0;
        bytes = slice > bytes ? slice : bytes;
    }
    return ts_stage_packs(context, 0) && together > bytes ? together : bytes;
}

/* Appends the values of a word's set bits to `out`, and returns how many there are. */
static size_t append(char *out, const char *values, size_t element, uint64_t bits)
{
    size_t n = 0;
    if (bits == UINT64_MAX) {
        memcpy(out, values, WORD * element);
        return WORD;
    }
    for (; bits; bits &= bits - 1)
        memcpy(out + n++ * element, values + (size_t)__builtin_ctzll(bits) * element, element);
    return n;
}

static size_t pack_values(const struct ts_image *slice, const struct ts_image *chosen,
                          const struct ts_image *mask, char *out)
{
    const size_t n = ts_slice_count(slice), element = ts_dtype_bytes(slice->dtype);
    size_t packed = 0;
    for (size_t i = 0; i * WORD < n; i++)
        packed += append(out + packed * element, (const char *)slice->data + i * WORD * element,
                         element, ts_valid_word(chosen, mask, i, n));
    return packed;
}

void ts_stage_pack(const struct stage_context *context, int input,
                   const struct ts_image slices[STAGE_INPUTS], void *memory,
                   struct ts_image packed[STAGE_INPUTS])
{
    const int mask = input == 0 ? ts_stage_mask(context) : -1;
    char *out = memory;
    for (int i = 0; i < (input == 0 ? STAGE_INPUTS : 1); i++) {
        if (i > 0 && (i - 1 == mask || !ts_stage_streams(context, i - 1)))
            continue;
        packed[i] = slices[i];
        packed[i].data = out;
        packed[i].axes[1].n = 1;
        packed[i].axes[2].n =
            (int64_t)pack_values(&slices[i], &slices[0], mask < 0 ? NULL : &slices[1 + mask], out);
        packed[i].masked = false;
        packed[i].valid = NULL;
        out += packed_slice_bytes(&slices[i]);
    }
}
