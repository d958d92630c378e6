/* SPDX-License-Identifier: Apache-2.0
 *
 * Everyone's numbers beside counts, means and moments worked out on the CPU in integers or in
 * double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/peers/comparison.h"

/* ---- counts ---------------------------------------------------------------------------------- */

/* Counts each slice of the block, bin by bin. NULL where memory is out. */
static uint64_t *count_block(const struct comparison *it)
{
    const size_t bins = (size_t)it->work.bins, slice = ts_slice_count(&it->block),
                 n = ts_image_count(&it->block);
    uint64_t *counts = calloc(COMPARISON_BLOCK * bins, sizeof *counts);
    for (size_t i = 0; counts && i < n; i++) {
        const uint64_t value = it->which.dtype == TS_U8 ? ((uint8_t *)it->block.data)[i]
                                                        : ((uint16_t *)it->block.data)[i];
        if (value < (uint64_t)it->work.high)
            counts[i / slice * bins + value * bins / (uint64_t)it->work.high]++;
    }
    return counts;
}

static void check_counts(struct comparison *it, const uint32_t *const found[CONTENDERS])
{
    const size_t bins = (size_t)it->work.bins, slices = (size_t)it->work.slices;
    const uint64_t copies = (uint64_t)(it->which.nz / COMPARISON_BLOCK);
    uint64_t *expected = count_block(it);
    const struct stage_table *tables;
    const bool has_table = ts_stage_reduced_tables(it->driver->reduced, &tables) > 0 &&
                           ts_image_count(&tables[0].image) == slices * bins;
    for (size_t bin = 0; expected && slices == 1 && bin < bins; bin++) {
        for (size_t z = 1; z < COMPARISON_BLOCK; z++)
            expected[bin] += expected[z * bins + bin];
        expected[bin] *= copies;
    }
    for (int contender = 0; contender < CONTENDERS; contender++) {
        bool same = expected && (contender > 0 || has_table);
        for (size_t i = 0; same && i < slices * bins; i++)
            same = expected[i % (COMPARISON_BLOCK * bins)] ==
                   (contender == 0 ? ((const uint64_t *)tables[0].image.data)[i]
                                   : (uint64_t)found[contender][i]);
        it->verdicts[contender] = same ? "exact" : "WRONG";
    }
    free(expected);
}

/* ---- means ----------------------------------------------------------------------------------- */

static double value_at(const void *data, enum ts_dtype dtype, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(dtype), dtype, 1);
    return value;
}

/* The mean of a window of the first slice, its border repeated, in double. */
static double mean_at(const struct comparison *it, int y, int x)
{
    const int radius = it->work.radius, nx = (int)it->which.nx, ny = (int)it->which.ny;
    double sum = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            const int yy = y + dy < 0 ? 0 : y + dy >= ny ? ny - 1 : y + dy;
            const int xx = x + dx < 0 ? 0 : x + dx >= nx ? nx - 1 : x + dx;
            sum += value_at(it->block.data, it->which.dtype, (size_t)yy * (size_t)nx + (size_t)xx);
        }
    return sum / (double)((2 * radius + 1) * (2 * radius + 1));
}

/* Some pixels of the first slice, far enough from its end: to the peers the next slice is the
 * image's next rows. */
static void check_means(struct comparison *it, const void *const images[CONTENDERS])
{
    const int rows = (int)it->which.ny - it->work.radius, step = rows > 7 ? rows / 7 : 1;
    double largest = 0;
    memset(it->differences, 0, sizeof it->differences);
    for (int y = 0; y < rows; y += step)
        for (int x = 0; x < it->which.nx; x += 37) {
            const double expected = mean_at(it, y, x);
            largest = fmax(largest, fabs(expected));
            for (int i = 0; i < CONTENDERS; i++) {
                const size_t at = (size_t)y * (size_t)it->which.nx + (size_t)x;
                const double off = i == 0 || it->peers[i - 1]
                                       ? fabs(value_at(images[i], it->which.dtype, at) - expected)
                                       : 0;
                it->differences[i] = isnan(off) ? (double)INFINITY : fmax(it->differences[i], off);
            }
        }
    for (int i = 0; i < CONTENDERS && !ts_dtype_is_integer(it->which.dtype); i++)
        it->differences[i] /= largest;
}

/* ---- moments --------------------------------------------------------------------------------- */

static double *table_of(const struct comparison *it, const char *name)
{
    const struct stage_table *tables;
    const int n = ts_stage_reduced_tables(it->driver->reduced, &tables);
    for (int i = 0; i < n; i++)
        if (!strcmp(tables[i].name, name) &&
            ts_image_count(&tables[i].image) == (size_t)it->work.slices)
            return tables[i].image.data;
    return NULL;
}

/* Lowest, highest, sum and variance of values [first, first + n) of the block. */
static void block_moments(const struct comparison *it, size_t first, size_t n, double numbers[4])
{
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (size_t i = first; i < first + n; i++) {
        const double value = value_at(it->block.data, it->which.dtype, i);
        low = fmin(low, value);
        high = fmax(high, value);
        sum += value;
    }
    for (size_t i = first; i < first + n; i++) {
        const double off = value_at(it->block.data, it->which.dtype, i) - sum / (double)n;
        squares += off * off;
    }
    memcpy(numbers, (double[]){low, high, sum, squares / (double)n}, 4 * sizeof *numbers);
}

static double off_by(const double found[4], const double expected[4])
{
    double largest = 0;
    for (int i = 0; i < 4; i++) {
        const double off = fabs(found[i] - expected[i]) / fmax(fabs(expected[i]), 1e-300);
        largest = !(off <= largest) ? (isnan(off) ? (double)INFINITY : off) : largest;
    }
    return largest;
}

/* The largest of all relative errors of lowest, highest, sum and variance; the volume repeats the
 * block. */
static void check_moments(struct comparison *it, const struct peer_moments *const found[CONTENDERS])
{
    static const char *const names[4] = {"min", "max", "sum", "variance"};
    const size_t slice = ts_slice_count(&it->block), all = ts_image_count(&it->block);
    const int64_t blocks = it->which.nz / COMPARISON_BLOCK;
    const double copies = it->work.slices == 1 ? (double)blocks : 1;
    const double n = copies * (double)(it->work.slices == 1 ? all : slice);
    const double *ours[4];
    memset(it->differences, 0, sizeof it->differences);
    for (int i = 0; i < 4; i++)
        if (!(ours[i] = table_of(it, names[i])))
            it->differences[0] = INFINITY;
    for (int z = 0; z < it->work.slices; z++) {
        double expected[4];
        const size_t first = it->work.slices == 1 ? 0 : (size_t)(z % COMPARISON_BLOCK) * slice;
        block_moments(it, first, it->work.slices == 1 ? all : slice, expected);
        expected[2] *= copies;
        for (int i = 0; i < CONTENDERS; i++) {
            double numbers[4] = {0};
            for (int k = 0; i == 0 && k < 4; k++)
                numbers[k] = ours[k] ? ours[k][z] : (double)NAN;
            if (i > 0 && it->peers[i - 1]) {
                const struct peer_moments *all_of = &found[i][z];
                const double mean = all_of->sum / n;
                memcpy(numbers,
                       (double[]){all_of->low, all_of->high, all_of->sum,
                                  all_of->squares / n - mean * mean},
                       sizeof numbers);
            }
            if (i == 0 || it->peers[i - 1])
                it->differences[i] = fmax(it->differences[i], off_by(numbers, expected));
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

enum ts_status ts_comparison_check(struct peers_bench *bench, struct comparison *it)
{
    const size_t slice = ts_slice_bytes(&it->block),
                 bytes = it->work.task == PEER_BOX ? slice : it->output_bytes;
    void *results[CONTENDERS] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < CONTENDERS; i++) {
        results[i] = calloc(1, bytes);
        status = results[i] ? ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_HOST, results[i],
                                           it->outputs[i], bytes)
                            : ts_diag_no_memory(bench->diag, bytes);
    }
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status == TS_OK && it->work.task == PEER_HISTOGRAM)
        check_counts(it, (const uint32_t *const *)results);
    else if (status == TS_OK && it->work.task == PEER_STATISTICS)
        check_moments(it, (const struct peer_moments *const *)results);
    else if (status == TS_OK)
        check_means(it, (const void *const *)results);
    for (int i = 0; i < CONTENDERS; i++)
        free(results[i]);
    return status;
}
