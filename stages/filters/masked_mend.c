/* SPDX-License-Identifier: Apache-2.0
 *
 * `full` has a bit for each column of the row with its border, set where the column holds no invalid pixel. A window is
 * whole where all its columns are full: the bits are shifted against each other by 1, 2, 4, ... columns and joined.
 */
#include "stages/filters/masked_mend.h"

#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"

enum { WORD = 64, CHUNK_ROWS = 64 };

/* One slab, and where its parts of the scratch stand. */
struct mend_run {
    const struct masked_mend *mend;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, words; /* words: of a row with its border, and one more */
    size_t columns, threads, thread_bytes, missing, full, whole, own, bytes;
    const int64_t *outside; /* the columns that stand for the border's, on the left and then on the right; -1: valid */
};

/* A thread's rows. */
struct mend_rows {
    const struct mend_run *run;
    int32_t *missing;
    uint64_t *full, *whole;
    void *own;
};

static struct mend_run describe(const struct stage_context *context, const struct masked_mend *mend)
{
    struct mend_run run = {.mend = mend, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    size_t own = 0;
    run.words = (run.nx + 2 * mend->radius[2]) / WORD + 2;
    run.missing = ts_scratch_part(&own, run.nx, sizeof(int32_t));
    run.full = ts_scratch_part(&own, run.words, sizeof(uint64_t));
    run.whole = ts_scratch_part(&own, run.words, sizeof(uint64_t));
    run.own = ts_scratch_part(&own, 1, mend->own_bytes);
    run.thread_bytes = own;
    run.columns = ts_scratch_part(&run.bytes, 2 * mend->radius[2], sizeof(int64_t));
    run.threads = ts_scratch_part(&run.bytes, context->threads, own);
    return run;
}

size_t ts_masked_mend_bytes(const struct stage_context *context, const struct masked_mend *mend)
{
    return describe(context, mend).bytes;
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

/* Counts the invalid pixels of row `enters`, and no longer those of row `leaves` if the window slides. A row outside
 * has the border's constant, which is valid. */
static void count_row(struct mend_rows *rows, int64_t slice, int64_t enters, int64_t leaves, bool slides)
{
    const struct mend_run *run = rows->run;
    const uint64_t *bits = ts_slice_valid(run->in, slice);
    const int64_t next = ts_border_index(enters, run->ny, run->mend->border),
                  past = slides ? ts_border_index(leaves, run->ny, run->mend->border) : -1;
    for (int64_t x = 0; x < run->nx; x += WORD) {
        const size_t n = (size_t)smaller(run->nx - x, WORD);
        const uint64_t all = UINT64_MAX >> (WORD - n),
                       valid = next < 0 ? all : ts_valid_bits(bits, (size_t)(next * run->nx + x), n),
                       before = past < 0 ? all : ts_valid_bits(bits, (size_t)(past * run->nx + x), n);
        for (uint64_t changes = valid ^ before; changes; changes &= changes - 1) {
            const int bit = __builtin_ctzll(changes);
            int32_t *missing = &rows->missing[x + bit];
            *missing += valid >> bit & 1 ? -1 : 1;
            set_bit(rows->full, run->mend->radius[2] + x + bit, *missing == 0);
        }
    }
}

/* Moves to row y of output slice z, from the row above unless it is the first one of a chunk. */
static void move_to(struct mend_rows *rows, int64_t z, int64_t y, bool first)
{
    const struct mend_run *run = rows->run;
    const int64_t half = run->mend->radius[1], across = run->mend->radius[2];
    if (first) {
        memset(rows->missing, 0, (size_t)run->nx * sizeof *rows->missing);
        memset(rows->full, 0xFF, (size_t)run->words * sizeof *rows->full);
    }
    for (int64_t slice = z; slice <= z + 2 * run->mend->radius[0]; slice++)
        for (int64_t j = first ? -half : half; j <= half; j++)
            count_row(rows, slice, y + j, y - half - 1, !first);
    for (int64_t i = 0; i < 2 * across; i++)
        set_bit(rows->full, i < across ? i : run->nx + i, run->outside[i] < 0 || rows->missing[run->outside[i]] == 0);
}

/* Joins bit i of a row's bits with bit i + shift. */
static void join(uint64_t *bits, int64_t words, int64_t shift)
{
    const int64_t by = shift / WORD, bit = shift % WORD;
    for (int64_t i = 0; i + by < words; i++) {
        const uint64_t next = i + by + 1 < words ? bits[i + by + 1] : UINT64_MAX;
        bits[i] &= bit ? bits[i + by] >> bit | next << (WORD - bit) : bits[i + by];
    }
}

/* Gives the invalid pixels, whose bits are set, their values, run by run. */
static void keep(const struct mend_run *run, const char *from, char *to, uint64_t invalid)
{
    const enum ts_dtype dtype = run->in->dtype;
    const size_t element = ts_dtype_bytes(dtype), wide = ts_dtype_bytes(run->out->dtype);
    for (size_t i = 0; invalid;) {
        const size_t skipped = (size_t)__builtin_ctzll(invalid);
        invalid >>= skipped;
        i += skipped;
        const size_t n = ~invalid ? (size_t)__builtin_ctzll(~invalid) : WORD;
        if (run->out->dtype == dtype)
            memcpy(to + i * element, from + i * element, n * element);
        else
            ts_load_f32((float *)(void *)(to + i * wide), from + i * element, dtype, n);
        invalid = n < WORD ? invalid >> n : 0;
        i += n;
    }
}

/* Hands the pixels whose bits are set in `whole` to the filter, as stretches. */
static void mend_stretches(const struct mend_rows *rows, const struct masked_row *row)
{
    const struct masked_mend *mend = rows->run->mend;
    int64_t first = -1;
    for (int64_t x = 0; x < rows->run->nx; x++) {
        const uint64_t word = rows->whole[x / WORD] >> x % WORD;
        if (first < 0 && !word)
            x |= WORD - 1;
        else if (first < 0)
            first = x += __builtin_ctzll(word);
        else if (!(word & 1)) {
            mend->pixels(mend->job, row, first, x, rows->own);
            first = -1;
        }
    }
    if (first >= 0)
        mend->pixels(mend->job, row, first, rows->run->nx, rows->own);
}

static void mend_row(struct mend_rows *rows, int64_t z, int64_t y)
{
    const struct mend_run *run = rows->run;
    const struct masked_row row = {z, y, rows->missing};
    const struct ts_image middle = ts_image_slices(run->in, z + run->mend->radius[0], 1);
    const int64_t width = 2 * run->mend->radius[2] + 1, first = y * run->nx;
    const char *from = (const char *)middle.data + (size_t)first * ts_dtype_bytes(middle.dtype);
    char *to = (char *)ts_slice_data(run->out, z) + (size_t)first * ts_dtype_bytes(run->out->dtype);
    int64_t joined = 1;
    memcpy(rows->whole, rows->full, (size_t)run->words * sizeof *rows->full);
    for (; 2 * joined <= width; joined *= 2)
        join(rows->whole, run->words, joined);
    if (joined < width)
        join(rows->whole, run->words, width - joined);
    const size_t element = ts_dtype_bytes(middle.dtype), wide = ts_dtype_bytes(run->out->dtype);
    for (int64_t x = 0; x < run->nx; x += WORD) {
        const int64_t n = smaller(run->nx - x, WORD);
        const uint64_t valid = ts_valid_bits(middle.valid, (size_t)(first + x), (size_t)n);
        keep(run, from + (size_t)x * element, to + (size_t)x * wide, ~valid & UINT64_MAX >> (WORD - n));
        rows->whole[x / WORD] = valid & ~rows->whole[x / WORD];
    }
    mend_stretches(rows, &row);
}

void ts_masked_mend(const struct stage_context *context, const struct masked_mend *mend, const struct ts_image *in,
                    struct ts_image *out, void *scratch)
{
    struct mend_run run = describe(context, mend);
    const int64_t half = mend->radius[2], rows_of = 4 * mend->radius[1] > CHUNK_ROWS ? 4 * mend->radius[1] : CHUNK_ROWS;
    const int64_t chunks = (run.ny + rows_of - 1) / rows_of;
    int64_t *outside = (int64_t *)((char *)scratch + run.columns);
    run.in = in;
    run.out = out;
    run.outside = outside;
    ts_border_fill(outside, -half, half, run.nx, mend->border);
    ts_border_fill(outside + half, run.nx, half, run.nx, mend->border);
#pragma omp parallel num_threads(context->threads)
    {
        char *own = (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes;
        struct mend_rows rows = {&run, (int32_t *)(own + run.missing), (uint64_t *)(own + run.full),
                                 (uint64_t *)(own + run.whole), own + run.own};
        memset(rows.own, 0, mend->own_bytes);
#pragma omp for schedule(dynamic)
        for (int64_t item = 0; item < out->axes[0].n * chunks; item++) {
            const int64_t z = item / chunks, top = item % chunks * rows_of, end = smaller(top + rows_of, run.ny);
            for (int64_t y = top; y < end; y++) {
                move_to(&rows, z, y, y == top);
                mend_row(&rows, z, y);
            }
        }
    }
}
