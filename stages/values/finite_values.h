/* SPDX-License-Identifier: Apache-2.0
 *
 * This reduction only checks values. One that is NaN or infinite ends the run before it spoils a
 * whole slice, and the message states where the first one is. It is for stages on sinograms whose
 * every output depends on many inputs. Integers are not checked.
 */
#ifndef STAGES_VALUES_FINITE_VALUES_H
#define STAGES_VALUES_FINITE_VALUES_H

#include "stages/engine/stage.h"

/* Partial result of a slice. Zero bytes stand for a slice of zeros. */
struct not_finite {
    uint64_t n;
    uint64_t not_first; /* ~ of the index of the first one in the volume */
    uint64_t
        largest; /* the bits of the largest magnitude as a float, whose order is that of floats */
};

/* Result of a slice, for maps that can use it: the reduction has looked at every value anyway. */
struct finite_slice {
    uint64_t largest; /* as above; a number */
};

extern const struct stage_reduction ts_finite_reduction;
#ifdef TS_HAVE_CUDA
extern const struct cuda_reduction ts_cuda_finite_reduction;
#endif

#endif
