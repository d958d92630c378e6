/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that a launcher has started beside others, and that does not know of them, says so.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/fleet/ranks/ranks.h"

static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        "PMIX_RANK"};

static void clear(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
}

TestSuite(ranks_alone, .init = clear);

/* Returns the processes of which the warning speaks; 0: there is none. */
static int warned(void)
{
    struct ts_diag *diag = ts_diag_create();
    int n = 0;
    cr_assert(diag);
    ts_ranks_warn_alone(diag);
    cr_assert_leq(ts_diag_count(diag), 1);
    const struct ts_diag_record *record = ts_diag_get(diag, 0);
    if (record) {
        cr_assert(record->severity == TS_WARNING && !strcmp(record->code, "ranks-alone"));
        n = atoi(record->message + strcspn(record->message, "0123456789"));
    }
    ts_diag_destroy(diag);
    return n;
}

Test(ranks_alone, without_a_launcher_nothing_is_said)
{
    cr_assert_eq(warned(), 0);
    for (size_t i = 0; i < 3; i++) {
        clear();
        setenv(variables[i], "1", 1);
        cr_assert_eq(warned(), 0, "%s", variables[i]);
    }
}

Test(ranks_alone, every_launcher_counts_its_processes)
{
    for (size_t i = 0; i < 3; i++) {
        clear();
        setenv(variables[i], "3", 1);
        cr_assert_eq(warned(), 3, "%s", variables[i]);
    }
    clear();
    setenv("PMIX_RANK", "0", 1);
    cr_assert_eq(warned(), 0);
    setenv("PMIX_RANK", "2", 1);
    cr_assert_eq(warned(), 3);
}

/* Slurm's step has a task for each node, in which mpirun starts what it was asked for. */
Test(ranks_alone, the_inner_launcher_decides)
{
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    cr_assert_eq(warned(), 0);
    setenv("OMPI_COMM_WORLD_SIZE", "none", 1);
    cr_assert_eq(warned(), 4);
}
