/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels call these functions to report how far their map is (cuda/device/progress.h). One thread
 * writes 96 bytes to memory of the host, which takes a microsecond or two.
 */
#ifndef CUDA_DEVICE_PROGRESS_CUH
#define CUDA_DEVICE_PROGRESS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/progress.h"
}

/* A kernel gets this by value, and adds the residual when it reports. */
struct cuda_report {
    struct cuda_progress *to; /* NULL: nobody asks */
    struct cuda_progress_record record;
};

/* Returns the report of a call that has done `done` of at most `most` iterations. `part` is as in
 * struct stage_iteration. */
static inline struct cuda_report ts_cuda_report(const struct cuda_call *call, int64_t done,
                                                int64_t most, double part)
{
    const struct cuda_report report = {call->progress, {call->number, {done, most, NAN, part}}};
    return report;
}

/* Writes the report. One thread of a kernel calls this. */
static __device__ inline void ts_cuda_report_write(const struct cuda_report &report,
                                                   double residual)
{
    for (int k = 0; report.to && k < 2; k++) {
        volatile struct cuda_progress_record *record = &report.to->records[k];
        record->call = report.record.call;
        record->iteration.done = report.record.iteration.done;
        record->iteration.most = report.record.iteration.most;
        record->iteration.residual = residual;
        record->iteration.part = report.record.iteration.part;
        __threadfence_system();
    }
}

#endif
