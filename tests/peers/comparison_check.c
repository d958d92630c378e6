/* SPDX-License-Identifier: Apache-2.0
 *
 * Everyone's numbers beside counts and means worked out on the CPU in integers or in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/peers/comparison.h"

/* ---- counts ------------------------------------------------------------------------------------ */

/* Of each slice of the block, bin by bin. NULL where memory is out. */
static uint64_t *count_block(const struct comparison *it)
{
    const size_t bins = (size_t)it->work.bins, slice = ts_slice_count(&it->block), n = ts_image_count(&it->block);
    uint64_t *counts = calloc(COMPARISON_BLOCK * bins, sizeof *counts);
    for (size_t i = 0; counts && i < n; i++) {
        const uint64_t value =
            it->which.dtype == TS_U8 ? ((uint8_t *)it->block.data)[i] : ((uint16_t *)it->block.data)[i];
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
    const bool has_table = ts_stage_reduced_tables(ts_cuda_stage_reduced(it->stage), &tables) > 0 &&
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
                   (contender == 0 ? ((const uint64_t *)tables[0].image.data)[i] : (uint64_t)found[contender][i]);
        it->verdicts[contender] = same ? "exact" : "WRONG";
    }
    free(expected);
}

/* ---- means ------------------------------------------------------------------------------------- */

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

/* Some pixels of the first slice, far enough from its end: to the peers the next slice is the image's next rows. */
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
                const double off =
                    i == 0 || it->peers[i - 1] ? fabs(value_at(images[i], it->which.dtype, at) - expected) : 0;
                it->differences[i] = isnan(off) ? (double)INFINITY : fmax(it->differences[i], off);
            }
        }
    for (int i = 0; i < CONTENDERS && !ts_dtype_is_integer(it->which.dtype); i++)
        it->differences[i] /= largest;
}

/* ---- all --------------------------------------------------------------------------------------- */

enum ts_status ts_comparison_check(struct peers_bench *bench, struct comparison *it)
{
    const size_t slice = ts_slice_bytes(&it->block), bytes = it->work.bins ? it->output_bytes : slice;
    void *results[CONTENDERS] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < CONTENDERS; i++) {
        results[i] = calloc(1, bytes);
        status = results[i]
                     ? ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_HOST, results[i], it->outputs[i], bytes)
                     : ts_diag_no_memory(bench->diag, bytes);
    }
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status == TS_OK && it->work.bins)
        check_counts(it, (const uint32_t *const *)results);
    else if (status == TS_OK)
        check_means(it, (const void *const *)results);
    for (int i = 0; i < CONTENDERS; i++)
        free(results[i]);
    return status;
}
