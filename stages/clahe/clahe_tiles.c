/* SPDX-License-Identifier: Apache-2.0
 *
 * What both rules of clahe do with a tile and with the scratch.
 */
#include <omp.h>

#include "stages/clahe/clahe_rules.h"
#include "stages/engine/border.h"

void ts_clahe_count_tile(const struct clahe_run *run, const uint16_t *slice, int64_t tile, int64_t *counts)
{
    const int64_t y_first = tile / run->tiles_x * run->tile_height, x_first = tile % run->tiles_x * run->tile_width;
    const int64_t x_end = x_first + run->tile_width, inside = x_end < run->nx ? x_end : run->nx;
    for (int64_t y = y_first; y < y_first + run->tile_height; y++) {
        const uint16_t *row = slice + ts_border_index(y, run->ny, BORDER_MIRROR) * run->nx;
        for (int64_t x = x_first; x < inside; x++)
            counts[row[x]]++;
        for (int64_t x = x_first > inside ? x_first : inside; x < x_end; x++)
            counts[row[ts_border_index(x, run->nx, BORDER_MIRROR)]]++;
    }
}

void *ts_clahe_thread_part(const struct clahe_run *run, char *scratch)
{
    return scratch + run->threads_part + (size_t)omp_get_thread_num() * run->thread_bytes;
}
