/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"

TestSuite(options);

/* The threads of a plan that is made with these options. */
static int threads_of(const struct ts_options *options)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U16, VALUES_RANDOM, 1);
    struct memory_chain memory;
    memory_chain_init(&memory, &image, NULL, "out.h5");
    memory_chain_add(&memory, "invert", NULL);
    struct ts_plan *plan = ts_test_plan(&memory, options);
    cr_assert_not_null(plan);
    const int threads = plan->threads;
    cr_assert(!plan->options.force && !plan->options.on_event);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    return threads;
}

/* A caller that was compiled when the struct was shorter: what lies behind its end is no option. */
Test(options, of_an_older_caller_end_where_it_says)
{
    const struct ts_options options = {.size = offsetof(struct ts_options, force),
                                       .device = "cpu",
                                       .threads = 3,
                                       .force = true,
                                       .on_event = (void (*)(void *, const struct ts_event *))1};
    cr_assert_eq(threads_of(&options), 3);
}

Test(options, without_a_size_are_those_of_this_library)
{
    const struct ts_options options = {.device = "cpu", .threads = 5};
    struct ts_options defaults = TS_OPTIONS_DEFAULT;
    cr_assert_eq(threads_of(&options), 5);
    cr_assert_eq(defaults.size, sizeof defaults);
    defaults.device = "cpu";
    defaults.threads = 7;
    cr_assert_eq(threads_of(&defaults), 7);
}
