/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/air.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/scan/minus_log.h"
#include "tests/files/npy.h"
#include "tests/stages/scan/air_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"
#include "tests/support/transmission_check.h"

TestSuite(air);

/* One slice, two and all at once, on several threads: the same bytes, and those of the
 * definition. */
static void check(const struct ts_image *in, int64_t detectors, double dark)
{
    static const struct ts_image *const references[STAGE_REFERENCES] = {NULL};
    const size_t n = ts_image_count(in);
    double *values = malloc(n * sizeof *values), *scale = malloc(n * sizeof *scale);
    uint64_t *blocked = malloc((size_t)in->axes[0].n * sizeof *blocked);
    char assignments[64], what[128];
    snprintf(assignments, sizeof assignments, "detectors=%lld dark=%g", (long long)detectors, dark);
    snprintf(what, sizeof what, "%s %s %lld x %lld x %lld", assignments, ts_dtype_name(in->dtype),
             (long long)in->axes[0].n, (long long)in->axes[1].n, (long long)in->axes[2].n);
    ts_air_oracle_lines(in, detectors, dark, values, scale, blocked);
    ts_test_transmission(&air_stage, assignments, in, references,
                         &(struct transmission_expected){
                             values, scale, air_stage.tolerance.relative, "blocked", blocked},
                         what);
    free(values);
    free(scale);
    free(blocked);
}

/* Random values, of which about half of the rows of signed types have no beam. */
TEST_ON_BOTH(air, agrees_with_the_definition)
{
    static const int64_t shapes[][4] = {{1, 1, 3, 1},
                                        {2, 5, 37, 18},
                                        {3, 41, 4, 1},
                                        {5, 7, 11, 2},
                                        {3, 67, 131, 9},
                                        {1, 130, 259, 40},
                                        {2, 3, 5000, 1} /* wider than a block and a chunk */,
                                        {2, 3, 2600, 1200}};
    static const double darks[] = {0, 37.25, -512};
    size_t compared = 0;
    for (size_t i = 0; i < 8 * 7 * 3; i++) {
        const int64_t *shape = shapes[i % 8];
        struct ts_image in =
            ts_test_counts(shape[0], shape[1], shape[2], (enum ts_dtype)(i / 8 % 7),
                           i % 5 == 4 ? VALUES_EXTREME : VALUES_RANDOM, 17 * i);
        if (!ts_test_few() || i % 8 == 0) {
            check(&in, shape[3], darks[i / 56]);
            compared++;
        }
        free(in.data);
    }
    cr_assert_gt(compared, 0);
}

/* More rows than are in work at once. */
TEST_ON_BOTH(air, of_many_views)
{
    struct ts_image in = ts_test_counts(2, 20000, 5, TS_U16, VALUES_RANDOM, 5);
    check(&in, 2, 0);
    free(in.data);
}

/* A beam that fades along the views and slopes along the detectors, before an object: its
 * transmission comes back. */
TEST_ON_BOTH(air, takes_the_beam_out)
{
    enum { VIEWS = 50, DETECTORS = 83, AIR = 12, DARK = 100 };
    struct ts_image in = ts_test_counts(2, VIEWS, DETECTORS, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run;
    float truth[DETECTORS];
    for (int d = 0; d < DETECTORS; d++)
        truth[d] = d < AIR || d >= DETECTORS - AIR
                       ? 1
                       : expf(-2 * sinf((float)(d - AIR) / (DETECTORS - 2 * AIR) * 3));
    for (int64_t i = 0; i < 2 * VIEWS * DETECTORS; i++) {
        const int64_t d = i % DETECTORS, row = i / DETECTORS;
        const double beam = (20000 - 50 * (double)row) * (1 + 0.004 * (double)d);
        ((float *)in.data)[i] = (float)(DARK + beam * (double)truth[d]);
    }
    cr_assert_eq(ts_test_run(&run, &air_stage, "detectors=12 dark=100", &in, NULL, 1, 2), TS_OK);
    for (int64_t i = 0; i < 2 * VIEWS * DETECTORS; i++)
        cr_assert_float_eq(((float *)run.out.data)[i], truth[i % DETECTORS], 1e-6, "element %lld",
                           (long long)i);
    cr_assert_eq(ts_test_table_at(&run, "blocked", 0), 0);
    ts_test_run_clear(&run);
    free(in.data);
}

/* A shutter that closed, a NaN in the air, and one beside it; minus_log does not let them pass. */
TEST_ON_BOTH(air, a_view_without_a_beam_is_nan)
{
    struct ts_image in = ts_test_counts(2, 4, 9, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run, log;
    for (int i = 0; i < 2 * 4 * 9; i++)
        ((float *)in.data)[i] = 50;
    float *second = (float *)in.data + 36;
    memset(second + 9, 0, 9 * sizeof *second);
    second[2 * 9 + 8] = NAN;
    second[3 * 9 + 4] = NAN;
    cr_assert_eq(ts_test_run(&run, &air_stage, "detectors=2", &in, NULL, 0, 2), TS_OK);
    const float *out = (float *)run.out.data + 36;
    for (int i = 0; i < 36; i++)
        cr_assert((i >= 9 && i < 27) || i == 31 ? isnan(out[i]) : out[i] == 1, "element %d is %g",
                  i, (double)out[i]);
    cr_assert_eq(ts_test_table_at(&run, "blocked", 0), 0);
    cr_assert_eq(ts_test_table_at(&run, "blocked", 1), 2);
    cr_assert_eq(ts_test_run(&log, &minus_log_stage, "", &run.out, NULL, 0, 1), TS_BAD_INPUT);
    cr_assert_str_eq(ts_diag_get(log.diag, 0)->code, "transmission-nan");
    ts_test_run_clear(&log);
    ts_test_run_clear(&run);
    free(in.data);
}

/* The result of TomoPy's normalize_bg with air=1 is multiplied by a beam that is a line in every
 * row, and comes back. */
TEST_ON_BOTH(air, agrees_with_tomopy)
{
    enum { VIEWS = 16, SLICES = 8, SIDE = 46, VALUES = VIEWS * SLICES * SIDE };
    static float expected[VIEWS][SLICES][SIDE];
    struct stage_run run;
    uint64_t seed = 9;
    SKIP_WITHOUT_DATA("air/agrees_with_tomopy");
    ts_test_npy("normalize_bg.npy", expected, sizeof expected);
    struct ts_image in = ts_test_counts(SLICES, VIEWS, SIDE, TS_F32, VALUES_CONSTANT, 1);
    for (int row = 0; row < VIEWS * SLICES; row++) {
        const double left = 100 + 900 * ts_random_unit(&seed),
                     right = 100 + 900 * ts_random_unit(&seed);
        for (int d = 0; d < SIDE; d++)
            ((float *)in.data)[row * SIDE + d] =
                (float)((left + (right - left) * d / (SIDE - 1)) *
                        (double)expected[row % VIEWS][row / VIEWS][d]);
    }
    cr_assert_eq(ts_test_run(&run, &air_stage, "detectors=1", &in, NULL, 0, 2), TS_OK);
    for (int i = 0; i < VALUES; i++)
        cr_assert_float_eq(((float *)run.out.data)[i],
                           expected[i / SIDE % VIEWS][i / SIDE / VIEWS][i % SIDE], 1e-6);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(air, says_what_it_takes)
{
    struct ts_image in = ts_test_counts(2, 3, 7, TS_U16, VALUES_RANDOM, 1), line = in,
                    volume = ts_test_image(2, 3, 7, TS_U16, 0, 1);
    struct stage_run run;
    line.quantity = TS_LINE_INTEGRAL;
    ts_test_refuses(&air_stage, "detectors=4", &in, NULL, "air-too-wide",
                    "at most 3 were expected");
    ts_test_refuses(&air_stage, "detectors=1", &line, NULL, "stage-quantity",
                    "air goes before minus_log");
    ts_test_refuses(&air_stage, "detectors=1", &volume, NULL, "stage-axes", "sinograms");
    for (int quantity = TS_COUNTS; quantity <= TS_INTENSITY; quantity++) {
        if (quantity != TS_COUNTS && quantity != TS_TRANSMISSION && quantity != TS_INTENSITY)
            continue;
        in.quantity = (enum ts_quantity)quantity;
        cr_assert_eq(ts_test_run(&run, &air_stage, "detectors=3", &in, NULL, 0, 1), TS_OK);
        ts_test_run_clear(&run);
    }
    free(in.data);
    free(volume.data);
}
