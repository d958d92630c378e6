/* SPDX-License-Identifier: Apache-2.0
 *
 * Values become keys, keys become bytes of 0 and 1, and eight bytes become eight bits with one
 * multiplication, so that only the first step depends on the type.
 */
#include "stages/regions/mask_bits.h"

#include <math.h>
#include <string.h>

#include "core/description.h"
#include "core/vectors.h"
#include "stages/engine/validity.h"

/* ---- parameters ------------------------------------------------------------------------------ */

enum ts_status ts_mask_check_label(const struct stage_context *context,
                                   const struct ts_numbers *label)
{
    return label->rows * label->columns > 1 ? ts_param_error(context->set, "label", "one-number",
                                                             context->diag, "takes one number")
                                            : TS_OK;
}

struct mask_values ts_mask_values(enum ts_dtype dtype, const struct ts_numbers *label)
{
    const double zero = 0, inf = (double)INFINITY;
    if (!label->values)
        return (struct mask_values){
            {ts_threshold_keys(dtype, -inf, zero), ts_threshold_keys(dtype, zero, inf)}};
    const double value = label->values[0];
    return (struct mask_values){
        {ts_threshold_keys(dtype, nextafter(value, -inf), nextafter(value, inf)), {1, 0}}};
}

void ts_mask_mm(const struct stage_context *context, double mm[3])
{
    const double apart = 1e12;
    for (int axis = 0; axis < 3; axis++)
        mm[axis] = context->in.axes[axis].n > 1 ? ts_axis_mm(&context->in.axes[axis]) : apart;
}

/* ---- values to bits and back ------------------------------------------------------------------*/

enum { CHUNK = 1024, WORD = 64 };

TS_VECTORIZED static void choose_keys(const int32_t *keys, int64_t n, struct mask_values values,
                                      uint8_t *out)
{
    const struct key_range a = values.within[0], b = values.within[1];
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)(((keys[i] >= a.low) & (keys[i] <= a.high)) |
                           ((keys[i] >= b.low) & (keys[i] <= b.high)));
}

/* Byte k of eight, 0 or 1, becomes bit 56 + k of the product, and no two bits meet. */
static uint64_t word_of(const uint8_t bytes[WORD])
{
    uint64_t word = 0, eight;
    for (int i = 0; i < WORD; i += 8) {
        memcpy(&eight, bytes + i, sizeof eight);
        word |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return word;
}

void ts_mask_load_valid(const struct ts_image *slices, int64_t z, uint64_t *bits)
{
    const struct mask_grid grid = ts_mask_grid(slices);
    const uint64_t *valid = ts_slice_valid(slices, z);
    for (int64_t y = 0; y < grid.ny; y++)
        for (int64_t x = 0; x < grid.nx; x += WORD) {
            const int64_t n = grid.nx - x < WORD ? grid.nx - x : WORD;
            *bits++ = valid ? ts_valid_bits(valid, (size_t)(y * grid.nx + x), (size_t)n)
                            : UINT64_MAX >> (WORD - n);
        }
}

void ts_mask_load(const struct ts_image *slices, int64_t z, struct mask_values values,
                  uint64_t *bits)
{
    const struct mask_grid grid = ts_mask_grid(slices);
    const size_t element = ts_dtype_bytes(slices->dtype);
    const char *data = ts_slice_data(slices, z);
    const uint64_t *valid = ts_slice_valid(slices, z);
    int32_t keys[CHUNK];
    uint8_t bytes[CHUNK];
    for (int64_t y = 0; y < grid.ny; y++)
        for (int64_t first = 0; first < grid.nx; first += CHUNK) {
            const int64_t n = grid.nx - first < CHUNK ? grid.nx - first : CHUNK;
            const size_t at = (size_t)(y * grid.nx + first);
            ts_value_keys_load(slices->dtype, data + at * element, keys, n);
            choose_keys(keys, n, values, bytes);
            memset(bytes + n, 0, (size_t)((WORD - n % WORD) % WORD));
            for (int64_t x = 0; x < n; x += WORD) {
                const int64_t count = n - x < WORD ? n - x : WORD;
                const uint64_t word = word_of(bytes + x);
                *bits++ = valid ? word & ts_valid_bits(valid, at + (size_t)x, (size_t)count) : word;
            }
        }
}

void ts_mask_store(const uint64_t *bits, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i += 8) {
        const uint64_t byte = bits[i / WORD] >> i % WORD & 0xFF;
        const uint64_t spread = byte * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
        const uint64_t eight =
            (spread + UINT64_C(0x7F7F7F7F7F7F7F7F)) >> 7 & UINT64_C(0x0101010101010101);
        memcpy(out + i, &eight, (size_t)(n - i < 8 ? n - i : 8));
    }
}

/* ---- reductions and maps ----------------------------------------------------------------------*/

size_t ts_mask_volume_bytes(const struct stage_context *context, int input)
{
    (void)input;
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return sizeof(struct mask_volume) + ts_mask_bytes(&grid, grid.nz);
}

void ts_mask_volume_reduce(const struct ts_image *slices, struct mask_values values,
                           struct mask_volume *partial)
{
    const struct mask_grid grid = ts_mask_grid(slices);
    partial->first = slices->z_first;
    partial->end = slices->z_first + grid.nz;
    for (int64_t z = 0; z < grid.nz; z++)
        ts_mask_load(slices, z, values, partial->bits + z * ts_mask_slice_words(&grid));
}

/* Makes room for slices [first, end), in which there is nothing. */
static void widen(struct mask_volume *volume, int64_t first, int64_t end, int64_t words)
{
    const size_t slice = (size_t)words * sizeof *volume->bits;
    if (first < volume->first) {
        memmove(volume->bits + (volume->first - first) * words, volume->bits,
                (size_t)(volume->end - volume->first) * slice);
        memset(volume->bits, 0, (size_t)(volume->first - first) * slice);
        volume->first = first;
    }
    if (end > volume->end) {
        memset(volume->bits + (volume->end - volume->first) * words, 0,
               (size_t)(end - volume->end) * slice);
        volume->end = end;
    }
}

void ts_mask_volume_merge(const struct stage_context *context, int input, void *total,
                          const void *partial)
{
    struct mask_volume *into = total;
    const struct mask_volume *from = partial;
    (void)input;
    const struct mask_grid grid = ts_mask_grid(&context->in);
    const int64_t words = ts_mask_slice_words(&grid);
    widen(into, from->first, from->end, words);
    uint64_t *to = into->bits + (from->first - into->first) * words;
    for (int64_t i = 0; i < (from->end - from->first) * words; i++)
        to[i] |= from->bits[i];
}

void ts_mask_map(const struct stage_context *context, const uint64_t *bits,
                 const struct ts_image *in, struct ts_image *out)
{
    const struct mask_grid grid = ts_mask_grid(out);
    const int64_t words = ts_mask_slice_words(&grid);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < grid.nz; z++) {
        uint8_t *slice = ts_slice_data(out, z);
        const uint64_t *row = bits + z * words, *valid = in ? ts_slice_valid(in, z) : NULL;
        for (int64_t y = 0; y < grid.ny; y++, row += grid.n_words)
            ts_mask_store(row, grid.nx, slice + y * grid.nx);
        if (valid)
            ts_valid_zero(valid, 0, ts_slice_count(out), 1, slice);
    }
}
