/* SPDX-License-Identifier: Apache-2.0
 *
 * An error of CUDA becomes one sentence with the code of its kind: a device that is lost, one that
 * is another program's alone, memory that was asked for and is not there.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cuda/device/session.h"
#include "tests/support/local_stages.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

#ifdef TS_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "cuda/device/fft.h"
#include "cuda/device/launch.h"

Test(cuda_errors, have_the_code_of_their_kind)
{
    static const struct {
        cudaError_t error;
        const char *code, *says;
    } rows[] = {
        {cudaErrorDevicesUnavailable, "cuda-busy",
         "takes no other program now, which choosing the device needs"},
        {cudaErrorIllegalAddress, "cuda-lost", "was lost while it worked on choosing the device"},
        {cudaErrorECCUncorrectable, "cuda-lost", "was lost"},
        {cudaErrorInvalidValue, "cuda-failed", "choosing the device failed: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_cuda_fold(diag, NULL, rows[i].error, "choosing the device"), TS_RUN_FAILED);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
        cr_assert(strstr(ts_diag_get(diag, 0)->message, rows[i].says), "%s",
                  ts_diag_get(diag, 0)->message);
        ts_diag_destroy(diag);
    }
    cr_assert_eq(ts_cuda_fold(NULL, NULL, cudaSuccess, ""), TS_OK);
}

/* Nothing runs, so any description of a device does. */
Test(cuda_errors, of_shared_memory_say_what_was_asked_and_what_is_there)
{
    static const struct device_numbers device = {.name = "a device",
                                                 .block_shared_bytes = 48 << 10};
    struct ts_diag *diag = ts_diag_create();
    const struct stage_context context = {
        .stage = ts_stage_find("box"), .device = &device, .diag = diag};
    cr_assert_eq(ts_cuda_shared(&context, NULL, (48 << 10) + 1), TS_RUN_FAILED);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "cuda-shared");
    cr_assert_str_eq(ts_diag_get(diag, 0)->stage, "box");
    cr_assert_str_eq(
        ts_diag_get(diag, 0)->message,
        "a block needs 49153 bytes of shared memory, and device 0 (a device) gives it 49152");
    ts_diag_destroy(diag);
}

/* A pebibyte of either kind. */
Test(cuda_errors, of_memory_say_what_was_asked_and_what_is_there)
{
    const size_t much = (size_t)1 << 50;
    struct ts_diag *diag = ts_diag_create();
    struct cuda_session *session;
    ts_test_begin_cuda();
    cr_assert_eq(ts_cuda_session_create(ts_test_device, (size_t)3 << 20, diag, &session), TS_OK);
    cr_assert_null(ts_cuda_allocate(session, much));
    cr_assert_null(ts_cuda_allocate_pinned(session, much));
    cr_assert_eq(ts_diag_count(diag), 2);
    const char *gpu = ts_diag_get(diag, 0)->message, *pinned = ts_diag_get(diag, 1)->message;
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "cuda-memory");
    cr_assert_str_eq(ts_diag_get(diag, 1)->code, "cuda-memory");
    cr_assert(strstr(gpu, "1073741824.0 MiB of GPU memory, of the 3.0 MiB that the run takes, "
                          "could not be allocated: "),
              "%s", gpu);
    cr_assert(strstr(pinned, "1073741824.0 MiB of pinned host memory could not be allocated: "),
              "%s", pinned);
    cr_assert(strstr(pinned, " MiB of memory are available") && !strstr(pinned, ": 0.0 MiB"), "%s",
              pinned);
    cr_assert(ts_cuda_allocate(session, 1 << 20) && ts_cuda_allocate_pinned(session, 1 << 20));
    ts_cuda_session_destroy(session);
    ts_diag_destroy(diag);
}

/* cuFFT says no more than that it failed. */
Test(cuda_errors, a_device_lost_before_a_transform_is_told_as_a_loss)
{
    const struct fft_shape shape = {.rank = 1, .n = {64}, .batch = 4};
    struct ts_image image = ts_test_image(4, 8, 7, TS_U16, VALUES_RANDOM, 10);
    struct ts_diag *diag = ts_diag_create();
    struct stage_context context = {.stage = &lost_stage, .diag = diag};
    struct cuda_session *session;
    struct cuda_fft *fft;
    struct stage_run run;
    ts_test_begin_cuda();
    cr_assert_eq(ts_cuda_session_create(ts_test_device, 0, diag, &session), TS_OK);
    void *work = ts_cuda_allocate(session, ts_cuda_fft_work_bytes(&shape));
    float *data = ts_cuda_allocate(session, 8 * 64 * 4);
    if (ts_cuda_fft_create(session, "lost", &shape, work, diag, &fft) != TS_OK) {
        fprintf(stderr, "SKIPPED: %s\n", ts_diag_get(diag, 0)->message);
        cr_skip_test("no cuFFT");
    }
    cr_assert_eq(ts_test_run(&run, &lost_stage, "", &image, NULL, 0, 1), TS_RUN_FAILED);
    cr_assert_eq(ts_cuda_fft_forward(&context, fft, data, data), TS_RUN_FAILED);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "cuda-lost", "%s", ts_diag_get(diag, 0)->message);
    ts_cuda_fft_destroy(fft);
    ts_cuda_session_destroy(session);
    ts_test_run_clear(&run);
    ts_diag_destroy(diag);
    free(image.data);
}
#endif
