/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a pool share out the numbered parts of a job, such as the chunks of a box or the
 * slices of a range, and the job is done when all parts are. The calling thread is one of them.
 */
#ifndef IO_POOL_POOL_H
#define IO_POOL_POOL_H

#include <stdint.h>

#include "core/diag.h"

struct pool;

/* Does part i. `thread` is less than the number of threads, and no two parts run at once with the
   same one, so it can be the index of a buffer. Errors go to `diag`, which belongs to that
   thread. */
typedef enum ts_status pool_part(void *user, int thread, int64_t i, struct ts_diag *diag);

/* Creates a pool of `threads` threads, at least 1; NULL if memory is out. None starts before the
 * first job. */
struct pool *ts_pool_create(int threads);
/* Ends the threads. NULL does nothing. */
void ts_pool_destroy(struct pool *pool);
/* Does parts 0 to n - 1 by at most `threads` threads, which begin them in rising order. No part
   begins after a failure. Reports and returns the failure of the lowest part that failed, which is
   the one that a single thread would have met; TS_STOPPED if the pool was stopped. Runs one job at
   a time. If threads cannot be started, fewer do the work. */
enum ts_status ts_pool_run(struct pool *pool, int threads, int64_t n, pool_part *part, void *user,
                           struct ts_diag *diag);
/* Ends the job that another thread runs, before its next part, and every later job. */
void ts_pool_stop(struct pool *pool);
int ts_pool_threads(const struct pool *pool);

#endif
