/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs time their inputs and stages, on the CPU and on a CUDA device, in far more calls than the
 * device has events for. Without a device the tests of it say that they were skipped.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "tests/files/output_fixture.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

static char folder[256], output[300], profile_name[300];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    snprintf(profile_name, sizeof profile_name, "%s/profile", folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(run_times, .init = begin, .fini = end);

static void count(void *user, const struct ts_event *event)
{
    (void)event;
    ++*(int *)user;
}

/* Returns true where the profile has work of this stage. */
static bool has_stretch(const struct trace *trace, const char *label)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &n);
    for (size_t k = 0; k < n; k++)
        if (stretches[k].stage && !strcmp(stretches[k].stage, label) &&
            stretches[k].part == TRACE_COMPUTE)
            return true;
    return false;
}

/* Adds a reduction with a table, one that a map waits for, a halo, one a slice, and iterations. */
static void make_chain(struct memory_chain *memory, const struct ts_image *image)
{
    static const char *const stages[] = {"box radius=2 dimensions=3d border=wrap",
                                         "histogram bins=64",
                                         "equalize",
                                         "rescale method=percentiles scope=slice",
                                         "radon views=7",
                                         "sirt iterations=3 pixel_size=1"};
    memory_chain_init(memory, image, NULL, output);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        memory_chain_add(memory, stages[i], NULL);
}

/* Runs in the smallest slabs, with and without somebody who listens and a profile. Stages follow
 * one another, so that they cannot take longer than the run; a time in another unit would show. */
TEST_ON_BOTH(run_times, every_stage_has_a_time)
{
    struct ts_image image = ts_test_image(150, 13, 12, TS_U16, VALUES_CT, 1);
    unsigned char *first = NULL;
    size_t first_size = 0;
    for (int listens = 0; listens < 2; listens++) {
        struct memory_chain memory;
        const char *profile = listens ? profile_name : NULL;
        int n_events = 0;
        const struct ts_options options = {.device = ts_test_device ? "cuda" : "cpu",
                                           .threads = 2,
                                           .force = true,
                                           .on_event = listens ? count : NULL,
                                           .user = &n_events,
                                           .profile = profile};
        double sum = 0;
        make_chain(&memory, &image);
        struct ts_plan *plan = ts_test_plan(&memory, &options);
        cr_assert(plan && ts_test_plan_fits(plan, ts_test_plan_least(plan)));
        cr_assert_leq(plan->slab_slices, 2);
        const double began = ts_seconds();
        ts_test_plan_run(plan);
        const double wall = ts_seconds() - began;
        for (int32_t i = 0; i < plan->n_nodes; i++) {
            cr_expect_gt(plan->state->seconds[i], 0, "%s took no time", plan->nodes[i].label);
            sum += i < plan->n_sources ? 0 : plan->state->seconds[i];
            cr_expect(!profile || i < plan->n_sources ||
                          has_stretch(plan->state->trace, plan->nodes[i].label),
                      "the profile lacks %s", plan->nodes[i].label);
        }
        cr_expect_lt(sum, wall);
        cr_expect_eq(n_events > 0, listens > 0);
        ts_test_same_file(output, &first, &first_size, "listening");
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
    }
    free(first);
    free(image.data);
}
