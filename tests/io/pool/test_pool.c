/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a pool: each part is done once, and of several failures the lowest is reported,
 * whatever the number of threads.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/pool/pool.h"
#include "tests/files/dicom_open.h"

enum { PARTS = 500 };

struct work {
    atomic_int done[PARTS], at_once[8];
    int threads, fails; /* every part from `fails` on fails */
};

static enum ts_status do_part(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    struct work *work = user;
    if (thread < 0 || thread >= work->threads || atomic_fetch_add(&work->at_once[thread], 1) != 0)
        return ts_diag_error(diag, TS_RUN_FAILED, NULL, "thread %d was given twice or is too high",
                             thread);
    atomic_fetch_add(&work->done[i], 1);
    if (i >= work->fails && i % 2 == 0)
        usleep(200); /* so that a later part fails before it */
    atomic_fetch_sub(&work->at_once[thread], 1);
    if (i < work->fails)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "planted"}, "part %d is bad",
                  (int)i);
    return ts_diag_hint(diag, "mend part %d", (int)i);
}

Test(pool, each_part_is_done_once)
{
    for (int threads = 1; threads <= 8; threads++) {
        struct pool *pool = ts_pool_create(threads);
        struct ts_diag *diag = ts_diag_create();
        cr_assert(pool && ts_pool_threads(pool) == threads);
        for (int most = 1; most <= threads; most++) {
            struct work work = {.threads = most, .fails = PARTS};
            cr_assert_eq(ts_pool_run(pool, most, PARTS, do_part, &work, diag), TS_OK);
            for (int i = 0; i < PARTS; i++)
                cr_assert_eq(work.done[i], 1);
            cr_assert_eq(ts_pool_run(pool, most, 0, do_part, &work, diag), TS_OK);
        }
        cr_assert_eq(ts_diag_count(diag), 0);
        ts_diag_destroy(diag);
        ts_pool_destroy(pool);
    }
}

Test(pool, the_lowest_failure_is_reported)
{
    struct pool *pool = ts_pool_create(4);
    struct ts_diag *diag = ts_diag_create();
    for (int fails = 0; fails < 60; fails++) {
        struct work work = {.threads = 4, .fails = fails};
        char text[32];
        int done = 0;
        snprintf(text, sizeof text, "part %d is bad", fails);
        cr_assert_eq(ts_pool_run(pool, 4, PARTS, do_part, &work, diag), TS_BAD_INPUT);
        cr_assert_eq(ts_diag_count(diag), 1);
        ts_test_expect(diag, "planted", text);
        cr_assert_eq(strtol(ts_diag_get(diag, 0)->hint + strlen("mend part "), NULL, 10), fails);
        for (int i = 0; i < PARTS; i++)
            done += work.done[i];
        cr_assert_lt(done, fails + 8, "%d parts were begun after the failure", done - fails);
        ts_diag_clear(diag);
    }
    ts_diag_destroy(diag);
    ts_pool_destroy(pool);
}

Test(pool, a_stop_ends_a_job)
{
    struct pool *pool = ts_pool_create(2);
    struct ts_diag *diag = ts_diag_create();
    struct work work = {.threads = 2, .fails = PARTS};
    ts_pool_stop(pool);
    cr_assert_eq(ts_pool_run(pool, 2, PARTS, do_part, &work, diag), TS_STOPPED);
    cr_assert_eq(work.done[0] + work.done[1], 0);
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_diag_destroy(diag);
    ts_pool_destroy(pool);
}
