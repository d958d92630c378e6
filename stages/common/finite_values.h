/* SPDX-License-Identifier: Apache-2.0
 *
 * A reduction that only looks: a value that is NaN or infinite ends the run, before it spoils a whole slice, and the
 * message says where the first one is. For stages on sinograms whose every output depends on many inputs. Integers are
 * not looked at.
 */
#ifndef STAGES_COMMON_FINITE_VALUES_H
#define STAGES_COMMON_FINITE_VALUES_H

#include "stages/stage.h"

/* Of a slice; zero bytes are one in which all is well. */
struct not_finite {
    uint64_t n;
    uint64_t not_first; /* ~ of the index of the first one in the volume */
};

extern const struct stage_reduction ts_finite_reduction;
#ifdef TS_HAVE_CUDA
extern const struct cuda_reduction ts_cuda_finite_reduction;
#endif

#endif
