/* SPDX-License-Identifier: Apache-2.0
 *
 * `full` has a bit for each column of the row with its border, set if the column has no invalid
 * pixel in the window. A window is whole if all its columns are full: the bits are shifted by 1, 2,
 * 4, ... columns and joined with and.
 */
#include "stages/filters/masked_mend.h"

#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"

enum { WORD = 64, CHUNK_ROWS = 64 };

/* Lays out the scratch of one thread; with `memory` NULL it only counts. */
static size_t lay_out(struct masked_rows *rows, char *memory)
{
    const int64_t half = rows->mend->radius[2];
    size_t used = 0;
    const size_t missing = ts_scratch_part(&used, rows->nx, sizeof(int32_t)),
                 full = ts_scratch_part(&used, rows->words, sizeof(uint64_t)),
                 whole = ts_scratch_part(&used, rows->words, sizeof(uint64_t)),
                 valid = ts_scratch_part(&used, rows->words, sizeof(uint64_t)),
                 outside = ts_scratch_part(&used, 2 * half, sizeof(int64_t)),
                 own = ts_scratch_part(&used, 1, rows->mend->own_bytes);
    if (!memory)
        return used;
    rows->missing = (int32_t *)(void *)(memory + missing);
    rows->full = (uint64_t *)(void *)(memory + full);
    rows->whole = (uint64_t *)(void *)(memory + whole);
    rows->valid = (uint64_t *)(void *)(memory + valid);
    rows->outside = (int64_t *)(void *)(memory + outside);
    rows->own = memory + own;
    return used;
}

static struct masked_rows rows_of(const struct masked_mend *mend, const struct ts_image *image)
{
    const int64_t nx = image->axes[2].n;
    return (struct masked_rows){.mend = mend,
                                .ny = image->axes[1].n,
                                .nx = nx,
                                .words = (nx + 2 * mend->radius[2]) / WORD + 2};
}

size_t ts_masked_rows_bytes(const struct stage_context *context, const struct masked_mend *mend)
{
    struct masked_rows rows = rows_of(mend, &context->in);
    return lay_out(&rows, NULL);
}

size_t ts_masked_mend_bytes(const struct stage_context *context, const struct masked_mend *mend)
{
    return (size_t)context->threads * ts_masked_rows_bytes(context, mend);
}

struct masked_rows ts_masked_rows_begin(const struct masked_mend *mend, const struct ts_image *in,
                                        struct ts_image *out, void *scratch)
{
    struct masked_rows rows = rows_of(mend, in);
    const int64_t half = mend->radius[2];
    lay_out(&rows, scratch);
    rows.in = in;
    rows.out = out;
    ts_border_fill(rows.outside, -half, half, rows.nx, mend->border);
    ts_border_fill(rows.outside + half, rows.nx, half, rows.nx, mend->border);
    memset(rows.own, 0, mend->own_bytes);
    return rows;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_bit(uint64_t *bits, int64_t i, bool set)
{
    const uint64_t bit = UINT64_C(1) << i % WORD;
    bits[i / WORD] = set ? bits[i / WORD] | bit : bits[i / WORD] & ~bit;
}

/* Counts the invalid pixels of row `enters` and, if the window slides, no longer counts those of
 * row `leaves`. A row outside has the border's constant, which is valid. */
static void count_row(struct masked_rows *rows, int64_t slice, int64_t enters, int64_t leaves,
                      bool slides)
{
    const uint64_t *bits = ts_slice_valid(rows->in, slice);
    const int64_t next = ts_border_index(enters, rows->ny, rows->mend->border),
                  past = slides ? ts_border_index(leaves, rows->ny, rows->mend->border) : -1;
    for (int64_t x = 0; x < rows->nx; x += WORD) {
        const size_t n = (size_t)smaller(rows->nx - x, WORD);
        const uint64_t all = UINT64_MAX >> (WORD - n),
                       valid =
                           next < 0 ? all : ts_valid_bits(bits, (size_t)(next * rows->nx + x), n),
                       before =
                           past < 0 ? all : ts_valid_bits(bits, (size_t)(past * rows->nx + x), n);
        for (uint64_t changes = valid ^ before; changes; changes &= changes - 1) {
            const int bit = __builtin_ctzll(changes);
            int32_t *missing = &rows->missing[x + bit];
            const bool valid_now = valid >> bit & 1;
            rows->holes += valid_now ? -(*missing == 1) : *missing == 0;
            *missing += valid_now ? -1 : 1;
            set_bit(rows->full, rows->mend->radius[2] + x + bit, *missing == 0);
        }
    }
}

/* Moves to row y of output slice z, from the row above unless it is the first row of a chunk. */
static void move_to(struct masked_rows *rows, int64_t z, int64_t y, bool first)
{
    const int64_t half = rows->mend->radius[1], across = rows->mend->radius[2];
    if (first) {
        memset(rows->missing, 0, (size_t)rows->nx * sizeof *rows->missing);
        memset(rows->full, 0xFF, (size_t)rows->words * sizeof *rows->full);
        rows->holes = 0;
    }
    for (int64_t slice = z; slice <= z + 2 * rows->mend->radius[0]; slice++)
        for (int64_t j = first ? -half : half; j <= half; j++)
            count_row(rows, slice, y + j, y - half - 1, !first);
    for (int64_t i = 0; i < 2 * across; i++)
        set_bit(rows->full, i < across ? i : rows->nx + i,
                rows->outside[i] < 0 || rows->missing[rows->outside[i]] == 0);
}

/* Joins bit i of a row's bits with bit i + shift. */
static void masked_mend_join(uint64_t *bits, int64_t words, int64_t shift)
{
    const int64_t by = shift / WORD, bit = shift % WORD;
    for (int64_t i = 0; i + by < words; i++) {
        const uint64_t next = i + by + 1 < words ? bits[i + by + 1] : UINT64_MAX;
        bits[i] &= bit ? bits[i + by] >> bit | next << (WORD - bit) : bits[i + by];
    }
}

/* Gives the invalid pixels, whose bits are set, the input's values, run by run. */
static void keep(const struct masked_rows *rows, const char *from, char *to, uint64_t invalid)
{
    const enum ts_dtype dtype = rows->in->dtype;
    const size_t element = ts_dtype_bytes(dtype), wide = ts_dtype_bytes(rows->out->dtype);
    for (size_t i = 0; invalid;) {
        const size_t skipped = (size_t)__builtin_ctzll(invalid);
        invalid >>= skipped;
        i += skipped;
        const size_t n = ~invalid ? (size_t)__builtin_ctzll(~invalid) : WORD;
        if (rows->out->dtype == dtype)
            memcpy(to + i * element, from + i * element, n * element);
        else
            ts_load_f32((float *)(void *)(to + i * wide), from + i * element, dtype, n);
        invalid = n < WORD ? invalid >> n : 0;
        i += n;
    }
}

/* Passes the pixels that are valid but have an invalid one in their window to the filter, as
 * stretches. */
static void mend_stretches(const struct masked_rows *rows, const struct masked_row *row)
{
    const struct masked_mend *mend = rows->mend;
    int64_t first = -1, end = -1;
    for (int64_t x = 0; x < rows->nx;) {
        const uint64_t word = rows->whole[x / WORD] >> x % WORD;
        if (!word) {
            x = (x | (WORD - 1)) + 1;
            continue;
        }
        x += __builtin_ctzll(word);
        const uint64_t rest = ~(rows->whole[x / WORD] >> x % WORD);
        const int64_t past = x + (rest ? __builtin_ctzll(rest) : WORD);
        if (first >= 0 && x > end + mend->gap) {
            mend->pixels(mend->job, row, first, end, rows->own);
            first = -1;
        }
        first = first < 0 ? x : first;
        x = end = past;
    }
    if (first >= 0)
        mend->pixels(mend->job, row, first, end, rows->own);
}

void ts_masked_rows_mend(struct masked_rows *rows, int64_t z, int64_t y, bool first)
{
    const struct ts_image middle = ts_image_slices(rows->in, z + rows->mend->radius[0], 1);
    const int64_t width = 2 * rows->mend->radius[2] + 1, begin = y * rows->nx;
    const size_t element = ts_dtype_bytes(middle.dtype), wide = ts_dtype_bytes(rows->out->dtype);
    const char *from = (const char *)middle.data + (size_t)begin * element;
    char *to = (char *)ts_slice_data(rows->out, z) + (size_t)begin * wide;
    const struct masked_row row = {z, y, to, rows->missing};
    int64_t joined = 1;
    move_to(rows, z, y, first);
    if (rows->holes == 0)
        return;
    memcpy(rows->whole, rows->full, (size_t)rows->words * sizeof *rows->full);
    for (; 2 * joined <= width; joined *= 2)
        masked_mend_join(rows->whole, rows->words, joined);
    if (joined < width)
        masked_mend_join(rows->whole, rows->words, width - joined);
    for (int64_t x = 0; x < rows->nx; x += WORD) {
        const int64_t n = smaller(rows->nx - x, WORD);
        rows->valid[x / WORD] = ts_valid_bits(middle.valid, (size_t)(begin + x), (size_t)n);
        rows->whole[x / WORD] = rows->valid[x / WORD] & ~rows->whole[x / WORD];
    }
    mend_stretches(rows, &row);
    for (int64_t x = 0; x < rows->nx; x += WORD)
        keep(rows, from + (size_t)x * element, to + (size_t)x * wide,
             ~rows->valid[x / WORD] & UINT64_MAX >> (WORD - smaller(rows->nx - x, WORD)));
}

void ts_masked_mend(const struct stage_context *context, const struct masked_mend *mend,
                    const struct ts_image *in, struct ts_image *out, void *scratch)
{
    const int64_t ny = context->in.axes[1].n,
                  rows_of_chunk =
                      4 * mend->radius[1] > CHUNK_ROWS ? 4 * mend->radius[1] : CHUNK_ROWS,
                  chunks = (ny + rows_of_chunk - 1) / rows_of_chunk;
    const size_t bytes = ts_masked_rows_bytes(context, mend);
#pragma omp parallel num_threads(context->threads)
    {
        struct masked_rows rows = ts_masked_rows_begin(
            mend, in, out, (char *)scratch + (size_t)omp_get_thread_num() * bytes);
#pragma omp for schedule(dynamic)
        for (int64_t item = 0; item < out->axes[0].n * chunks; item++) {
            const int64_t z = item / chunks, top = item % chunks * rows_of_chunk;
            for (int64_t y = top; y < smaller(top + rows_of_chunk, ny); y++)
                ts_masked_rows_mend(&rows, z, y, y == top);
        }
    }
}
