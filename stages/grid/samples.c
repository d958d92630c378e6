/* SPDX-License-Identifier: Apache-2.0
 *
 * On an aligned grid rows of the input are added along z, then along y, and then each output pixel
 * adds its taps along x. Rows that were added along z are kept in a small ring, since the next
 * output row needs most of them again. On other grids every voxel finds its own taps. Nearest
 * samples are copied by their size, so that they keep their bits.
 */
#include "stages/grid/samples.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/grid/splines.h"

struct sampled {
    const struct sampling *sampling;
    const struct ts_image *in, *out; /* `in`: samples, or coefficients if the sampling has a pad */
    size_t bytes;                    /* bytes of an element of `out` */
    int taps;
    size_t in_bytes;
    int64_t ny, nx; /* samples of `in` along y and x */
};

static struct sampled sampled_of(const struct sampling *sampling, const struct ts_image *in,
                                 const struct ts_image *out)
{
    return (struct sampled){sampling,
                            in,
                            out,
                            ts_dtype_bytes(out->dtype),
                            ts_taps_count(sampling->interpolation),
                            ts_dtype_bytes(in->dtype),
                            sampling->n_in[1] + (int64_t)2 * sampling->pad,
                            sampling->n_in[2] + (int64_t)2 * sampling->pad};
}

/* Returns row y of input slice z. */
static inline const char *sampled_row(const struct sampled *of, int64_t z, int64_t y)
{
    const int64_t row = (z - of->in->z_first) * of->ny + y;
    return (const char *)of->in->data + (size_t)(row * of->nx) * of->in_bytes;
}

/* Writes the value outside to pixels [first, end) of an output row. */
static inline void sampled_fill(const struct sampled *of, char *row, int64_t first, int64_t end)
{
    ts_constant_fill(row + (size_t)first * of->bytes, of->out->dtype, of->sampling->outside,
                     end - first);
}

/* The positions of the voxels of a row along each axis: from[d] + x * step[d]. */
struct sampled_line {
    double from[3], step[3];
};

/* The bits of 64 rows fill whole words, so that no two threads write to the same word. */
enum { RING_ROWS = 8, BLOCK_ROWS = 32, MASKED_ROWS = 64, WORD = 64 };

/* The rules that every stage with samples has. */
#define SAMPLES_RULES                                                                              \
    {"nearest", INTERPOLATION_NEAREST,                                                             \
     "the nearest sample; halfway between two, the one of the larger index"},                      \
        {"linear", INTERPOLATION_LINEAR, "linear along each axis, from 8 samples in all"},         \
    {                                                                                              \
        "cubic", INTERPOLATION_CUBIC,                                                              \
            "Keys' cubic convolution with a = -1/2 (Catmull-Rom) along each axis, from 64 "        \
            "samples; "                                                                            \
            "sharper, and may overshoot at edges"                                                  \
    }

const struct choice ts_interpolation_choices[] = {
    SAMPLES_RULES,
    {NULL, 0, NULL},
};

const struct choice ts_resample_choices[] = {
    SAMPLES_RULES,
    {"bspline3", INTERPOLATION_BSPLINE3,
     "the cubic B-spline through the samples: order 3 of SciPy, scikit-image and ITK; sharper "
     "still, and overshoots more"},
    {"labels", INTERPOLATION_LABELS,
     "the label that has at least half of the linear weights, of two with half the larger, or 0 if "
     "none has"},
    {NULL, 0, NULL},
};

void ts_sampling_range(const struct value_range *found, float range[2])
{
    range[0] = found->n_finite ? (float)found->low : -INFINITY;
    range[1] = found->n_finite ? (float)found->high : INFINITY;
}

void ts_sampling_defaults(const struct stage_context *context, int32_t *interpolation,
                          double *outside)
{
    if (!ts_param_given(context->set, "interpolation"))
        *interpolation = context->in.labels ? INTERPOLATION_NEAREST : INTERPOLATION_LINEAR;
    ts_stage_default_air(context, "outside", outside);
}

/* ---- the grid -------------------------------------------------------------------------------- */

bool ts_sampling_is_aligned(const struct sampling *sampling)
{
    const double(*m)[3] = sampling->matrix;
    return m[0][1] == 0 && m[0][2] == 0 && m[1][2] == 0 && m[2][1] == 0;
}

/* What a thread keeps: the taps of the columns of a slice, in arrays so that loops over x are
 * vectors, and rows. */
struct columns {
    int64_t first, end; /* columns [first, end) are inside */
    bool copied;        /* true if each column is one sample of weight 1, and all are next to each
                         * other */
    int32_t *index;     /* tap k of column x is at k * n_out[2] + x */
    float *weight;
    int32_t *nearest; /* for a masked image: the sample nearest to each column */
};
struct ring {
    int64_t held[RING_ROWS]; /* the input row in each place of the ring; -1: none */
    float *rows[RING_ROWS];
};
struct part {
    struct columns columns;
    struct ring ring;
    float *row, *line; /* a row that was added along y; a row of the output */
    uint64_t *joined;  /* bits of a row of the input */
    int64_t slice;     /* the slice that the ring and the columns belong to */
    struct taps z;
    bool z_inside;
    int64_t nearest_slice; /* the input slice that is nearest */
};

/* Lays out the memory of a thread, and returns its bytes. With `memory` NULL it only counts. */
static size_t lay_out(const struct sampling *sampling, char *memory, struct part *part)
{
    const int64_t nx = sampling->n_out[2], taps = TAPS_MOST * nx;
    const int64_t nx_in = sampling->n_in[2] + (int64_t)2 * TAPS_PAD,
                  longest = nx > nx_in ? nx : nx_in;
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

#include "stages/grid/samples_loops.inc"

/* Rows of a grid that is not aligned with the input: every voxel finds its own taps. For most
 * voxels all taps are inside of the input; these are at fixed distances in memory, and a loop for
 * each dtype reads them. Voxels at the edges, where samples are repeated, look up each tap. So do
 * voxels whose sum is not finite, since a sample of weight 0 must not count. */

/* Sums the taps of a voxel one by one, leaving out those of weight 0. */
static float sum_of_each(const struct sampled *of, const struct taps taps[3])
{
    float sum = 0;
    for (int i = 0; i < of->taps; i++) {
        float along_y = 0;
        for (int j = 0; taps[2].weight[i] != 0 && j < of->taps; j++) {
            float along_z = 0, value;
            for (int k = 0; taps[1].weight[j] != 0 && k < of->taps; k++) {
                if (taps[0].weight[k] == 0)
                    continue;
                const char *row = sampled_row(of, taps[0].index[k], taps[1].index[j]);
                ts_load_f32(&value, row + (size_t)taps[2].index[i] * of->in_bytes, of->in->dtype,
                            1);
                along_z += taps[0].weight[k] * value;
            }
            along_y += taps[1].weight[j] != 0 ? taps[1].weight[j] * along_z : 0;
        }
        sum += taps[2].weight[i] != 0 ? taps[2].weight[i] * along_y : 0;
    }
    return sum;
}

static float edge_value(const struct sampled *of, const struct sampled_line *line, int64_t x)
{
    struct taps taps[3];
    for (int d = 0; d < 3; d++)
        ts_sampling_taps(of->sampling, d, line->from[d] + (double)x * line->step[d],
                         of->sampling->interpolation, &taps[d]);
    return sum_of_each(of, taps);
}

/* Fills voxels [first, end) of a row, all inside. `kind` is constant in each call. */
#define FREE_ROW(suffix, type)                                                                     \
    static inline void free_row_##suffix(const struct sampled *of,                                 \
                                         const struct sampled_line *line, int kind, int64_t first, \
                                         int64_t end, float *out)                                  \
    {                                                                                              \
        const int n = kind == INTERPOLATION_LINEAR ? 2 : 4,                                        \
                  before = (n == 2 ? 0 : 1) - of->sampling->pad;                                   \
        const int64_t nx = of->nx, slice = of->ny * nx, z_first = of->in->z_first,                 \
                      n_in[3] = {of->sampling->n_in[0] + (int64_t)2 * of->sampling->pad, of->ny,   \
                                 nx};                                                              \
        for (int64_t x = first; x < end; x++) {                                                    \
            float w[3][TAPS_MOST], sum = 0;                                                        \
            int64_t at[3];                                                                         \
            bool within = true;                                                                    \
            for (int d = 0; d < 3; d++) {                                                          \
                at[d] =                                                                            \
                    ts_taps_weigh(line->from[d] + (double)x * line->step[d], kind, w[d]) - before; \
                within = within && at[d] >= 0 && at[d] + n <= n_in[d];                             \
            }                                                                                      \
            if (!within) {                                                                         \
                out[x] = edge_value(of, line, x);                                                  \
                continue;                                                                          \
            }                                                                                      \
            const type *p =                                                                        \
                (const type *)of->in->data + (at[0] - z_first) * slice + at[1] * nx + at[2];       \
            for (int i = 0; i < n; i++) {                                                          \
                float along_y = 0;                                                                 \
                for (int j = 0; j < n; j++) {                                                      \
                    float along_z = 0;                                                             \
                    for (int k = 0; k < n; k++)                                                    \
                        along_z += w[0][k] * (float)p[k * slice + j * nx + i];                     \
                    along_y += w[1][j] * along_z;                                                  \
                }                                                                                  \
                sum += w[2][i] * along_y;                                                          \
            }                                                                                      \
            out[x] = fabsf(sum) <= FLT_MAX ? sum : edge_value(of, line, x);                        \
        }                                                                                          \
    }                                                                                              \
    TS_VECTORIZED static void linear_row_##suffix(const struct sampled *of,                        \
                                                  const struct sampled_line *line, int64_t first,  \
                                                  int64_t end, float *out)                         \
    {                                                                                              \
        free_row_##suffix(of, line, INTERPOLATION_LINEAR, first, end, out);                        \
    }                                                                                              \
    TS_VECTORIZED static void cubic_row_##suffix(const struct sampled *of,                         \
                                                 const struct sampled_line *line, int64_t first,   \
                                                 int64_t end, float *out)                          \
    {                                                                                              \
        free_row_##suffix(of, line, INTERPOLATION_CUBIC, first, end, out);                         \
    }
TS_IMAGE_DTYPES(FREE_ROW)
#undef FREE_ROW

TS_VECTORIZED static void spline_row(const struct sampled *of, const struct sampled_line *line,
                                     int64_t first, int64_t end, float *out)
{
    free_row_F32(of, line, INTERPOLATION_BSPLINE3, first, end, out);
}

/* Fills voxels [first, end) of a row with labels, on any grid. */
static void label_row(const struct sampled *of, const struct sampled_line *line, int64_t first,
                      int64_t end, char *out)
{
    for (int64_t x = first; x < end; x++) {
        struct taps taps[3];
        const char *samples[TAPS_CORNERS];
        double values[TAPS_CORNERS];
        for (int d = 0; d < 3; d++)
            ts_sampling_taps(of->sampling, d, line->from[d] + (double)x * line->step[d],
                             INTERPOLATION_LABELS, &taps[d]);
        for (int i = 0; i < TAPS_CORNERS; i++) {
            samples[i] = sampled_row(of, taps[0].index[i & 1], taps[1].index[i >> 1 & 1]) +
                         (size_t)taps[2].index[i >> 2] * of->in_bytes;
            ts_load_f64(&values[i], samples[i], of->in->dtype, 1);
        }
        const int chosen = ts_taps_label(taps, values);
        if (chosen < 0)
            memset(out + (size_t)x * of->bytes, 0, of->bytes);
        else
            memcpy(out + (size_t)x * of->bytes, samples[chosen], of->bytes);
    }
}

static void copy_nearest(const struct sampled *of, const struct sampled_line *line, int64_t first,
                         int64_t end, char *out)
{
    for (int64_t x = first; x < end; x++) {
        struct taps taps[3];
        for (int d = 0; d < 3; d++)
            ts_sampling_taps(of->sampling, d, line->from[d] + (double)x * line->step[d],
                             INTERPOLATION_NEAREST, &taps[d]);
        const char *row = sampled_row(of, taps[0].index[0], taps[1].index[0]);
        memcpy(out + (size_t)x * of->bytes, row + (size_t)taps[2].index[0] * of->bytes, of->bytes);
    }
}

static bool is_inside(const struct sampled *of, const struct sampled_line *line, int64_t x)
{
    bool inside = true;
    for (int d = 0; inside && d < 3; d++)
        inside = ts_taps_inside(line->from[d] + (double)x * line->step[d], of->sampling->n_in[d]);
    return inside;
}

/* Returns the positions of row y of output slice z, and finds its voxels [*first, *end) that are
 * inside. These follow one another, because the row is straight and the input convex. */
static struct sampled_line sampled_place(const struct sampled *of, int64_t z, int64_t y,
                                         int64_t *first, int64_t *end)
{
    const struct sampling *sampling = of->sampling;
    struct sampled_line line;
    for (int d = 0; d < 3; d++) {
        line.from[d] = ts_sampling_position(sampling, d, z, y, 0);
        line.step[d] = sampling->matrix[d][2];
    }
    *first = 0;
    *end = sampling->n_out[2];
    while (*first < *end && !is_inside(of, &line, *first))
        ++*first;
    while (*end > *first && !is_inside(of, &line, *end - 1))
        --*end;
    return line;
}

/* Makes row y of output slice z on a grid that is not aligned. `line` has room for the floats of a
 * row. */
static void sampled_free_row(const struct sampled *of, int64_t z, int64_t y, float *line, char *out)
{
    const int64_t nx = of->sampling->n_out[2];
    int64_t first, end;
    const struct sampled_line on = sampled_place(of, z, y, &first, &end);
    sampled_fill(of, out, 0, first);
    sampled_fill(of, out, end, nx);
    if (of->sampling->interpolation == INTERPOLATION_LABELS) {
        label_row(of, &on, first, end, out);
        return;
    }
    if (of->taps == 1) {
        copy_nearest(of, &on, first, end, out);
        return;
    }
    if (of->sampling->pad > 0 && of->sampling->interpolation == INTERPOLATION_BSPLINE3) {
        spline_row(of, &on, first, end, line);
        sampled_store(line + first, out + (size_t)first * of->bytes, of->out->dtype, end - first);
        return;
    }
    switch (of->in->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        (of->taps == 2 ? linear_row_##suffix : cubic_row_##suffix)(of, &on, first, end, line);     \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
    sampled_store(line + first, out + (size_t)first * of->bytes, of->out->dtype, end - first);
}

#include "stages/grid/samples_masked.inc"

/* ---- aligned grids --------------------------------------------------------------------------- */

/* Finds the taps of the columns of output slice z. The columns inside follow one another, because
 * the grid is straight. */
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
        ts_sampling_taps(sampling, 2, t, sampling->interpolation, &taps);
        columns->first = x < columns->first ? x : columns->first;
        columns->end = x + 1;
        struct sampling plain = *sampling;
        struct taps nearest;
        plain.pad = 0;
        ts_sampling_taps(&plain, 2, t, INTERPOLATION_NEAREST, &nearest);
        columns->nearest[x] = nearest.index[0];
        for (int k = 0; k < of->taps; k++) {
            columns->index[k * n + x] = taps.index[k];
            columns->weight[k * n + x] = taps.weight[k];
        }
        const int one = of->taps == 4 ? 1 : 0;
        columns->copied =
            columns->copied && taps.weight[one] == 1 &&
            taps.index[one] - columns->index[one * n + columns->first] == x - columns->first;
    }
    if (columns->first > columns->end)
        columns->first = columns->end = 0;
}

/* Returns an input row that was added along z, from the ring if it is there. */
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
        add_row(sampled_row(of, part->z.index[k], y), of->in->dtype, part->z.weight[k], begin,
                ring->rows[place], of->nx);
        begin = false;
    }
    return ring->rows[place];
}

/* Makes the row along y at position t, and returns its address: in the ring, if one row has all the
 * weight. */
static const float *row_along_y(const struct sampled *of, struct part *part, double t)
{
    struct taps y;
    bool begin = true;
    ts_sampling_taps(of->sampling, 1, t, of->sampling->interpolation, &y);
    for (int k = 0; k < of->taps; k++)
        if (y.weight[k] == 1)
            return row_along_z(of, part, y.index[k]);
    for (int k = 0; k < of->taps; k++) {
        if (y.weight[k] == 0)
            continue;
        add_row(row_along_z(of, part, y.index[k]), TS_F32, y.weight[k], begin, part->row, of->nx);
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
        sampled_fill(of, out, 0, nx);
        return;
    }
    char *at = out + (size_t)first * of->bytes;
    sampled_fill(of, out, 0, first);
    sampled_fill(of, out, columns->end, nx);
    if (of->taps == 1) {
        struct taps rows;
        ts_sampling_taps(sampling, 1, t, sampling->interpolation, &rows);
        sampled_gather(sampled_row(of, part->z.index[0], rows.index[0]), columns->index + first, at,
                       n, of->bytes);
        return;
    }
    const float *row = row_along_y(of, part, t), *range = sampling->range;
    const int32_t *index = columns->index + first;
    if (columns->copied && !range) {
        sampled_store(row + index[of->taps == 4 ? nx : 0], at, of->out->dtype, n);
        return;
    }
    float *line = of->out->dtype == TS_F32 ? (float *)(void *)at : part->line;
    (of->taps == 2 ? gather_2 : gather_4)(row, index, columns->weight + first, nx, line, n);
    if (range)
        clip(line, range + (sampling->clips_slices ? 2 * part->nearest_slice : 0), n);
    if (of->out->dtype != TS_F32)
        sampled_store(line, at, of->out->dtype, n);
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
    part->nearest_slice =
        ts_edge_index((int64_t)floor(t + 0.5 + TAPS_SLACK), sampling->n_in[0], EDGE_NEAREST);
    if (part->z_inside)
        ts_sampling_taps(sampling, 0, t, sampling->interpolation, &part->z);
    if (first || sampling->matrix[2][0] != 0)
        find_columns(of, z, &part->columns);
}

/* Makes rows [first, end) of an output slice of `of`, and mends them with the samples of `plain` if
 * these are masked. */
static void make_rows(const struct sampled *of, const struct sampled *plain, struct part *part,
                      int64_t slice, int64_t first, int64_t end)
{
    const int64_t z = of->out->z_first + slice, nx = of->sampling->n_out[2];
    const bool aligned = ts_sampling_is_aligned(of->sampling),
               by_rows = aligned && of->sampling->interpolation != INTERPOLATION_LABELS;
    uint64_t *valid = ts_slice_valid(of->out, slice);
    if (aligned)
        begin_slice(of, part, z);
    if (valid)
        memset(valid + first * nx / 64, 0,
               (size_t)((end * nx + 63) / 64 - first * nx / 64) * sizeof *valid);
    for (int64_t y = first; y < end; y++) {
        char *row = (char *)ts_slice_data(of->out, slice) + (size_t)(y * nx) * of->bytes;
        if (by_rows)
            make_row(of, part, z, y, row);
        else
            sampled_free_row(of, z, y, part->line, row);
        if (plain->in->valid)
            sampled_mend_row(plain, z, y, aligned ? part->columns.nearest : NULL, part->joined, row,
                             valid);
    }
}

struct stage_slices ts_sampling_span(const struct sampling *sampling, int64_t first, int64_t end)
{
    enum { REACH = 2 }; /* of four taps */
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        const double t = ts_sampling_position(sampling, 0, corner & 1 ? end - 1 : first,
                                              corner & 2 ? sampling->n_out[1] - 1 : 0,
                                              corner & 4 ? sampling->n_out[2] - 1 : 0);
        low = fmin(low, t);
        high = fmax(high, t);
    }
    const double n = (double)sampling->n_in[0];
    low = fmin(fmax(floor(low) - REACH + 1, -REACH), n);
    high = fmin(fmax(floor(high + TAPS_SLACK) + REACH + 1, low + 1), n + REACH);
    return (struct stage_slices){(int64_t)low, (int64_t)high};
}

/* The coefficients of a slab, the kernels that make them, and the ranges of its slices. */
struct coefficients {
    struct ts_image image;
    struct spline_kernels kernels;
    char *threads; /* scratch of ts_spline_filter */
    float *ranges;
};

/* Lays out what comes after the memory of the threads, and returns its bytes. */
static size_t lay_out_slab(const struct sampling *sampling, int64_t n, int threads, char *memory,
                           struct coefficients *slab)
{
    size_t used = 0, kernels[3] = {0, 0, 0}, image = 0, filter = 0;
    const bool filtered = ts_spline_is_needed(sampling);
    const int64_t *n_in = sampling->n_in;
    for (int d = 0; filtered && d < 3; d++)
        kernels[d] = ts_scratch_part(&used, ts_spline_radius(sampling, d) + 1, sizeof(float));
    if (filtered) {
        image = ts_scratch_part(&used, ts_spline_slices(sampling, n) * (n_in[1] + 2 * TAPS_PAD),
                                (size_t)(n_in[2] + 2 * TAPS_PAD) * sizeof(float));
        filter = ts_scratch_part(&used, threads, ts_spline_scratch(sampling));
    }
    const size_t ranges =
        ts_scratch_part(&used, sampling->clips_slices ? 2 * n_in[0] : 0, sizeof(float));
    if (!memory)
        return used;
    for (int d = 0; d < 3; d++) {
        slab->kernels.radius[d] = filtered ? ts_spline_radius(sampling, d) : 0;
        slab->kernels.weights[d] = (float *)(memory + kernels[d]);
    }
    slab->image.data = memory + image;
    slab->threads = memory + filter;
    slab->ranges = (float *)(memory + ranges);
    return used;
}

size_t ts_sampling_scratch(const struct sampling *sampling, int64_t n, int threads)
{
    return (size_t)threads * lay_out(sampling, NULL, NULL) +
           lay_out_slab(sampling, n, threads, NULL, NULL);
}

/* Finds the ranges of the slices of the slab. */
static void find_ranges(const struct ts_image *in, float *ranges, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t z = 0; z < in->axes[0].n; z++) {
        struct value_range range = {.n_finite = 0};
        ts_value_range_add(&range, ts_slice_data(in, z), in->dtype, ts_slice_count(in));
        ts_sampling_range(&range, ranges + 2 * (in->z_first + z));
    }
}

void ts_sampling_map(const struct sampling *sampling, const struct ts_image *in,
                     struct ts_image *out, void *scratch, int threads)
{
    const size_t thread_bytes = lay_out(sampling, NULL, NULL);
    const int64_t ny = sampling->n_out[1], rows = in->valid ? MASKED_ROWS : BLOCK_ROWS;
    const int64_t blocks = (ny + rows - 1) / rows, n_blocks = out->axes[0].n * blocks;
    struct sampling drawn = *sampling, samples = *sampling;
    struct coefficients slab = {.image = *in};
    lay_out_slab(sampling, out->axes[0].n, threads,
                 (char *)scratch + (size_t)threads * thread_bytes, &slab);
    if (sampling->clips_slices) {
        find_ranges(in, slab.ranges, threads);
        drawn.range = slab.ranges;
    }
    if (samples.interpolation == INTERPOLATION_BSPLINE3)
        samples.interpolation = INTERPOLATION_CUBIC; /* its taps are mended */
    if (ts_spline_is_needed(sampling)) {
        const struct stage_slices span =
            ts_sampling_span(sampling, out->z_first, out->z_first + out->axes[0].n);
        drawn.pad = TAPS_PAD;
        ts_spline_kernels(sampling, &slab.kernels);
        slab.image.dtype = TS_F32;
        slab.image.valid = NULL;
        slab.image.z_first = span.first + TAPS_PAD;
        slab.image.axes[0].n = span.end - span.first;
        ts_spline_filter(sampling, &slab.kernels, in, &slab.image, slab.threads, threads);
    } else {
        slab.image = *in;
    }
    const struct sampled of = sampled_of(&drawn, &slab.image, out),
                         plain = sampled_of(&samples, in, out);
#pragma omp parallel num_threads(threads)
    {
        struct part part = {.slice = -1};
        lay_out(sampling, (char *)scratch + (size_t)omp_get_thread_num() * thread_bytes, &part);
#pragma omp for schedule(static)
        for (int64_t block = 0; block < n_blocks; block++) {
            const int64_t first = block % blocks * rows;
            make_rows(&of, &plain, &part, block / blocks, first,
                      first + rows < ny ? first + rows : ny);
        }
    }
}
