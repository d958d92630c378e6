/* SPDX-License-Identifier: Apache-2.0
 *
 * Every stage at the ends of the range of floats. Most stages are homogeneous: input times s gives
 * output times s, or the same output. Which are so is found with factors near 1, and must then
 * hold, to a few roundings, from the smallest normal floats to the largest. Where it does not, the
 * output must hold infinite values or NaN, of which a run warns
 * (tests/pipeline/run/test_not_finite.c), or the stage must have refused the input. So no number is
 * wrong in silence. The tables are held to the same, with squares too.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/stage.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

enum { NZ = 2, NY = 12, NX = 15, MOST_DEGREE = 2 };

/* A number in values, such as a weight, is multiplied as the image is; it limits the factors to
 * those that the parameter takes. Stages without a case have references, random numbers, or no
 * arithmetic; `center` has tests of its own. */
static const struct {
    const char *stage, *assignments; /* with $ where the number goes */
    double number;
    int least, most; /* exponents of the factors; 0, 0: all */
} cases[] = {
    {"tv", "iterations=12 weight=$", 0.3, -98, 99},
    {"tv", "iterations=12 method=chambolle weight=$", 0.3, -98, 99},
    {"tv", "iterations=25 dimensions=3d stop=distance weight=$ tolerance=$", 0.03, -95, 99},
    {"nlm", "h=$ sigma=$", 0.2, -127, 49},
    {"nlm", "noise=rician h=$ sigma=$", 0.2, -127, 49},
    {"bilateral", "sigma_color=$", 0.3, -60, 60},
    {"outliers", "threshold=$", 0.5, -60, 60},
    {"box", "radius=1"},
    {"box", "radius=2 dimensions=3d"},
    {"gaussian", "sigma=1"},
    {"gaussian", "sigma=2 dimensions=3d"},
    {"convolve", "kernel=gaussian-5x5"},
    {"convolve", "kernel=sobel-x"},
    {"median", "radius=1"},
    {"resample", "spacing=0.7"},
    {"resample", "spacing=0.7 interpolation=cubic"},
    {"rescale", ""},
    {"rescale", "method=z-score"},
    {"rescale", "method=percentiles scope=slice"},
    {"invert", "limits=data"},
    {"threshold", "method=otsu"},
    {"threshold", "method=percentile"},
    {"equalize", ""},
    {"clahe", ""},
    {"statistics", ""},
    {"statistics", "noise=both percentiles=25,50"},
    {"histogram", "bins=7"},
    {"radon", "views=9"},
    {"flip", ""},
    {"pad", "left=3 right=2 border=reflect"},
    {"circle", ""},
    {"air", "detectors=2"},
    {"ring", "method=sorting size=3"},
    {"ring", "method=fourier-wavelet"},
    {"filter", ""},
    {"backproject", ""},
    {"backproject", "model=joseph"},
    {"fbp", ""},
    {"fbp", "filter=hann"},
    {"fourier", ""},
    {"sirt", "iterations=4"},
    {"cgls", "iterations=4"},
    {"nlm", ""},
    {"nlm", "scope=slice estimate=immerkaer"},
};

static struct ts_image image_of(const struct stage *stage)
{
    struct ts_image in = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CONSTANT, 1);
    uint64_t state = 7;
    for (size_t i = 0; i < ts_image_count(&in); i++)
        ((float *)in.data)[i] = (float)(0.25 + ts_random_unit(&state));
    if (!(stage->axes & AXES_VOLUME))
        ts_test_sinogram(&in);
    in.unit = "1";
    for (int quantity = 0;
         !(stage->quantities & TS_QUANTITY_BIT(in.quantity)) && quantity <= TS_INTENSITY;
         quantity++)
        in.quantity = (enum ts_quantity)quantity;
    return in;
}

/* Runs the stage on the image times 2^exponent. */
static enum ts_status run_scaled(struct stage_run *run, size_t at, const struct ts_image *in,
                                 int exponent)
{
    struct ts_image scaled = *in;
    char assignments[200];
    float *values = malloc(ts_image_bytes(in));
    for (size_t i = 0; i < ts_image_count(in); i++)
        values[i] = ldexpf(((const float *)in->data)[i], exponent);
    scaled.data = values;
    size_t used = 0;
    for (const char *from = cases[at].assignments; *from; from++)
        used += (size_t)(*from == '$' ? snprintf(assignments + used, sizeof assignments - used,
                                                 "%.17g", ldexp(cases[at].number, exponent))
                                      : snprintf(assignments + used, sizeof assignments - used,
                                                 "%c", *from));
    assignments[used] = '\0';
    const enum ts_status status =
        ts_test_run(run, ts_stage_find(cases[at].stage), assignments, &scaled, NULL, 0, 1);
    free(values);
    return status;
}

/* The values of an output or of a table, as doubles. */
struct values {
    double *at;
    size_t n;
};

static struct values values_of(const struct ts_image *image)
{
    struct values values = {.n = ts_image_count(image)};
    values.at = calloc(values.n + 1, sizeof *values.at);
    for (size_t i = 0; i < values.n; i++)
        if (image->dtype == TS_F64)
            values.at[i] = ((const double *)image->data)[i];
        else if (image->dtype == TS_F32)
            values.at[i] = (double)((const float *)image->data)[i];
    return values;
}

/* Returns how far `found` is from `base` times 2^(degree * exponent), as a share of the largest
 * value of `base`. NaN: the output holds infinite values or NaN that `base` has not, which a run
 * reports. Values that become denormal lose bits. */
static double distance(const struct values *found, const struct values *base, int degree,
                       int exponent)
{
    double largest = 0, apart = 0;
    for (size_t i = 0; i < base->n; i++)
        largest = isfinite(base->at[i]) ? fmax(largest, fabs(base->at[i])) : largest;
    for (size_t i = 0; i < base->n; i++) {
        const double value = ldexp(found->at[i], -degree * exponent);
        if (isfinite(base->at[i]) && !isfinite(value))
            return NAN;
        if (isfinite(base->at[i]))
            apart = fmax(apart, fabs(value - base->at[i]));
    }
    return largest > 0 ? apart / largest : apart;
}

/* Which degree the values have; -1: none. */
static int degree_of(const struct values *base, const struct values *more)
{
    for (int degree = 0; degree <= MOST_DEGREE; degree++)
        if (distance(more, base, degree, 6) <= 1e-6)
            return degree;
    return -1;
}

static size_t compare_at(size_t at, const struct ts_image *in, const struct stage_run *base,
                         const struct stage_run *more, int exponent)
{
    const struct stage *stage = ts_stage_find(cases[at].stage);
    struct stage_run run;
    size_t compared = 0;
    if (run_scaled(&run, at, in, exponent) != TS_OK) {
        ts_test_run_clear(&run);
        return 1; /* it is refused, and says so */
    }
    const struct stage_table *tables[3];
    int n = 0;
    if (base->reduced)
        n = ts_stage_reduced_tables(base->reduced, &tables[0]);
    if (base->reduced && ts_stage_reduced_tables(more->reduced, &tables[1]) == n)
        cr_assert_eq(ts_stage_reduced_tables(run.reduced, &tables[2]), n);
    for (int i = stage->map ? -1 : 0; i < n; i++) {
        struct values a = values_of(i < 0 ? &base->out : &tables[0][i].image),
                      b = values_of(i < 0 ? &more->out : &tables[1][i].image),
                      c = values_of(i < 0 ? &run.out : &tables[2][i].image);
        const int degree = degree_of(&a, &b);
        const double apart = degree < 0 ? 0 : distance(&c, &a, degree, exponent);
        compared += degree >= 0;
        cr_expect(isnan(apart) || apart <= 2e-5,
                  "%s %s, values times 2^%d: %s is %g of the largest value off", stage->name,
                  cases[at].assignments, exponent, i < 0 ? "the image" : tables[0][i].name, apart);
        cr_expect(!isnan(apart) || i >= 0 || !stage->gives_nan,
                  "%s gives NaN of numbers times 2^%d, unreported", stage->name, exponent);
        free(a.at);
        free(b.at);
        free(c.at);
    }
    ts_test_run_clear(&run);
    return compared;
}

static size_t check(size_t at)
{
    static const int exponents[] = {-110, -75, -60, 40, 63, 95, 124, 127};
    struct ts_image in = image_of(ts_stage_find(cases[at].stage));
    struct stage_run base, more;
    size_t compared = 0;
    cr_assert_eq(run_scaled(&base, at, &in, 0), TS_OK, "%s %s", cases[at].stage,
                 cases[at].assignments);
    cr_assert_eq(run_scaled(&more, at, &in, 6), TS_OK, "%s %s", cases[at].stage,
                 cases[at].assignments);
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
        if (cases[at].most == 0 ||
            (exponents[i] >= cases[at].least && exponents[i] <= cases[at].most))
            compared += compare_at(at, &in, &base, &more, exponents[i]);
    ts_test_run_clear(&base);
    ts_test_run_clear(&more);
    free(in.data);
    return compared;
}

Test(ranges, no_stage_is_wrong_in_silence)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_gt(check(i), 1, "%s %s: nothing was compared", cases[i].stage,
                     cases[i].assignments);
}
