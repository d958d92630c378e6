/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a grid that is not aligned with the input, where every voxel finds its own taps. Most voxels have all of them
 * inside of the input: these are read from one place in memory at fixed distances, by a loop for each dtype. Voxels at
 * the edges, where samples are repeated, look up each tap, and so do voxels whose sum is not finite, since a sample of
 * weight 0 plays no part.
 */
#include <float.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/grid/samples_row.h"

/* Rounds half to even and saturates. The bounds are floats, so that the largest of 32 bits are never reached. */
#define STORE(suffix, type, low, high, least, most)                                                                    \
    TS_VECTORIZED static void store_##suffix(const float *in, type *out, int64_t n)                                    \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++) {                                                                              \
            const float whole = rintf(in[x]);                                                                          \
            out[x] = whole <= (low) ? (type)(least) : whole >= (high) ? (type)(most) : (type)whole;                    \
        }                                                                                                              \
    }
STORE(U8, uint8_t, 0.F, 255.F, 0, UINT8_MAX)
STORE(I8, int8_t, -128.F, 127.F, INT8_MIN, INT8_MAX)
STORE(U16, uint16_t, 0.F, 65535.F, 0, UINT16_MAX)
STORE(I16, int16_t, -32768.F, 32767.F, INT16_MIN, INT16_MAX)
STORE(U32, uint32_t, 0.F, 4294967296.F, 0, UINT32_MAX)
STORE(I32, int32_t, -2147483648.F, 2147483648.F, INT32_MIN, INT32_MAX)
#undef STORE
TS_VECTORIZED static void store_F32(const float *in, float *out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = in[x];
}

void ts_sampled_store(const float *in, void *out, enum ts_dtype dtype, int64_t n)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        store_##suffix(in, (type *)out, n);                                                                            \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

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
                const char *row = ts_sampled_row(of, taps[0].index[k], taps[1].index[j]);
                ts_load_f32(&value, row + (size_t)taps[2].index[i] * of->bytes, of->in->dtype, 1);
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
        ts_taps_find(line->from[d] + (double)x * line->step[d], of->sampling->n_in[d], of->sampling->interpolation,
                     &taps[d]);
    return sum_of_each(of, taps);
}

/* Fills voxels [first, end) of a row, all inside. `n` is 2 or 4 taps, a constant where this is called. */
#define FREE_ROW(suffix, type)                                                                                         \
    static inline void free_row_##suffix(const struct sampled *of, const struct sampled_line *line, int n,             \
                                         int64_t first, int64_t end, float *out)                                       \
    {                                                                                                                  \
        const int kind = n == 2 ? INTERPOLATION_LINEAR : INTERPOLATION_CUBIC, before = n == 2 ? 0 : 1;                 \
        const int64_t *n_in = of->sampling->n_in, nx = n_in[2], slice = n_in[1] * nx, z_first = of->in->z_first;       \
        for (int64_t x = first; x < end; x++) {                                                                        \
            float w[3][TAPS_MOST], sum = 0;                                                                            \
            int64_t at[3];                                                                                             \
            bool within = true;                                                                                        \
            for (int d = 0; d < 3; d++) {                                                                              \
                at[d] = ts_taps_weigh(line->from[d] + (double)x * line->step[d], kind, w[d]) - before;                 \
                within = within && at[d] >= 0 && at[d] + n <= n_in[d];                                                 \
            }                                                                                                          \
            if (!within) {                                                                                             \
                out[x] = edge_value(of, line, x);                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            const type *p = (const type *)of->in->data + (at[0] - z_first) * slice + at[1] * nx + at[2];               \
            for (int i = 0; i < n; i++) {                                                                              \
                float along_y = 0;                                                                                     \
                for (int j = 0; j < n; j++) {                                                                          \
                    float along_z = 0;                                                                                 \
                    for (int k = 0; k < n; k++)                                                                        \
                        along_z += w[0][k] * (float)p[k * slice + j * nx + i];                                         \
                    along_y += w[1][j] * along_z;                                                                      \
                }                                                                                                      \
                sum += w[2][i] * along_y;                                                                              \
            }                                                                                                          \
            out[x] = fabsf(sum) <= FLT_MAX ? sum : edge_value(of, line, x);                                            \
        }                                                                                                              \
    }                                                                                                                  \
    TS_VECTORIZED static void linear_row_##suffix(const struct sampled *of, const struct sampled_line *line,           \
                                                  int64_t first, int64_t end, float *out)                              \
    {                                                                                                                  \
        free_row_##suffix(of, line, 2, first, end, out);                                                               \
    }                                                                                                                  \
    TS_VECTORIZED static void cubic_row_##suffix(const struct sampled *of, const struct sampled_line *line,            \
                                                 int64_t first, int64_t end, float *out)                               \
    {                                                                                                                  \
        free_row_##suffix(of, line, 4, first, end, out);                                                               \
    }
TS_IMAGE_DTYPES(FREE_ROW)
#undef FREE_ROW

static void copy_nearest(const struct sampled *of, const struct sampled_line *line, int64_t first, int64_t end,
                         char *out)
{
    for (int64_t x = first; x < end; x++) {
        struct taps taps[3];
        for (int d = 0; d < 3; d++)
            ts_taps_find(line->from[d] + (double)x * line->step[d], of->sampling->n_in[d], INTERPOLATION_NEAREST,
                         &taps[d]);
        const char *row = ts_sampled_row(of, taps[0].index[0], taps[1].index[0]);
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

/* The voxels inside follow one another, because the row is straight and the input convex. */
struct sampled_line ts_sampled_place(const struct sampled *of, int64_t z, int64_t y, int64_t *first, int64_t *end)
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

void ts_sampled_free_row(const struct sampled *of, int64_t z, int64_t y, float *line, char *out)
{
    const int64_t nx = of->sampling->n_out[2];
    int64_t first, end;
    const struct sampled_line on = ts_sampled_place(of, z, y, &first, &end);
    ts_sampled_fill(of, out, 0, first);
    ts_sampled_fill(of, out, end, nx);
    if (of->taps == 1) {
        copy_nearest(of, &on, first, end, out);
        return;
    }
    switch (of->in->dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        (of->taps == 2 ? linear_row_##suffix : cubic_row_##suffix)(of, &on, first, end, line);                         \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
    ts_sampled_store(line + first, out + (size_t)first * of->bytes, of->out->dtype, end - first);
}
