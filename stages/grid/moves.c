/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are copied by their size, so that three functions serve every dtype. If the input's rows
 * become the output's rows, rows are copied or reversed. If they become columns, neighbors in
 * memory are along a different axis of the output; squares of TILE x TILE pixels of both axes then
 * keep what is read and written in the cache.
 */
#include "stages/grid/moves.h"

#include <string.h>

enum { TILE = 32 };

void ts_moves_shape(const struct moves *moves, const struct ts_image *in, struct ts_image *out)
{
    /* direction has x first, axes have z first. */
    const double *units[3] = {in->direction + 6, in->direction + 3, in->direction};
    double steps[3][3];
    for (int i = 0; i < 3; i++) {
        steps[0][i] = in->step_z_mm[i];
        steps[1][i] = units[1][i] * in->axes[1].spacing;
        steps[2][i] = units[2][i] * in->axes[2].spacing;
    }
    for (int d = 0; d < 3; d++) {
        const struct ts_axis *from = &in->axes[moves->from[d]];
        const int64_t start = moves->start[d];
        const double sign = moves->sign[d];
        out->axes[d] = *from;
        out->axes[d].kind = in->axes[d].kind;
        out->axes[d].n = moves->n[d];
        out->axes[d].first =
            sign * (from->first + (double)start * from->spacing) + 0.0; /* 0, never -0 */
        if (from->positions)
            out->axes[d].positions = from->positions + start;
        for (int i = 0; in->has_geometry && i < 3; i++) {
            out->origin_mm[i] += (double)start * steps[moves->from[d]][i];
            out->direction[6 - 3 * d + i] = sign * units[moves->from[d]][i] + 0.0;
        }
    }
    for (int i = 0; in->has_geometry && i < 3; i++)
        out->step_z_mm[i] = moves->sign[0] * steps[moves->from[0]][i] + 0.0;
}

/* Returns the input's slices along output axis d for its indices [first, end). */
static struct stage_slices slices_along(const struct moves *moves, int d, int64_t first,
                                        int64_t end)
{
    const int64_t start = moves->start[d];
    return moves->sign[d] > 0 ? (struct stage_slices){start + first, start + end}
                              : (struct stage_slices){start - end + 1, start - first + 1};
}

struct stage_slices ts_moves_read(const struct moves *moves, int64_t first, int64_t end)
{
    int d = 0;
    while (moves->from[d] != 0)
        d++;
    return d == 0 ? slices_along(moves, 0, first, end) : slices_along(moves, d, 0, moves->n[d]);
}

struct moved_slab ts_moves_slab(const struct moves *moves, const struct ts_image *in,
                                const struct ts_image *out)
{
    const int64_t strides[3] = {in->axes[1].n * in->axes[2].n, in->axes[2].n, 1};
    struct moved_slab slab = {.base = -in->z_first * strides[0]};
    for (int d = 0; d < 3; d++) {
        const int64_t skipped = d == 0 ? out->z_first : 0;
        slab.n[d] = out->axes[d].n;
        slab.step[d] = moves->sign[d] * strides[moves->from[d]];
        slab.base += moves->start[d] * strides[moves->from[d]] + skipped * slab.step[d];
    }
    return slab;
}

#define COPY(suffix, type)                                                                         \
    static void reverse_##suffix(const type *in, type *out, int64_t n)                             \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = in[-i];                                                                       \
    }                                                                                              \
    /* Copies rows of a tile, whose input neighbors along x are `step` apart. */                   \
    static void gather_##suffix(const type *in, type *out, int64_t n, int64_t step)                \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = in[i * step];                                                                 \
    }
COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
#undef COPY

/* Copies n neighbors of an output row from input elements that are `step` apart. */
static void copy_row(const char *in, char *out, int64_t n, int64_t step, size_t element)
{
    if (step == 1)
        memcpy(out, in, (size_t)n * element);
    else if (element == 1)
        step == -1 ? reverse_1((const void *)in, (void *)out, n)
                   : gather_1((const void *)in, (void *)out, n, step);
    else if (element == 2)
        step == -1 ? reverse_2((const void *)in, (void *)out, n)
                   : gather_2((const void *)in, (void *)out, n, step);
    else
        step == -1 ? reverse_4((const void *)in, (void *)out, n)
                   : gather_4((const void *)in, (void *)out, n, step);
}

static int64_t parts_of(int64_t n, int64_t part)
{
    return (n + part - 1) / part;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void ts_moves_copy(const struct moves *moves, const struct ts_image *in, struct ts_image *out,
                   int threads)
{
    const struct moved_slab slab = ts_moves_slab(moves, in, out);
    const size_t element = ts_dtype_bytes(in->dtype);
    const int64_t nx = slab.n[2], strides[2] = {slab.n[1] * nx, nx};
    /* Rows are copied one after the other; else a tile has rows along the axis that is contiguous
     * in the input. */
    const bool rows = moves->from[2] == 2;
    const int near = moves->from[0] == 2 ? 0 : 1, far = 1 - near;
    const int64_t wide = rows ? nx : TILE, high = rows ? 1 : TILE;
    const int64_t across = parts_of(nx, wide), down = parts_of(slab.n[near], high);
    const int64_t n_tiles = slab.n[far] * down * across;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t tile = 0; tile < n_tiles; tile++) {
        const int64_t x = tile % across * wide, first = tile / across % down * high,
                      other = tile / across / down;
        const int64_t end = least(first + high, slab.n[near]), n = least(wide, nx - x);
        for (int64_t i = first; i < end; i++) {
            const int64_t from =
                slab.base + other * slab.step[far] + i * slab.step[near] + x * slab.step[2];
            const int64_t to = other * strides[far] + i * strides[near] + x;
            copy_row((const char *)in->data + from * (int64_t)element,
                     (char *)out->data + to * (int64_t)element, n, slab.step[2], element);
        }
    }
}
