/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers are the threads of one source. They share out the numbered parts of a job, such as the chunks of a box or the
 * slices of a range, and the job is done when all parts are. The calling thread is one of them.
 */
#ifndef IO_SOURCE_READERS_H
#define IO_SOURCE_READERS_H

#include <stdint.h>

#include "core/diag.h"

struct readers;

/* Does part i. `thread` is less than the number of threads, and no two parts run at once with the same one: so it
 * chooses buffers. Reports to `diag`, which is the thread's own. */
typedef enum ts_status reader_part(void *user, int thread, int64_t i, struct ts_diag *diag);

/* Creates readers of `threads` threads, at least 1; NULL where memory is out. None starts before the first job. */
struct readers *ts_readers_create(int threads);
/* Ends the threads. NULL does nothing. */
void ts_readers_destroy(struct readers *readers);
/* Does parts 0 to n - 1 by at most `threads` threads, which begin them in rising order. After a failure no part is
 * begun. Reports and returns the failure of the lowest part that failed, which is the one that a single thread would
 * have met; TS_STOPPED where the readers were stopped. One job at a time. Where threads cannot be started, fewer do the
 * work. */
enum ts_status ts_readers_run(struct readers *readers, int threads, int64_t n, reader_part *part, void *user,
                              struct ts_diag *diag);
/* Ends a job that another thread waits for before its next parts, and every later one. */
void ts_readers_stop(struct readers *readers);
int ts_readers_threads(const struct readers *readers);

#endif
