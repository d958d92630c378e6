/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages that iterate report it while they run, on the CPU and on a CUDA device, whose kernels
 * leave it in pinned memory. Which of the device's iterations are seen depends on the time, but the
 * last one always is.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/progress.h"
#include "tests/files/output_fixture.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

static const struct {
    const char *stage, *chain;
    int64_t iterations;
    bool has_residual;
} cases[] = {
    {"sirt", "sirt iterations=40 pixel_size=1", 40, true},
    {"cgls", "cgls iterations=9 pixel_size=1", 9, true},
    {"tv", "tv weight=20 iterations=23", 23, true},
    {"tv", "tv weight=20 iterations=21 dimensions=3d", 21, false},
    {"tv", "tv weight=20 iterations=30 dimensions=3d stop=distance tolerance=0", 30, true},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static char folder[256], output[300];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(run_iterations, .init = begin, .fini = end);

struct seen {
    struct ts_event last; /* of the iterations */
    int n, n_after;       /* iterations, and those after all slices were done */
    bool all_slices;
    const char *stage;
};

static void take(void *user, const struct ts_event *event)
{
    struct seen *seen = user;
    if (event->kind == TS_EVENT_ITERATION) {
        cr_expect_str_eq(event->stage, seen->stage);
        cr_expect(event->iteration >= 0 && event->iteration <= event->n_iterations);
        cr_expect(event->pass >= 1 && event->pass <= event->n_passes);
        cr_expect(event->slices_done >= seen->last.slices_done &&
                  event->slices_done < event->n_slices);
        seen->last = *event;
        seen->n++;
        seen->n_after += seen->all_slices;
    }
    seen->all_slices = event->kind == TS_EVENT_PROGRESS && event->pass == event->n_passes &&
                       event->slices_done == event->n_slices;
}

/* Runs in slabs of all slices, and in the smallest. */
static void run(size_t i, bool small)
{
    struct ts_image image = ts_test_image(6, 21, 17, TS_U16, VALUES_CT, 3);
    struct memory_chain memory;
    struct seen seen = {.stage = cases[i].stage};
    const struct ts_options options = {.device = ts_test_device ? "cuda" : "cpu",
                                       .threads = 2,
                                       .force = true,
                                       .on_event = take,
                                       .user = &seen};
    memory_chain_init(&memory, &image, NULL, output);
    if (strcmp(cases[i].stage, "tv"))
        memory_chain_add(&memory, "radon views=12", NULL);
    memory_chain_add(&memory, cases[i].chain, NULL);
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert(plan && (!small || ts_test_plan_fits(plan, ts_test_plan_least(plan))));
    ts_test_plan_run(plan);
    cr_expect_gt(seen.n, 0, "%s reported nothing", cases[i].chain);
    cr_expect_eq(seen.n_after, 0, "%s reported iterations after the last slice", cases[i].chain);
    cr_expect_eq(seen.last.iteration, cases[i].iterations, "%s", cases[i].chain);
    cr_expect_eq(seen.last.n_iterations, cases[i].iterations);
    cr_expect_eq(!isnan(seen.last.residual), cases[i].has_residual, "%s", cases[i].chain);
    cr_expect(!(seen.last.residual < 0) && !(seen.last.residual > 1e3), "%s: %g", cases[i].chain,
              seen.last.residual);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

TEST_ON_BOTH(run_iterations, are_reported)
{
    for (size_t i = 0; i < N_CASES; i++)
        for (int small = 0; small < 2; small++)
            run(i, small);
}

Test(run_iterations, records_that_are_being_written_are_not_read)
{
    struct cuda_progress_record record, now = {3, {4, 9, 0.5, 0.25}};
    struct cuda_progress progress = {0};
    cr_expect_not(ts_cuda_progress_read(&progress, &record), "nothing was written yet");
    progress.records[0] = now;
    cr_expect_not(ts_cuda_progress_read(&progress, &record), "the second record is still empty");
    progress.records[1] = now;
    progress.records[1].iteration.residual = 0.75;
    cr_expect_not(ts_cuda_progress_read(&progress, &record),
                  "the second record is not all written");
    progress.records[1] = now;
    cr_assert(ts_cuda_progress_read(&progress, &record));
    cr_expect(memcmp(&record, &now, sizeof now) == 0);
}
