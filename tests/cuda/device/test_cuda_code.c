/* SPDX-License-Identifier: Apache-2.0
 *
 * A build has code for several devices: a device takes its own machine code or its major's before
 * it, then PTX.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cuda/device/device.h"
#include "tests/support/test_device.h"

#define SETS 5
static const struct cuda_code sets[SETS][5] = {
    {{75, true, false, false}, {90, true, true, false}}, /* what CI builds */
    {{80, false, true, false}},                          /* PTX alone */
    {{80, true, true, false}},                           /* an older list */
    {{75, false, true, false}, {90, true, false, true}}, /* 90a beside old PTX */
    {{75, true, false, false},
     {80, true, false, false},
     {86, true, false, false},
     {89, true, false, false},
     {90, true, true, false}},
};

static const struct {
    int set, capability, code;
} rows[] = {
    {0, 70, 0},   {0, 75, 75}, {0, 80, 0},  {0, 86, 0},  {0, 90, 90},  {0, 100, 90},
    {0, 120, 90}, {1, 75, 0},  {1, 80, 80}, {1, 89, 80}, {1, 90, 80},  {2, 86, 80},
    {2, 90, 80},  {3, 75, 75}, {3, 89, 75}, {3, 90, 90}, {3, 100, 75}, {4, 75, 75},
    {4, 80, 80},  {4, 87, 86}, {4, 89, 89}, {4, 90, 90}, {4, 103, 90},
};

Test(cuda_code, of_every_device_and_list)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int code = ts_cuda_code_of(sets[rows[i].set], 5, rows[i].capability);
        cr_assert_eq(code, rows[i].code, "list %d on %d: %d, expected %d", rows[i].set,
                     rows[i].capability, code, rows[i].code);
    }
}

Test(cuda_code, is_written_out)
{
    char text[128];
    ts_cuda_code_text(sets[0], 2, text, sizeof text);
    cr_assert_str_eq(text, "machine code for 7.5, 9.0 and PTX for 9.0");
    ts_cuda_code_text(sets[1], 1, text, sizeof text);
    cr_assert_str_eq(text, "PTX for 8.0");
    ts_cuda_code_text(sets[3], 2, text, sizeof text);
    cr_assert_str_eq(text, "machine code for 9.0a and PTX for 7.5");
}

/* CUDA may have been made to take other code than it would: the run then ends. */
Test(cuda_code, that_runs_must_be_what_was_planned_for)
{
    const int code = ts_cuda_code_here(90);
    const struct device_numbers device = {.name = "imagined", .major = 9, .code = code};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_cuda_code_check(&device, code, diag), TS_OK);
    cr_assert_eq(ts_cuda_code_check(&device, code + 10, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    if (code > 0) {
        cr_assert_eq(ts_cuda_code_check(&device, code - 10, diag), TS_RUN_FAILED);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, "cuda-code");
    }
    ts_diag_destroy(diag);
}

/* The choice of methods depends on this ratio. */
Test(cuda_code, the_driver_tells_how_fast_doubles_are_on_cuda)
{
    ts_test_begin_cuda();
    const int capability = 10 * ts_test_device->major + ts_test_device->minor,
              ratio = ts_test_device->double_ratio;
    if (capability == 80 || capability == 90)
        cr_assert_eq(ratio, 2, "%d", ratio);
    else if (capability == 75 || capability == 86 || capability == 89)
        cr_assert_geq(ratio, 32, "%d", ratio);
}
