/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_blocks.h"

#include <math.h>

enum { GROUPS = 16, STRIPS = 64, LEAST_STRIP = 2 };

struct view_blocks ts_view_blocks(const float *p, int64_t n_views, int64_t n, int64_t least_values)
{
    struct view_blocks blocks = {.p = p, .n_views = n_views, .n = n};
    blocks.strip = n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
    const int64_t least_views = least_values > blocks.strip
                                    ? (least_values + blocks.strip - 1) / blocks.strip
                                    : 1,
                  most = n_views / least_views < GROUPS ? n_views / least_views : GROUPS;
    blocks.groups = most > 1 ? most : 1;
    return blocks;
}

double ts_view_block_mean(const struct view_blocks *blocks, int64_t group, int64_t first)
{
    const int64_t view = group * blocks->n_views / blocks->groups,
                  end = (group + 1) * blocks->n_views / blocks->groups;
    double sum = 0;
    for (int64_t v = view; v < end; v++)
        for (int64_t d = first; d < first + blocks->strip; d++)
            sum += (double)blocks->p[v * blocks->n + d];
    return sum / (double)((end - view) * blocks->strip);
}

void ts_view_blocks_range(const struct view_blocks *blocks, int64_t first, double *least,
                          double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (int64_t group = 0; group < blocks->groups; group++) {
        const double mean = ts_view_block_mean(blocks, group, first);
        *least = fmin(*least, mean);
        *most = fmax(*most, mean);
    }
}

bool ts_view_end_is_cut_off(double share)
{
    return share > 0.1;
}
