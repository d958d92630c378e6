/* SPDX-License-Identifier: Apache-2.0
 *
 * This tells how far an iterating map is on a CUDA device. Its kernels write that to pinned memory
 * (with cuda/device/progress.cuh), so a thread of the host can read it at any time and the device
 * never waits.
 */
#ifndef CUDA_DEVICE_PROGRESS_H
#define CUDA_DEVICE_PROGRESS_H

#include <string.h>

#include "stages/engine/stage.h"

/* One call of map() and its latest iteration. Calls count from 1; 0: nothing was written yet. */
struct cuda_progress_record {
    int64_t call;
    struct stage_iteration iteration;
};

/* Kernels of one stream write the first record and then the second: both are equal unless a kernel
 * is writing. */
struct cuda_progress {
    struct cuda_progress_record records[2];
};

/* Copies the record. Returns false, with *record undefined, if a kernel was writing it or nothing
 * was written yet. The second record is copied first, so that any write in between makes the two
 * differ. */
static inline bool ts_cuda_progress_read(const struct cuda_progress *progress,
                                         struct cuda_progress_record *record)
{
    struct cuda_progress_record first;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* keeps the order of the two copies */
    memcpy(record, &progress->records[1], sizeof *record);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(&first, &progress->records[0], sizeof first);
    return record->call > 0 && memcmp(&first, record, sizeof first) == 0;
}

#endif
