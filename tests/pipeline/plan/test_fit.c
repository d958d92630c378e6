/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan chooses how long its slabs are.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"

/* Slices of 2 MiB as f32 are 8 to the 16 MiB that a slab has. A stage that computes its halo anew
 * gets 4 halos, as far as the volume goes: with 2 iterations the halo is 3 slices, with 20 it
 * is 21. Where nothing is computed a slab has 1 MiB, but a slice for each thread. */
Test(fit, slabs_are_longer_than_a_halo_that_is_computed_anew)
{
    static const struct {
        const char *stage;
        int64_t slab;
    } cases[] = {{"tv weight=1 iterations=20", 8},
                 {"box radius=5 dimensions=3d", 8},
                 {"tv weight=1 iterations=2 dimensions=3d", 12},
                 {"tv weight=1 iterations=20 dimensions=3d", 40},
                 {"statistics", 8},
                 {"save", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_image image = ts_test_image(40, 512, 1024, TS_F32, VALUES_CONSTANT, 1);
        struct memory_chain memory;
        const struct ts_options options = {.device = "cpu", .threads = 2};
        memory_chain_init(&memory, &image, NULL, "out.h5");
        memory_chain_add(&memory, cases[i].stage, NULL);
        struct ts_plan *plan = ts_test_plan(&memory, &options);
        cr_assert_not_null(plan);
        cr_assert_eq(plan->slab_slices, cases[i].slab, "%s: %lld slices", cases[i].stage,
                     (long long)plan->slab_slices);
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
        free(image.data);
    }
}
