/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/convolve.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/filters/convolve_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(convolve);

/* Sums near 0 of large values: the double sum's own roundings, 1e-16 each, show beside the largest
 * result. */
static const double cancelled = 1e-9;

TEST_ON_BOTH(convolve, every_kernel_agrees_with_the_definition)
{
    size_t compared = 0;
    for (const struct choice *kernel = convolve_stage.params[0].choices; kernel->name; kernel++) {
        if (kernel->value == CONVOLVE_CUSTOM)
            continue;
        char assignments[64];
        snprintf(assignments, sizeof assignments, "kernel=%s", kernel->name);
        const struct stage_case cases[] = {
            {.assignments = assignments,
             .dtypes = TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32),
             .absolute = cancelled},
            {.assignments = assignments,
             .nz = 2,
             .ny = 9,
             .nx = 35,
             .values = VALUES_EXTREME,
             .absolute = 1e-5},
            {.assignments = assignments,
             .nz = 2,
             .ny = 9,
             .nx = 35,
             .values = VALUES_CONSTANT,
             .absolute = cancelled},
        };
        compared += ts_stage_check(&convolve_stage, ts_convolve_oracle, cases,
                                   sizeof cases / sizeof *cases);
    }
    cr_assert_eq(compared, 19 * (8 * 2 + 7 + 7));
}

TEST_ON_BOTH(convolve, borders_and_given_weights_agree_with_the_definition)
{
#define WEIGHTED(border) "kernel=custom weights=1,2,3;4,5,6;7,8,10;-1,0,2;0.5,-4,1e3 border=" border
    static const struct stage_case cases[] = {
        {.assignments = WEIGHTED("reflect")},
        {.assignments = WEIGHTED("mirror")},
        {.assignments = WEIGHTED("nearest")},
        {.assignments = WEIGHTED("wrap")},
        {.assignments = WEIGHTED("constant constant=9")},
        {.assignments = "kernel=custom weights=1,2,3,4,-5,6,7"},
        {.assignments = "kernel=custom weights=1;2;3;4;-5;6;7 border=mirror"},
        {.assignments = "kernel=custom weights=2"},
        {.assignments = "kernel=custom weights=0"},
        {.assignments = "kernel=low-pass-8 border=constant constant=9"},
        {.assignments = "kernel=sobel-magnitude border=constant constant=9"},
    };
    cr_assert_eq(
        ts_stage_check(&convolve_stage, ts_convolve_oracle, cases, sizeof cases / sizeof *cases),
        11 * 8 * 7);
}

static void check_largest_kernel(void)
{
    char assignments[16384] = "kernel=custom border=wrap weights=";
    for (int j = 0; j < 31; j++)
        for (int i = 0; i < 31; i++)
            snprintf(assignments + strlen(assignments), 32, "%d%s", (j * 7 + i * 3) % 11 - 4,
                     i < 30   ? ","
                     : j < 30 ? ";"
                              : "");
    const struct stage_case cases[] = {{.assignments = assignments, .nz = 2, .ny = 33, .nx = 20}};
    cr_assert_eq(ts_stage_check(&convolve_stage, ts_convolve_oracle, cases, 1), 7);
}

TEST_ON_BOTH(convolve, takes_the_largest_kernel)
{
    check_largest_kernel();
}

/* Its tile of 16 rows and their border does not fit into 64 KiB. */
Test(convolve, takes_the_largest_kernel_with_little_shared_memory_on_cuda)
{
    ts_test_begin_cuda_like(75);
    check_largest_kernel();
    ts_test_end_cuda();
}

/* Weights down times across, as numbers and as the same kernel with a corner changed: no longer a
 * product. */
static void write_product(char *text, size_t size, int side, const char *rest, bool spoiled)
{
    snprintf(text, size, "kernel=custom %s weights=", rest);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            const double down = 0.3 + 0.7 * j - 0.05 * j * j,
                         across = i % 4 == 3 ? 0 : 1.1 - 0.13 * i;
            const double weight = spoiled && i + j == 0 ? 7.25 : down * across;
            snprintf(text + strlen(text), 32, "%.17g%s", weight,
                     i < side - 1   ? ","
                     : j < side - 1 ? ";"
                                    : "");
        }
}

TEST_ON_BOTH(convolve, products_of_a_column_and_a_row_agree_with_the_definition)
{
    static const int sides[] = {3, 5, 7, 9, 15, 17, 31};
    static const char *const borders[] = {"border=reflect", "border=wrap",
                                          "border=constant constant=9"};
    char text[32768];
    size_t compared = 0;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int spoiled = 0; spoiled < 2; spoiled++) {
            write_product(text, sizeof text, sides[i], borders[i % 3], spoiled);
            /* Rows that start at multiples of 4 values, wider than a strip; and rows that do
             * not. */
            const struct stage_case cases[] = {{.assignments = text, .nz = 2, .ny = 37, .nx = 264},
                                               {.assignments = text, .nz = 3, .ny = 6, .nx = 149}};
            compared += ts_stage_check(&convolve_stage, ts_convolve_oracle, cases, 2);
        }
    cr_assert_eq(compared, 7 * 2 * 2 * 7);
}

TEST_ON_BOTH(convolve, lays_the_weights_on_the_image_as_written)
{
    /* One bright pixel comes out as the kernel turned by 180 degrees. */
    struct ts_image in = ts_test_image(1, 5, 7, TS_U16, VALUES_CONSTANT, 1);
    memset(in.data, 0, ts_image_bytes(&in));
    ((uint16_t *)in.data)[2 * 7 + 3] = 1;
    struct ts_image out =
        ts_test_output(&convolve_stage, "kernel=custom weights=1,2,3;4,5,6;7,8,9", &in);
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 7; x++) {
            const bool inside = abs(y - 2) <= 1 && abs(x - 3) <= 1;
            const float expected = inside ? (float)(9 - 3 * (y - 1) - (x - 2)) : 0;
            cr_assert_float_eq(((float *)out.data)[y * 7 + x], expected, 0);
        }
    free(in.data);
    free(out.data);
}

TEST_ON_BOTH(convolve, leaves_out_what_has_no_weight)
{
    struct ts_image in = ts_test_image(1, 9, 11, TS_F32, VALUES_RANDOM, 2);
    ((float *)in.data)[4 * 11 + 5] = NAN;
    /* The second is wide, and a product of a column and a row, with a column of zeros in its
     * middle. */
    static const char *const ways[] = {"kernel=sobel-x",
                                       "kernel=custom weights=1,2,0,3,4;1,2,0,3,4;1,2,0,3,4"};
    for (int way = 0; way < 2; way++) {
        struct ts_image out = ts_test_output(&convolve_stage, ways[way], &in);
        for (int y = 0; y < 9; y++)
            for (int x = 0; x < 11; x++)
                cr_assert_eq(isnan(((float *)out.data)[y * 11 + x]),
                             abs(y - 4) <= 1 && abs(x - 5) >= 1 && abs(x - 5) <= 1 + way,
                             "%d: %d %d", way, y, x);
        free(out.data);
    }
    free(in.data);
}

Test(convolve, averages_keep_the_quantity)
{
    static const struct {
        const char *assignments;
        enum ts_quantity quantity;
    } rows[] = {{"kernel=low-pass-8", TS_HU},
                {"kernel=sharpen-5x5", TS_HU},
                {"kernel=sobel-x", TS_INTENSITY},
                {"kernel=sobel-magnitude", TS_INTENSITY},
                {"kernel=high-pass-4", TS_INTENSITY},
                {"kernel=custom weights=0.1,0.8,0.1", TS_HU},
                {"kernel=custom weights=1,1,1", TS_INTENSITY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_I16, VALUES_CT, 1);
        in.quantity = TS_HU;
        in.unit = "HU";
        struct ts_image out = ts_test_output(&convolve_stage, rows[i].assignments, &in);
        cr_assert_eq(out.dtype, TS_F32);
        cr_assert_eq(out.quantity, rows[i].quantity, "%s", rows[i].assignments);
        cr_assert_str_eq(out.unit, rows[i].quantity == TS_HU ? "HU" : "1");
        free(in.data);
        free(out.data);
    }
}

Test(convolve, agrees_with_scipy)
{
    SKIP_WITHOUT_DATA("convolve/agrees_with_scipy");
    static const char *const files[] = {"reference/generated/filters_ct_ge_head.h5",
                                        "reference/generated/filters_mr_sts001.h5"};
    static const char *const pairs[][2] = {{"kernel=sobel-y", "sobel/axis0"},
                                           {"kernel=sobel-x", "sobel/axis1"},
                                           {"kernel=laplacian-4", "laplace"}};
    for (int file = 0; file < 2; file++)
        for (int pair = 0; pair < 3; pair++) {
            size_t n, n_expected;
            double *input = ts_test_read_hdf5(files[file], "input", &n);
            double *expected = ts_test_read_hdf5(files[file], pairs[pair][1], &n_expected);
            cr_assert_eq(n, 152 * 152);
            cr_assert_eq(n_expected, n);
            struct ts_image in = ts_test_image(1, 152, 152, TS_F32, VALUES_CONSTANT, 1);
            for (size_t i = 0; i < n; i++)
                ((float *)in.data)[i] = (float)input[i];
            struct ts_image out = ts_test_output(&convolve_stage, pairs[pair][0], &in);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(((float *)out.data)[i], expected[i], "%s %s: element %zu", files[file],
                             pairs[pair][0], i);
            free(input);
            free(expected);
            free(in.data);
            free(out.data);
        }
}

Test(convolve, refuses_what_makes_no_kernel)
{
    static const struct {
        const char *assignments, *code, *part;
    } bad[] = {
        {"kernel=custom", "weights-missing", "needs the parameter weights"},
        {"kernel=sobel-x weights=1", "parameter-unused", "kernel is sobel-x"},
        {"kernel=custom weights=1,2", "weights-shape", "1 rows of 2 weights"},
        {"kernel=custom weights=1;2", "weights-shape", "2 rows of 1 weights"},
        {"kernel=custom weights=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
         "weights-shape", "1 rows of 33 weights"},
        {"kernel=sobel-x border=constant constant=300", "value-range", "0 to 255"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_U8, VALUES_RANDOM, 1);
        ts_test_refuses(&convolve_stage, bad[i].assignments, &in, NULL, bad[i].code, bad[i].part);
        free(in.data);
    }
}
