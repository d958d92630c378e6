/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays whose strides or devices cannot be are refused before anything is read there, for inputs
 * and for images.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "tests/support/array_run.h"

enum { NZ = 7, NY = 11, NX = 13, PIXELS = NZ * NY * NX };

static struct ts_diag *diag;

static void begin(void)
{
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(strides, .init = begin, .fini = end);

static struct ts_array array_of(void *data)
{
    return ts_test_array(data, TS_F32, NZ, NY, NX);
}

static struct array_run plan_of(const char *text, const struct ts_array *in)
{
    struct array_run trial;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    const enum ts_status status =
        ts_array_run_start(&trial, text, "volume", in, NULL, &options, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    return trial;
}

static void expect(enum ts_status status, enum ts_status expected, const char *code,
                   const char *part)
{
    cr_assert_eq(status, expected, "%s: status %d", code, status);
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert_str_eq(record->code, code);
    cr_assert_not_null(strstr(record->message, part), "%s", record->message);
    ts_diag_clear(diag);
}

static struct ts_array strided(void *data, int64_t n, int64_t stride)
{
    return (struct ts_array){.size = sizeof(struct ts_array),
                             .data = data,
                             .dtype = TS_F32,
                             .rank = 3,
                             .n = {n, NY, NX},
                             .stride = {stride, NX * sizeof(float), sizeof(float)},
                             .cuda_device = -1};
}

/* Strides of slices that no memory has: elements would have places beyond the last address, or
 * before the first. */
static const struct {
    int64_t n, stride;
} far[] = {
    {4, (int64_t)1 << 61},       {4, -((int64_t)1 << 61)},
    {2, INT64_MAX - 3},          {2, INT64_MIN},
    {3, INT64_MIN + 4},          {((int64_t)1 << 40) + 1, 1 << 20},
    {3, (int64_t)1 << 56},       {2, -((int64_t)1 << 55)},
    {1 << 30, (int64_t)1 << 33}, {2, (int64_t)(SIZE_MAX / 4 + 1)},
};

Test(strides, strides_that_lead_out_of_memory_are_refused)
{
    static float values[PIXELS], made[PIXELS];
    struct ts_chain *chain = NULL;
    const struct ts_array right = array_of(values);
    struct array_run trial = plan_of("memory volume | box radius=1", &right);
    cr_assert_eq(ts_chain_parse("memory volume", 13, "test", NULL, &chain, diag), TS_OK);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        struct ts_array array = strided(values, far[i].n, far[i].stride);
        expect(ts_chain_set_array(chain, "volume", &array, NULL, diag), TS_BAD_INPUT,
               "memory-array", "strides that lead out of memory");
        array.data = made;
        expect(ts_run_set_array(trial.run, "data", &array, diag), TS_BAD_CHAIN, "memory-array",
               "strides that lead out of memory");
        array.stride[0] = NY * NX * sizeof(float);
        array.n[0] = 1;
        array.stride[1] = far[i].stride; /* of rows */
        if (far[i].n < NY)
            expect(ts_chain_set_array(chain, "volume", &array, NULL, diag), TS_BAD_INPUT,
                   "memory-array", "strides that lead out of memory");
    }
    ts_chain_destroy(chain);
    ts_array_run_finish(&trial);
}

/* NumPy and DLPack leave the stride of an axis with one element at anything. */
Test(strides, the_stride_of_a_single_element_does_not_count)
{
    static float values[NY * NX], made[NY * NX];
    for (int i = 0; i < NY * NX; i++)
        values[i] = (float)i;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        const struct ts_array in = strided(values, 1, far[i].stride),
                              out = strided(made, 1, -(far[i].stride / 2));
        struct array_run trial = plan_of("memory volume | invert range=[0,200]", &in);
        cr_assert_eq(ts_run_set_array(trial.run, "data", &out, diag), TS_OK);
        cr_assert_eq(ts_run_execute(trial.run, diag), TS_OK);
        for (int k = 0; k < NY * NX; k++)
            cr_assert_eq(made[k], 200 - values[k]);
        ts_array_run_finish(&trial);
    }
}

Test(strides, a_device_that_cannot_be_is_refused_by_its_number)
{
    static const int32_t devices[] = {-7, -2, -1000000, INT32_MIN};
    static float values[PIXELS];
    struct ts_array array = array_of(values);
    struct ts_chain *chain = NULL;
    struct array_run trial = plan_of("memory volume | box radius=1", &array);
    char words[64];
    cr_assert_eq(ts_chain_parse("memory volume", 13, "test", NULL, &chain, diag), TS_OK);
    for (int i = 0; i < 4; i++) {
        array.cuda_device = devices[i];
        snprintf(words, sizeof words, "cuda_device %ld", (long)devices[i]);
        expect(ts_chain_set_array(chain, "volume", &array, NULL, diag), TS_BAD_INPUT,
               "memory-array", words);
        expect(ts_run_set_array(trial.run, "data", &array, diag), TS_BAD_CHAIN, "memory-array",
               words);
    }
    array.cuda_device = 71;
    expect(ts_run_set_array(trial.run, "data", &array, diag), TS_BAD_CHAIN, "memory-array",
           "cuda_device 71");
    ts_chain_destroy(chain);
    ts_array_run_finish(&trial);
}
