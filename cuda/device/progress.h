/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a map that iterates is on a CUDA device. Its kernels write that to pinned memory as they
 * go, so that a thread of the host can read it at any time and the device waits for nobody. Kernels
 * write with cuda/device/progress.cuh.
 */
#ifndef CUDA_DEVICE_PROGRESS_H
#define CUDA_DEVICE_PROGRESS_H

#include <string.h>

#include "stages/engine/stage.h"

/* One call of map() and its latest iteration. Calls are counted from 1; 0: nothing was written
 * yet. */
struct cuda_progress_record {
    int64_t call;
    struct stage_iteration iteration;
};

/* Kernels of one stream write the first record, and then the second: both are equal where nobody is
 * writing. */
struct cuda_progress {
    struct cuda_progress_record records[2];
};

/* Copies the record. Returns false, and *record is undefined, where a kernel was writing it or none
 * has. The second is copied first, so that whatever is written meanwhile makes a difference. */
static inline bool ts_cuda_progress_read(const struct cuda_progress *progress,
                                         struct cuda_progress_record *record)
{
    struct cuda_progress_record first;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* neither copy is an earlier one, or both the same */
    memcpy(record, &progress->records[1], sizeof *record);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(&first, &progress->records[0], sizeof first);
    return record->call > 0 && memcmp(&first, record, sizeof first) == 0;
}

#endif
