/* SPDX-License-Identifier: Apache-2.0
 *
 * Every view is in one group, whatever the numbers of views and detector pixels, and means are
 * those of their blocks.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_blocks.h"

Test(view_blocks, means_are_those_of_the_blocks)
{
    static const struct {
        int64_t n_views, n, least_values, strip, groups;
    } rows[] = {{1, 2, 1, 2, 1},        {5, 64, 1, 2, 5},      {16, 640, 1, 10, 16},
                {17, 641, 1, 10, 16},   {90, 64, 64, 2, 2},    {31, 64, 64, 2, 1},
                {1000, 129, 64, 2, 16}, {100, 640, 64, 10, 14}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t n_views = rows[i].n_views, n = rows[i].n;
        float *p = malloc((size_t)(n_views * n) * sizeof *p);
        for (int64_t k = 0; k < n_views * n; k++)
            p[k] = (float)(k / n); /* the view */
        const struct view_blocks blocks = ts_view_blocks(p, n_views, n, rows[i].least_values);
        cr_expect_eq(blocks.strip, rows[i].strip, "row %zu: %lld", i, (long long)blocks.strip);
        cr_expect_eq(blocks.groups, rows[i].groups, "row %zu: %lld", i, (long long)blocks.groups);
        double least, most;
        int64_t next =
            0; /* the first view of the group, if all before it are in the groups before */
        for (int64_t group = 0; group < blocks.groups; group++) {
            const double mean = ts_view_block_mean(&blocks, group, n - blocks.strip);
            const int64_t last = (int64_t)rint(2 * mean) - next;
            cr_expect_float_eq(mean, 0.5 * (double)(next + last), 1e-9, "row %zu", i);
            cr_expect(last >= next, "row %zu", i);
            next = last + 1;
        }
        cr_expect_eq(next, n_views, "row %zu", i);
        ts_view_blocks_range(&blocks, 0, &least, &most);
        cr_expect_eq(least, ts_view_block_mean(&blocks, 0, 0));
        cr_expect_eq(most, ts_view_block_mean(&blocks, blocks.groups - 1, 0));
        free(p);
    }
}
