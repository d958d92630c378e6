/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a masked image on another grid. A row is first made as that of any other image, and then mended here:
 *
 *     a voxel whose nearest sample is invalid, or that lies outside, is invalid; it has that sample, or the value
 * outside a voxel that has an invalid sample among its taps gets the linear mean of the valid ones of the 8 around it
 *
 * The weights of that mean are divided by their sum, which is at least 1/8, because the nearest sample has a part in
 * it. A cubic's weights are not used then, since some are negative and what is left of their sum may be nothing. On
 * straight rows, along which the taps in z and y stay the same, the bits of these taps are joined once for the row.
 */
#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/grid/samples_row.h"

enum { WORD = 64 };

/* This is a row of the output; all voxels of a straight one share the taps along z and y. */
struct masked_row {
    const struct sampled *of;
    struct sampled_line line;
    bool straight;
    uint64_t *joined;       /* straight: a bit for each column of the input, 1 where all taps along z and y are valid */
    const int32_t *columns; /* the input's column nearest to each voxel; NULL: the grid is not aligned */
    int64_t nearest[3];     /* the sample nearest to a voxel; straight: along z and y of all */
};

/* Returns 1 where all bits [low, high) are set, 0 where none is, and -1 where some are. */
static int which_of(const uint64_t *bits, int64_t low, int64_t high)
{
    bool all = true, none = true;
    for (int64_t i = low, n; i < high && (all || none); i += n) {
        n = high - i < WORD ? high - i : WORD;
        const uint64_t here = ts_valid_bits(bits, (size_t)i, (size_t)n);
        all = all && here == UINT64_MAX >> (WORD - n);
        none = none && here == 0;
    }
    return all ? 1 : none ? 0 : -1;
}

static bool is_valid(const struct sampled *of, int64_t z, int64_t y, int64_t x)
{
    const uint64_t *valid = ts_slice_valid(of->in, z - of->in->z_first);
    return ts_valid_at(valid, (size_t)(y * of->sampling->n_in[2] + x));
}

static void find_taps(const struct masked_row *row, int d, int64_t x, int interpolation, struct taps *taps)
{
    ts_taps_find(row->line.from[d] + (double)x * row->line.step[d], row->of->sampling->n_in[d], interpolation, taps);
}

/* Joins the bits of the taps of a straight row. */
static void join_bits(struct masked_row *row)
{
    const struct sampled *of = row->of;
    const int64_t nx = of->sampling->n_in[2];
    struct taps taps[2];
    for (int d = 0; d < 2; d++)
        find_taps(row, d, 0, of->sampling->interpolation, &taps[d]);
    for (int64_t x = 0; x < nx; x += WORD) {
        const int64_t n = nx - x < WORD ? nx - x : WORD;
        uint64_t bits = UINT64_MAX >> (WORD - n);
        for (int k = 0; k < of->taps; k++)
            for (int j = 0; taps[0].weight[k] != 0 && j < of->taps; j++)
                if (taps[1].weight[j] != 0)
                    bits &= ts_valid_bits(ts_slice_valid(of->in, taps[0].index[k] - of->in->z_first),
                                          (size_t)(taps[1].index[j] * nx + x), (size_t)n);
        row->joined[x / WORD] = bits;
    }
    for (int d = 0; d < 2; d++) {
        find_taps(row, d, 0, INTERPOLATION_NEAREST, &taps[d]);
        row->nearest[d] = taps[d].index[0];
    }
}

/* Returns true where all samples that voxels [first, end) of a straight row can have a weight of are valid. */
static bool is_whole(const struct masked_row *row, int64_t first, int64_t end)
{
    enum { REACH = 2 }; /* of a cubic */
    const double a = row->line.from[2] + (double)first * row->line.step[2],
                 b = row->line.from[2] + (double)(end - 1) * row->line.step[2];
    const int64_t nx = row->of->sampling->n_in[2], low = (int64_t)floor(fmin(a, b)) - REACH,
                  high = (int64_t)floor(fmax(a, b)) + REACH + 2;
    return which_of(row->joined, low < 0 ? 0 : low, high < nx ? high : nx) == 1;
}

/* Returns true where every sample that has a weight in voxel x is valid. */
static bool is_complete(const struct masked_row *row, int64_t x)
{
    const struct sampled *of = row->of;
    const int n = of->taps;
    struct taps taps[3];
    for (int d = row->straight ? 2 : 0; d < 3; d++)
        find_taps(row, d, x, of->sampling->interpolation, &taps[d]);
    for (int i = 0; i < n; i++) {
        if (taps[2].weight[i] == 0)
            continue;
        if (row->straight) {
            if (!ts_valid_at(row->joined, (size_t)taps[2].index[i]))
                return false;
            continue;
        }
        for (int k = 0; k < n; k++)
            for (int j = 0; taps[0].weight[k] != 0 && j < n; j++)
                if (taps[1].weight[j] != 0 && !is_valid(of, taps[0].index[k], taps[1].index[j], taps[2].index[i]))
                    return false;
    }
    return true;
}

static const char *sample_at(const struct sampled *of, int64_t z, int64_t y, int64_t x)
{
    return ts_sampled_row(of, z, y) + (size_t)x * of->bytes;
}

/* Returns the linear mean of the valid samples around voxel x. */
static float mean_of_valid(const struct masked_row *row, int64_t x)
{
    const struct sampled *of = row->of;
    struct taps taps[3];
    float values[TAPS_CORNERS];
    unsigned valid = 0;
    for (int d = 0; d < 3; d++)
        find_taps(row, d, x, INTERPOLATION_LINEAR, &taps[d]);
    for (int i = 0; i < TAPS_CORNERS; i++) {
        const int64_t z = taps[0].index[i & 1], y = taps[1].index[i >> 1 & 1], column = taps[2].index[i >> 2];
        valid |= (unsigned)is_valid(of, z, y, column) << i;
        ts_load_f32(&values[i], sample_at(of, z, y, column), of->in->dtype, 1);
    }
    return ts_taps_mean(taps, values, valid);
}

/* Returns the column of the input that is nearest to voxel x. */
static int64_t nearest_column(const struct masked_row *row, int64_t x)
{
    struct taps taps;
    if (row->columns)
        return row->columns[x];
    find_taps(row, 2, x, INTERPOLATION_NEAREST, &taps);
    return taps.index[0];
}

/* Mends voxels [first, end) of a straight row where all samples nearest to them are invalid. Returns false where that
 * is not so. */
static bool mend_hidden(const struct masked_row *row, int64_t first, int64_t end, char *out)
{
    const struct sampled *of = row->of;
    const int64_t line = row->nearest[1] * of->sampling->n_in[2], a = nearest_column(row, first),
                  b = nearest_column(row, end - 1);
    const uint64_t *valid = ts_slice_valid(of->in, row->nearest[0] - of->in->z_first);
    const char *samples = sample_at(of, row->nearest[0], row->nearest[1], 0);
    if (which_of(valid, line + (a < b ? a : b), line + (a < b ? b : a) + 1) != 0)
        return false;
    if (of->taps > 1 && row->columns)
        ts_sampled_gather(samples, row->columns + first, out + (size_t)first * of->bytes, end - first, of->bytes);
    for (int64_t x = first; of->taps > 1 && !row->columns && x < end; x++)
        memcpy(out + (size_t)x * of->bytes, samples + (size_t)nearest_column(row, x) * of->bytes, of->bytes);
    return true;
}

static void set_bits(uint64_t *valid, size_t first, size_t n)
{
    for (size_t i = first; i < first + n;) {
        const size_t in_word = WORD - i % WORD < first + n - i ? WORD - i % WORD : first + n - i;
        valid[i / WORD] |= UINT64_MAX >> (WORD - in_word) << i % WORD;
        i += in_word;
    }
}

/* Mends voxel x. Returns whether it is valid. */
static bool mend(struct masked_row *row, int64_t x, char *out)
{
    const struct sampled *of = row->of;
    for (int d = 0; d < 2 && !row->straight; d++) {
        struct taps taps;
        find_taps(row, d, x, INTERPOLATION_NEAREST, &taps);
        row->nearest[d] = taps.index[0];
    }
    row->nearest[2] = nearest_column(row, x);
    if (!is_valid(of, row->nearest[0], row->nearest[1], row->nearest[2])) {
        if (of->taps > 1)
            memcpy(out, sample_at(of, row->nearest[0], row->nearest[1], row->nearest[2]), of->bytes);
        return false;
    }
    if (of->taps > 1 && !is_complete(row, x)) {
        const float mean = mean_of_valid(row, x);
        ts_sampled_store(&mean, out, of->out->dtype, 1);
    }
    return true;
}

/* Sets the bits of voxels [first, end) of a straight row of nearest samples, which have been copied from `columns`. */
static void copy_bits(const uint64_t *joined, const int32_t *columns, int64_t first, int64_t end, uint64_t *valid,
                      size_t before)
{
    for (int64_t x = first; x < end;) {
        const size_t i = before + (size_t)x, place = i % WORD;
        const int64_t n = end - x < (int64_t)(WORD - place) ? end - x : (int64_t)(WORD - place);
        const int64_t a = columns[x], b = columns[x + n - 1];
        const int which = which_of(joined, a < b ? a : b, (a < b ? b : a) + 1);
        uint64_t bits = which == 1 ? UINT64_MAX >> (WORD - n) : 0;
        for (int64_t k = 0; which < 0 && k < n; k++)
            bits |= (joined[columns[x + k] / WORD] >> columns[x + k] % WORD & 1) << k;
        valid[i / WORD] |= bits << place;
        x += n;
    }
}

/* Mends voxels [first, end), and sets the bits of those that are valid where `valid` has room for them; `before`: the
 * voxels of the slice before the row. A straight row is halved until samples are all valid or all invalid, or few are
 * left, because most of a block at an edge of the mask is one or the other. */
static void mend_part(struct masked_row *row, int64_t first, int64_t end, char *out, uint64_t *valid, size_t before)
{
    enum { FEW = 8 };
    if (row->straight && is_whole(row, first, end)) {
        if (valid)
            set_bits(valid, before + (size_t)first, (size_t)(end - first));
        return;
    }
    if (row->straight && mend_hidden(row, first, end, out))
        return;
    if (row->straight && end - first > FEW) {
        const int64_t middle = first + (end - first) / 2;
        mend_part(row, first, middle, out, valid, before);
        mend_part(row, middle, end, out, valid, before);
        return;
    }
    for (int64_t x = first; x < end; x++)
        if (mend(row, x, out + (size_t)x * row->of->bytes) && valid)
            set_bits(valid, before + (size_t)x, 1);
}

void ts_sampled_mend_row(const struct sampled *of, int64_t z, int64_t y, const int32_t *columns, uint64_t *joined,
                         char *out, uint64_t *valid)
{
    struct masked_row row = {.of = of, .joined = joined, .columns = columns};
    const size_t before = (size_t)(y * of->sampling->n_out[2]);
    int64_t first, end;
    row.line = ts_sampled_place(of, z, y, &first, &end);
    row.straight = row.line.step[0] == 0 && row.line.step[1] == 0;
    if (row.straight && first < end)
        join_bits(&row);
    if (columns && row.straight && of->taps == 1) {
        if (valid && first < end)
            copy_bits(joined, columns, first, end, valid, before);
        return;
    }
    for (int64_t block = first; block < end; block += WORD)
        mend_part(&row, block, block + WORD < end ? block + WORD : end, out, valid, before);
}
