/* SPDX-License-Identifier: Apache-2.0
 *
 * --gpu-memory against what a run takes: its pieces, as the session counts them, and what is
 * missing on the device.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cuda/device/session.h"
#include "tests/files/output_fixture.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/skip.h"
#include "tests/support/stage_check.h"

enum { MEBIBYTE = 1 << 20 };

#ifdef TS_HAVE_CUDA
static const struct {
    const char *stages[4];
    int64_t budget;
} runs[] = {
    {{"box radius=3 dimensions=3d", "equalize", "convolve kernel=gaussian-5x5"}, 64 * MEBIBYTE},
    {{"radon views=90", "ring", "filter filter=hann", "backproject"}, 96 * MEBIBYTE},
    {{"rescale method=percentiles scope=slice dtype=u16", "clahe",
      "histogram bins=4096 range=0,65536"},
     64 * MEBIBYTE},
};

static size_t free_bytes(void)
{
    char pci[32];
    size_t available = 0, total = 0;
    cr_assert(ts_cuda_pci_address(ts_test_device, pci, sizeof pci) &&
              ts_cuda_memory_left(pci, &available, &total));
    return available;
}

/* All pieces are taken before the first slice is read. */
static size_t least_free;

static void sample(void)
{
    const size_t now = free_bytes();
    least_free = now < least_free ? now : least_free;
}

/* A run before it has loaded CUDA, the kernels and cuFFT, which no budget counts. What the device
 * misses is told only: other programs take from it as well. */
Test(cuda_memory, a_budget_bounds_what_runs_take_on_cuda)
{
    char folder[256], path[300];
    struct ts_image image = ts_test_image(128, 512, 512, TS_F32, VALUES_CT, 21);
    const size_t volume = ts_image_bytes(&image);
    ts_test_begin_cuda();
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/cuda.h5", folder);
    image.quantity = TS_ATTENUATION;
    image.unit = "1/mm";
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const struct ts_options options = {
            .device = "cuda", .threads = 2, .force = true, .gpu_memory_bytes = runs[i].budget};
        struct memory_chain memory;
        memory_chain_init(&memory, &image, NULL, path);
        for (int k = 0; k < 4 && runs[i].stages[k]; k++)
            memory_chain_add(&memory, runs[i].stages[k], NULL);
        struct ts_plan *plan = ts_test_plan(&memory, &options);
        cr_assert(plan, "run %zu does not fit", i);
        cr_assert_lt(plan->gpu_budget_bytes, (int64_t)volume);
        ts_test_plan_run(plan);
        const size_t before = least_free = free_bytes();
        memory.at_read = sample;
        ts_cuda_most_held();
        ts_test_plan_run(plan);
        const size_t held = ts_cuda_most_held();
        fprintf(stderr,
                "volume %.1f, budget %.1f, plan %.1f, taken %.1f, missing on the device %.1f MiB\n",
                (double)volume / MEBIBYTE, (double)runs[i].budget / MEBIBYTE,
                (double)plan->gpu_bytes / MEBIBYTE, (double)held / MEBIBYTE,
                ((double)before - (double)least_free) / MEBIBYTE);
        cr_assert_gt(held, 0);
        cr_assert_leq(held, (size_t)plan->gpu_bytes);
        cr_assert_leq(plan->gpu_bytes, runs[i].budget);
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
    }
    cr_assert_eq(ts_cuda_most_held(), 0, "a session keeps memory");
    ts_test_remove_folder(folder);
    free(image.data);
    ts_test_end_cuda();
}

/* sanitize_cuda.sh asks for it, and fails where memcheck does not find it. */
Test(cuda_memory, leaks_where_it_is_asked_to)
{
    struct ts_diag *diag = ts_diag_create();
    struct cuda_session *session;
    if (!getenv("TOMOSTAGE_TESTS_LEAK"))
        ts_test_skip("nobody asks for a leak");
    ts_test_begin_cuda();
    cr_assert_eq(ts_cuda_session_create(ts_test_device, 0, diag, &session), TS_OK);
    cr_assert_not_null(ts_cuda_allocate(session, MEBIBYTE));
}

/* NVML's numbers, for where CUDA does not start, are those of the driver. */
Test(cuda_memory, is_known_without_cuda)
{
    size_t available = 0, total = 0;
    char pci[32];
    ts_test_begin_cuda();
    cr_assert(ts_cuda_pci_address(ts_test_device, pci, sizeof pci));
    cr_assert_not(ts_cuda_memory_left("ffff:ff:1f.0", &available, &total));
    cr_assert(ts_cuda_memory_left(pci, &available, &total), "NVML knows nothing of %s", pci);
    cr_assert_gt(available, 0);
    cr_assert_leq(available, total);
    cr_assert_geq(total, ts_test_device->memory_bytes);
    cr_assert_leq(total / 100 * 95, ts_test_device->memory_bytes);
}
#endif
