/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/transmission_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ts_image ts_test_counts(int64_t nz, int64_t n_views, int64_t n_detectors,
                               enum ts_dtype dtype, enum stage_values values, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, dtype, values, seed);
    image.axes[1].kind = TS_AXIS_VIEW;
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.quantity = TS_COUNTS;
    return image;
}

static void compare(const struct transmission_expected *expected, const struct stage_run *run,
                    const char *what)
{
    const double *const values = expected->values;
    for (size_t i = 0; i < ts_image_count(&run->out); i++) {
        const double is = (double)((const float *)run->out.data)[i];
        const bool same =
            (isnan(values[i]) && isnan(is)) || is == values[i]; /* infinite ones as well */
        if (!same && !(fabs(is - values[i]) <= expected->relative * expected->scale[i]))
            cr_assert_fail("%s: element %zu is %.9g, expected %.9g", what, i, is, values[i]);
    }
    for (int64_t z = 0; z < run->out.axes[0].n; z++)
        cr_assert_eq(ts_test_table_at(run, expected->table, z), (double)expected->counts[z],
                     "%s: %s of slice %lld", what, expected->table, (long long)z);
    cr_assert_eq(run->out.quantity, TS_TRANSMISSION);
}

void ts_test_transmission(const struct stage *stage, const char *assignments,
                          const struct ts_image *in,
                          const struct ts_image *const references[STAGE_REFERENCES],
                          const struct transmission_expected *expected, const char *what)
{
    static const struct {
        int64_t slab;
        int threads;
    } ways[] = {{0, 1}, {1, 3}, {2, 2}};
    unsigned char *first = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run_references(&run, stage, assignments, in, references, ways[i].slab,
                                            ways[i].threads),
                     TS_OK, "%s", what);
        const size_t bytes = ts_image_bytes(&run.out);
        if (!first) {
            compare(expected, &run, what);
            first = malloc(bytes);
            memcpy(first, run.out.data, bytes);
        }
        cr_assert(!memcmp(first, run.out.data, bytes), "%s: other bytes with slabs of %lld", what,
                  (long long)ways[i].slab);
        ts_test_run_clear(&run);
    }
    free(first);
}
