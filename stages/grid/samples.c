/* SPDX-License-Identifier: Apache-2.0
 *
 * On an aligned grid a row of the output is made of rows of the input that are added along z, then along y, and then
 * along x, where each output pixel gathers its taps. Rows that were added along z are kept in a small ring, since the
 * next output row needs most of them again. On other grids every voxel finds its own taps. Nearest samples are copied
 * by their size, so that they keep their bits.
 */
#include "stages/grid/samples_row.h"

#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/scratch.h"

/* The bits of 64 rows fill whole words, so that no two threads write to one. */
enum { RING_ROWS = 8, BLOCK_ROWS = 32, MASKED_ROWS = 64 };

const struct choice ts_interpolation_choices[] = {
    {"nearest", INTERPOLATION_NEAREST, "the nearest sample; halfway between two, the one of the larger index"},
    {"linear", INTERPOLATION_LINEAR, "linear along each axis, from 8 samples in all"},
    {"cubic", INTERPOLATION_CUBIC,
     "Keys' cubic convolution with a = -1/2 (Catmull-Rom) along each axis, from 64 samples; sharper, and may overshoot "
     "at edges"},
    {NULL, 0, NULL},
};

/* ---- the grid ---------------------------------------------------------------------------------- */

bool ts_sampling_is_aligned(const struct sampling *sampling)
{
    const double(*m)[3] = sampling->matrix;
    return m[0][1] == 0 && m[0][2] == 0 && m[1][2] == 0 && m[2][1] == 0;
}

struct stage_slices ts_sampling_reads(const struct sampling *sampling, int64_t first, int64_t end)
{
    enum { REACH = 2 }; /* of a cubic */
    const int64_t n = sampling->n_in[0];
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        const double t =
            ts_sampling_position(sampling, 0, corner & 1 ? end - 1 : first, corner & 2 ? sampling->n_out[1] - 1 : 0,
                                 corner & 4 ? sampling->n_out[2] - 1 : 0);
        low = fmin(low, t);
        high = fmax(high, t);
    }
    low = fmin(fmax(floor(low) - REACH + 1, 0), (double)(n - 1));
    high = fmin(fmax(floor(high + TAPS_SLACK) + REACH + 1, low + 1), (double)n);
    return (struct stage_slices){(int64_t)low, (int64_t)high};
}

/* ---- a thread's memory ------------------------------------------------------------------------- */

/* A thread has the taps of the columns of a slice, apart so that loops over x are vectors, and rows. */
struct columns {
    int64_t first, end; /* columns [first, end) lie inside */
    bool copied;        /* each is one sample of weight 1, next to each other */
    int32_t *index;     /* tap k of column x is at k * n_out[2] + x */
    float *weight;
    int32_t *nearest; /* of a masked image: the sample nearest to each column */
};
struct ring {
    int64_t held[RING_ROWS]; /* the input row in each place; -1: none */
    float *rows[RING_ROWS];
};
struct part {
    struct columns columns;
    struct ring ring;
    float *row, *line; /* a row along y; a row of the output */
    uint64_t *joined;  /* bits of a row of the input */
    int64_t slice;     /* the slice that the ring and the columns belong to */
    struct taps z;
    bool z_inside;
};

/* Lays the memory of a thread out; returns its bytes. With `memory` NULL it only counts. */
static size_t lay_out(const struct sampling *sampling, char *memory, struct part *part)
{
    const int64_t nx = sampling->n_out[2], taps = TAPS_MOST * nx;
    const int64_t longest = nx > sampling->n_in[2] ? nx : sampling->n_in[2];
    size_t used = 0;
    const size_t index = ts_scratch_part(&used, taps, sizeof(int32_t)),
                 nearest = ts_scratch_part(&used, nx, sizeof(int32_t)),
                 weight = ts_scratch_part(&used, taps, sizeof(float)),
                 row = ts_scratch_part(&used, longest, sizeof(float)),
                 line = ts_scratch_part(&used, longest, sizeof(float)),
                 joined = ts_scratch_part(&used, (sampling->n_in[2] + 63) / 64, sizeof(uint64_t));
    size_t rows[RING_ROWS];
    for (int i = 0; i < RING_ROWS; i++)
        rows[i] = ts_scratch_part(&used, longest, sizeof(float));
    if (!memory)
        return used;
    part->columns.index = (int32_t *)(memory + index);
    part->columns.weight = (float *)(memory + weight);
    part->columns.nearest = (int32_t *)(memory + nearest);
    part->row = (float *)(memory + row);
    part->line = (float *)(memory + line);
    part->joined = (uint64_t *)(memory + joined);
    for (int i = 0; i < RING_ROWS; i++)
        part->ring.rows[i] = (float *)(memory + rows[i]);
    part->slice = -1;
    return used;
}

size_t ts_sampling_scratch(const struct sampling *sampling, int threads)
{
    return (size_t)threads * lay_out(sampling, NULL, NULL);
}

/* ---- rows -------------------------------------------------------------------------------------- */

#define ADD(suffix, type)                                                                                              \
    TS_VECTORIZED static void begin_##suffix(const type *in, float weight, float *out, int64_t n)                      \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = weight * (float)in[x];                                                                            \
    }                                                                                                                  \
    TS_VECTORIZED static void add_##suffix(const type *in, float weight, float *out, int64_t n)                        \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] += weight * (float)in[x];                                                                           \
    }
TS_IMAGE_DTYPES(ADD)
#undef ADD

/* Writes weight * in to `out`, or adds it where this is not the first tap of a sum. */
static void add_row(const void *in, enum ts_dtype dtype, float weight, bool begin, float *out, int64_t n)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        (begin ? begin_##suffix : add_##suffix)((const type *)in, weight, out, n);                                     \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

/* Tap k of a pixel is row[index[k * stride]]. A tap of weight 0 is left out, so that a NaN there plays no part. */
TS_VECTORIZED static void gather_2(const float *row, const int32_t *index, const float *weight, int64_t stride,
                                   float *out, int64_t n)
{
    for (int64_t x = 0; x < n; x++) {
        const float w1 = weight[stride + x], v1 = row[index[stride + x]];
        out[x] = weight[x] * row[index[x]] + (w1 != 0 ? w1 * v1 : 0);
    }
}
TS_VECTORIZED static void gather_4(const float *row, const int32_t *index, const float *weight, int64_t stride,
                                   float *out, int64_t n)
{
    for (int64_t x = 0; x < n; x++) {
        float sum = 0;
        for (int k = 0; k < TAPS_MOST; k++) {
            const float w = weight[k * stride + x], v = row[index[k * stride + x]];
            sum += w != 0 ? w * v : 0;
        }
        out[x] = sum;
    }
}

#define NEAREST(bytes, type)                                                                                           \
    static void gather_words_##bytes(const type *row, const int32_t *index, type *out, int64_t n)                      \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = row[index[x]];                                                                                    \
    }
NEAREST(1, uint8_t)
NEAREST(2, uint16_t)
NEAREST(4, uint32_t)
#undef NEAREST

void ts_sampled_gather(const void *row, const int32_t *index, void *out, int64_t n, size_t bytes)
{
    if (bytes == 1)
        gather_words_1(row, index, out, n);
    else if (bytes == 2)
        gather_words_2(row, index, out, n);
    else
        gather_words_4(row, index, out, n);
}

/* ---- aligned grids ----------------------------------------------------------------------------- */

/* Finds the taps of the columns of output slice z. Those inside follow one another, because the grid is straight. */
static void find_columns(const struct sampled *of, int64_t z, struct columns *columns)
{
    const struct sampling *sampling = of->sampling;
    const int64_t n = sampling->n_out[2];
    columns->first = n;
    columns->end = 0;
    columns->copied = true;
    for (int64_t x = 0; x < n; x++) {
        const double t = ts_sampling_position(sampling, 2, z, 0, x);
        struct taps taps;
        if (!ts_taps_inside(t, sampling->n_in[2]))
            continue;
        ts_taps_find(t, sampling->n_in[2], sampling->interpolation, &taps);
        columns->first = x < columns->first ? x : columns->first;
        columns->end = x + 1;
        if (of->in->valid) {
            struct taps nearest;
            ts_taps_find(t, sampling->n_in[2], INTERPOLATION_NEAREST, &nearest);
            columns->nearest[x] = nearest.index[0];
        }
        for (int k = 0; k < of->taps; k++) {
            columns->index[k * n + x] = taps.index[k];
            columns->weight[k * n + x] = taps.weight[k];
        }
        const int one = of->taps == 4 ? 1 : 0;
        columns->copied = columns->copied && taps.weight[one] == 1 &&
                          taps.index[one] - columns->index[one * n + columns->first] == x - columns->first;
    }
    if (columns->first > columns->end)
        columns->first = columns->end = 0;
}

/* Returns an input row that was added along z, from the ring where it is there. */
static const float *row_along_z(const struct sampled *of, struct part *part, int64_t y)
{
    struct ring *ring = &part->ring;
    const int place = (int)(y % RING_ROWS);
    bool begin = true;
    if (ring->held[place] == y)
        return ring->rows[place];
    ring->held[place] = y;
    for (int k = 0; k < of->taps; k++) {
        if (part->z.weight[k] == 0)
            continue;
        add_row(ts_sampled_row(of, part->z.index[k], y), of->in->dtype, part->z.weight[k], begin, ring->rows[place],
                of->sampling->n_in[2]);
        begin = false;
    }
    return ring->rows[place];
}

/* Makes the row along y at position t, and returns where it is: in the ring where one row has all the weight. */
static const float *row_along_y(const struct sampled *of, struct part *part, double t)
{
    struct taps y;
    bool begin = true;
    ts_taps_find(t, of->sampling->n_in[1], of->sampling->interpolation, &y);
    for (int k = 0; k < of->taps; k++)
        if (y.weight[k] == 1)
            return row_along_z(of, part, y.index[k]);
    for (int k = 0; k < of->taps; k++) {
        if (y.weight[k] == 0)
            continue;
        add_row(row_along_z(of, part, y.index[k]), TS_F32, y.weight[k], begin, part->row, of->sampling->n_in[2]);
        begin = false;
    }
    return part->row;
}

static void make_row(const struct sampled *of, struct part *part, int64_t z, int64_t y, char *out)
{
    const struct sampling *sampling = of->sampling;
    const struct columns *columns = &part->columns;
    const int64_t nx = sampling->n_out[2], first = columns->first, n = columns->end - first;
    const double t = ts_sampling_position(sampling, 1, z, y, 0);
    if (!part->z_inside || n <= 0 || !ts_taps_inside(t, sampling->n_in[1])) {
        ts_sampled_fill(of, out, 0, nx);
        return;
    }
    char *at = out + (size_t)first * of->bytes;
    ts_sampled_fill(of, out, 0, first);
    ts_sampled_fill(of, out, columns->end, nx);
    if (of->taps == 1) {
        struct taps rows;
        ts_taps_find(t, sampling->n_in[1], sampling->interpolation, &rows);
        ts_sampled_gather(ts_sampled_row(of, part->z.index[0], rows.index[0]), columns->index + first, at, n,
                          of->bytes);
        return;
    }
    const float *row = row_along_y(of, part, t);
    const int32_t *index = columns->index + first;
    if (columns->copied) {
        ts_sampled_store(row + index[of->taps == 4 ? nx : 0], at, of->out->dtype, n);
        return;
    }
    float *line = of->out->dtype == TS_F32 ? (float *)(void *)at : part->line;
    (of->taps == 2 ? gather_2 : gather_4)(row, index, columns->weight + first, nx, line, n);
    if (of->out->dtype != TS_F32)
        ts_sampled_store(line, at, of->out->dtype, n);
}

/* Prepares a thread's memory for output slice z. */
static void begin_slice(const struct sampled *of, struct part *part, int64_t z)
{
    const struct sampling *sampling = of->sampling;
    const double t = ts_sampling_position(sampling, 0, z, 0, 0);
    const bool first = part->slice < 0;
    if (part->slice == z)
        return;
    part->slice = z;
    for (int i = 0; i < RING_ROWS; i++)
        part->ring.held[i] = -1;
    part->z_inside = ts_taps_inside(t, sampling->n_in[0]);
    if (part->z_inside)
        ts_taps_find(t, sampling->n_in[0], sampling->interpolation, &part->z);
    if (first || sampling->matrix[2][0] != 0)
        find_columns(of, z, &part->columns);
}

/* ---- slabs ------------------------------------------------------------------------------------- */

/* Makes rows [first, end) of an output slice. */
static void make_rows(const struct sampled *of, struct part *part, int64_t slice, int64_t first, int64_t end)
{
    const int64_t z = of->out->z_first + slice, nx = of->sampling->n_out[2];
    const bool aligned = ts_sampling_is_aligned(of->sampling);
    uint64_t *valid = ts_slice_valid(of->out, slice);
    if (aligned)
        begin_slice(of, part, z);
    if (valid)
        memset(valid + first * nx / 64, 0, (size_t)((end * nx + 63) / 64 - first * nx / 64) * sizeof *valid);
    for (int64_t y = first; y < end; y++) {
        char *row = (char *)ts_slice_data(of->out, slice) + (size_t)(y * nx) * of->bytes;
        if (aligned)
            make_row(of, part, z, y, row);
        else
            ts_sampled_free_row(of, z, y, part->line, row);
        if (of->in->valid)
            ts_sampled_mend_row(of, z, y, aligned ? part->columns.nearest : NULL, part->joined, row, valid);
    }
}

void ts_sampling_map(const struct sampling *sampling, const struct ts_image *in, struct ts_image *out, void *scratch,
                     int threads)
{
    const struct sampled of = {sampling, in, out, ts_dtype_bytes(in->dtype), ts_taps_count(sampling->interpolation)};
    const size_t thread_bytes = lay_out(sampling, NULL, NULL);
    const int64_t ny = sampling->n_out[1], rows = in->valid ? MASKED_ROWS : BLOCK_ROWS;
    const int64_t blocks = (ny + rows - 1) / rows, n_blocks = out->axes[0].n * blocks;
#pragma omp parallel num_threads(threads)
    {
        struct part part = {.slice = -1};
        lay_out(sampling, (char *)scratch + (size_t)omp_get_thread_num() * thread_bytes, &part);
#pragma omp for schedule(static)
        for (int64_t block = 0; block < n_blocks; block++) {
            const int64_t first = block % blocks * rows;
            make_rows(&of, &part, block / blocks, first, first + rows < ny ? first + rows : ny);
        }
    }
}
