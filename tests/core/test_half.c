/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding to halves against the definition in double precision: every half, every boundary between
 * two halves with the floats beside it, and random floats of every exponent. A CUDA device must
 * give the same bits.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "core/half.h"
#include "core/image.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"
#ifdef TS_HAVE_CUDA
#include "cuda/device/session.h"
#include "cuda/values/half.h"
#endif

enum { HALVES = 1 << 16, RANDOM = 1 << 21, CASES = 6 * HALVES + RANDOM };

static double value_of(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                             : exponent == 0 ? ldexp(fraction, -24)
                                             : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* The number of units of the last place, rounded to an integer, is exact in double precision. */
static uint16_t rounded(float of)
{
    const double value = (double)of, magnitude = fabs(value);
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (magnitude == 0)
        return sign;
    if (isnan(value))
        return sign | TS_HALF_NAN;
    (void)frexp(magnitude, &exponent); /* magnitude < 2^exponent */
    if (isinf(value) || exponent > 16)
        return sign | 0x7C00;
    exponent = exponent < -13 ? -13 : exponent;
    const int units = (int)rint(ldexp(magnitude, 11 - exponent));
    return (uint16_t)(sign + ((exponent + 13) << 10) + units);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Fills in CASES floats. */
static void fill(float *cases)
{
    uint64_t seed = 14;
    for (int i = 0; i < HALVES; i++) {
        const uint16_t half = (uint16_t)i, above = (uint16_t)(i + 1);
        const bool last = (half & 0x7FFF) == 0x7BFF;
        const float here = (float)value_of(half),
                    next = last ? copysignf(65536, here) : (float)value_of(above);
        const float middle = here + (next - here) / 2;
        const float around[] = {here,
                                middle,
                                nextafterf(middle, here),
                                nextafterf(middle, next),
                                nextafterf(here, 0),
                                nextafterf(here, next)};
        memcpy(cases + 6 * i, around, sizeof around);
    }
    for (int i = 6 * HALVES; i < CASES; i++)
        cases[i] = float_of((uint32_t)ts_random_next(&seed));
}

Test(half, every_half_has_its_value_and_comes_back)
{
    for (int i = 0; i < HALVES; i++) {
        const uint16_t half = (uint16_t)i;
        const float value = ts_half_value(half);
        const double expected = value_of(half);
        uint16_t back;
        double loaded;
        cr_assert_eq(ts_half_round(&back, &value, 1), 0);
        ts_load_f64(&loaded, &half, TS_F16, 1);
        cr_assert(isnan(expected) ? isnan(value) && isnan(loaded)
                                  : (double)value == expected && loaded == expected &&
                                        !signbit(value) == !signbit(expected),
                  "%04x is %g", half, (double)value);
        cr_assert_eq(back, isnan(value) ? (half & 0x8000) | TS_HALF_NAN : half,
                     "%04x came back as %04x", half, back);
    }
}

Test(half, rounds_to_the_nearest_and_ties_to_even)
{
    float *cases = malloc(CASES * sizeof *cases), largest = 0;
    uint16_t *halves = malloc(CASES * sizeof *halves);
    fill(cases);
    const float found = ts_half_round(halves, cases, CASES);
    for (int i = 0; i < CASES; i++) {
        const uint16_t expected = rounded(cases[i]);
        const double value = (double)cases[i], error = fabs(value - value_of(halves[i]));
        cr_assert_eq(halves[i], expected, "%a: %04x, expected %04x", value, halves[i], expected);
        if (isfinite(value) && (expected & 0x7FFF) == 0x7C00)
            largest = fmaxf(largest, fabsf(cases[i]));
        else if (isfinite(value))
            cr_assert_leq(error, fmax(fabs(value) * 0x1p-11, 0x1p-25), "%a", value);
    }
    cr_assert_eq(found, largest);
    free(halves);
    free(cases);
}

Test(half, finite_values_become_infinite_from_65520_on)
{
    static const struct {
        float value;
        uint16_t half;
        bool lost;
    } cases[] = {{65504, 0x7BFF, false},     {65519.996f, 0x7BFF, false}, {65520, 0x7C00, true},
                 {-65520, 0xFC00, true},     {3.4e38f, 0x7C00, true},     {INFINITY, 0x7C00, false},
                 {-INFINITY, 0xFC00, false}, {NAN, 0x7E00, false},        {-0.0f, 0x8000, false},
                 {0x1p-25f, 0, false},       {0x1.000002p-25f, 1, false}, {0x1.8p-24f, 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t half;
        const float found = ts_half_round(&half, &cases[i].value, 1);
        cr_expect_eq(half, cases[i].half, "%g: %04x", (double)cases[i].value, half);
        cr_expect_eq(found, cases[i].lost ? fabsf(cases[i].value) : 0, "%g: %g",
                     (double)cases[i].value, (double)found);
    }
}

/* Vectors end before the last values, and nothing behind these is written. */
Test(half, every_length_and_place)
{
    float values[200];
    uint16_t halves[200];
    for (int i = 0; i < 200; i++)
        values[i] = (float)i / 7;
    for (size_t first = 0; first < 20; first++)
        for (size_t n = 0; n < 100; n++) {
            memset(halves, 0xA5, sizeof halves);
            cr_assert_eq(ts_half_round(halves + first, values + first, n), 0);
            for (size_t i = 0; i < 200; i++)
                cr_assert_eq(halves[i], i >= first && i < first + n ? rounded(values[i]) : 0xA5A5);
        }
}

#ifdef TS_HAVE_CUDA
/* Halves that begin at the second place, as slices of an odd size may. */
static void round_on_device(const float *cases, uint16_t *halves, uint32_t *largest)
{
    struct ts_diag *diag = ts_diag_create();
    struct cuda_session *session;
    cr_assert_eq(ts_cuda_session_create(ts_test_device, 0, diag, &session), TS_OK);
    float *floats = ts_cuda_allocate(session, CASES * sizeof *floats);
    uint16_t *out = ts_cuda_allocate(session, (CASES + 2) * sizeof *out);
    uint32_t *most = ts_cuda_allocate(session, sizeof *most);
    cr_assert(floats && out && most);
    cr_assert_eq(
        ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, floats, cases, CASES * sizeof *floats),
        TS_OK);
    cr_assert_eq(ts_cuda_fill(session, CUDA_COMPUTE, most, 0, sizeof *most), TS_OK);
    cr_assert_eq(ts_cuda_fill(session, CUDA_COMPUTE, out, 0xA5, (CASES + 2) * sizeof *out), TS_OK);
    cr_assert_eq(ts_cuda_half_round(ts_test_device, floats, CASES, out + 1, most,
                                    ts_cuda_stream(session, CUDA_COMPUTE), diag),
                 TS_OK);
    cr_assert_eq(
        ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, halves, out, (CASES + 2) * sizeof *out),
        TS_OK);
    cr_assert_eq(ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, largest, most, sizeof *most),
                 TS_OK);
    cr_assert_eq(ts_cuda_wait(session, CUDA_COMPUTE), TS_OK);
    ts_cuda_session_destroy(session);
    ts_diag_destroy(diag);
}
#endif

Test(half, rounds_to_the_same_bits_on_cuda)
{
    ts_test_begin_cuda();
#ifdef TS_HAVE_CUDA
    float *cases = malloc(CASES * sizeof *cases);
    uint16_t *expected = malloc(CASES * sizeof *expected),
             *halves = malloc((CASES + 2) * sizeof *halves);
    uint32_t largest;
    fill(cases);
    const float found = ts_half_round(expected, cases, CASES);
    round_on_device(cases, halves, &largest);
    for (int i = 0; i < CASES; i++)
        cr_assert_eq(halves[i + 1], expected[i], "%a: %04x, on the processor %04x",
                     (double)cases[i], halves[i + 1], expected[i]);
    cr_assert(halves[0] == 0xA5A5 && halves[CASES + 1] == 0xA5A5,
              "values beside the result were written");
    cr_assert_eq(float_of(largest), found);
    free(halves);
    free(expected);
    free(cases);
#endif
    ts_test_end_cuda();
}
