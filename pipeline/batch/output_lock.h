/* SPDX-License-Identifier: Apache-2.0
 *
 * Several batches may want to make one output. This locks it, by flock() on `.NAME.lock` beside it. The process that
 * computes the output inherits the descriptor, so that the lock is held for as long as that process or the batch lives,
 * and a batch that is killed leaves no lock behind, only an empty file.
 */
#ifndef PIPELINE_BATCH_OUTPUT_LOCK_H
#define PIPELINE_BATCH_OUTPUT_LOCK_H

#include "core/diag.h"

enum { OUTPUT_LOCK_BUSY = -1 };

/* Tries to lock the output `name` in the folder, without waiting. *lock is the descriptor, or OUTPUT_LOCK_BUSY where
 * another process has it. Returns TS_RUN_FAILED (batch-lock) where the folder takes no locks. */
enum ts_status ts_output_lock(const char *folder, const char *name, int *lock, struct ts_diag *diag);
/* Removes the lock's file and closes it. */
void ts_output_unlock(const char *folder, const char *name, int lock);

#endif
