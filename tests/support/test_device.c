/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test_device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/driver.h"
#include "cuda/device/session.h"
#include "tests/support/device_reset.h"

const struct device_numbers *ts_test_device;
static struct cuda_devices found;
static uint64_t launches_before;

/* Source: CUDA C++ Programming Guide, technical specifications per compute capability;
 * multiprocessors and cache of a T4, A10 and L4. */
static void shrink(struct device_numbers *device, int capability)
{
    static const struct device_numbers like[] = {
        {.major = 7,
         .minor = 5,
         .multiprocessors = 40,
         .threads = 1024,
         .shared_bytes = 64 << 10,
         .block_shared_bytes = 64 << 10,
         .l2_bytes = 4 << 20,
         .double_ratio = 32},
        {.major = 8,
         .minor = 6,
         .multiprocessors = 72,
         .threads = 1536,
         .shared_bytes = 100 << 10,
         .block_shared_bytes = 99 << 10,
         .l2_bytes = 6 << 20,
         .double_ratio = 64},
        {.major = 8,
         .minor = 9,
         .multiprocessors = 58,
         .threads = 1536,
         .shared_bytes = 100 << 10,
         .block_shared_bytes = 99 << 10,
         .l2_bytes = 48 << 20,
         .double_ratio = 64},
    };
    const int n = (int)(sizeof like / sizeof *like);
    int i = 0;
    while (i < n && 10 * like[i].major + like[i].minor != capability)
        i++;
    cr_assert_lt(i, n, "nothing is known of compute capability %d", capability);
    const int have[] = {device->multiprocessors, device->threads, device->shared_bytes,
                        device->block_shared_bytes, device->l2_bytes};
    const int wanted[] = {like[i].multiprocessors, like[i].threads, like[i].shared_bytes,
                          like[i].block_shared_bytes, like[i].l2_bytes};
    int *const numbers[] = {&device->multiprocessors, &device->threads, &device->shared_bytes,
                            &device->block_shared_bytes, &device->l2_bytes};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *numbers[k] = have[k] < wanted[k] ? have[k] : wanted[k];
    device->major = like[i].major;
    device->minor = like[i].minor;
    device->double_ratio = like[i].double_ratio;
    device->code = ts_cuda_code_here(capability);
}

struct device_numbers ts_test_device_of(int code)
{
    struct device_numbers device = {.name = "imagined"};
    for (int capability = code; capability < 200; capability++) {
        device.major = capability / 10;
        device.minor = capability % 10;
        device.code = ts_cuda_code_here(capability);
        if (device.code >= code)
            return device;
    }
    fprintf(stderr, "SKIPPED: this build has no code of compute capability %d.%d or later\n",
            code / 10, code % 10);
    cr_skip_test("no such code");
    return device;
}

void ts_test_begin_cuda(void)
{
    const char *capability = getenv("TOMOSTAGE_TESTS_CAPABILITY");
    ts_test_begin_cuda_like(capability ? atoi(capability) : 0);
}

void ts_test_begin_cuda_like(int capability)
{
    struct ts_diag *diag = ts_diag_create();
    /* This process forks no worker, so that CUDA may start in it. */
    const enum ts_status status = ts_cuda_built()
                                      ? ts_cuda_query_here(&found, diag)
                                      : ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){0},
                                                      "this build has no CUDA code");
    if (status != TS_OK) {
        fprintf(stderr, "SKIPPED: %s\n", ts_diag_get(diag, 0)->message);
        ts_diag_destroy(diag);
        cr_skip_test("no CUDA device");
    }
    ts_diag_destroy(diag);
#ifdef TS_HAVE_CUDA
    if (getenv("TOMOSTAGE_TESTS_LEAKS"))
        ts_test_reset_device_at_exit();
#endif
    if (capability)
        shrink(&found.devices[0], capability);
    ts_test_device = &found.devices[0];
    launches_before = ts_cuda_launch_count();
}

void ts_test_end_cuda(void)
{
    ts_test_device = NULL;
    cr_assert_gt(ts_cuda_launch_count(), launches_before,
                 "no kernel was launched: nothing was tested");
}

bool ts_test_beyond(const struct device_numbers *device, const struct ts_diag *diag,
                    const char *what)
{
    enum { LARGEST_CASE = 227 << 10 };
    if (!device || !ts_diag_count(diag))
        return false;
    const struct ts_diag_record *refused = ts_diag_get(diag, 0);
    const bool beyond =
        !strcmp(refused->code, "method-shared-memory") ? device->block_shared_bytes < LARGEST_CASE
        : !strcmp(refused->code, "tensor-capability")  ? device->code < CUDA_TENSOR_CODE
                                                       : false;
    if (beyond)
        fprintf(stderr, "SKIPPED: %s: %s\n", what, refused->message);
    return beyond;
}
