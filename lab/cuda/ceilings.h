/* SPDX-License-Identifier: Apache-2.0
 *
 * This measures the most that a device can do, with kernels that do nothing else. Benchmarks are
 * compared with these ceilings.
 */
#ifndef LAB_CUDA_CEILINGS_H
#define LAB_CUDA_CEILINGS_H

#include "cuda/device/session.h"

struct cuda_ceilings {
    double copy; /* bytes read and written a second, from one half of a large buffer to the other */
    double read; /* bytes read a second */
    double texture; /* bilinear fetches a second from one float channel of 512 x 512 */
};

/* Measures the ceilings. Allocates 2 GiB of the device, or a quarter of its memory, until the
 * session ends. */
enum ts_status ts_cuda_ceilings_measure(struct cuda_session *session, struct ts_diag *diag,
                                        struct cuda_ceilings *ceilings);
/* Keeps CUDA_COMPUTE busy for some 50 microseconds, so that what is enqueued after it starts
 * without a gap. */
enum ts_status ts_cuda_delay(struct cuda_session *session, struct ts_diag *diag);

#endif
