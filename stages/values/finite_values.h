/* SPDX-License-Identifier: Apache-2.0
 *
 * This reduction only checks values. A NaN or an infinite value ends the run before it spoils a
 * whole slice, and the message says where the first one is. It is for stages on sinograms whose
 * every output depends on many inputs. Integers are not checked.
 */
#ifndef STAGES_VALUES_FINITE_VALUES_H
#define STAGES_VALUES_FINITE_VALUES_H

#include "stages/engine/stage.h"

/* The partial result of a slice. Zero bytes mean a slice of zeros. */
struct not_finite {
    uint64_t n;
    uint64_t not_first; /* ~ of the index in the volume of the first value that is not finite */
    uint64_t
        largest; /* the largest magnitude as the bits of a float, which have the order of floats */
};

/* The result of a slice, for maps that can use it: the reduction has looked at every value
 * anyway. */
struct finite_slice {
    uint64_t largest; /* as above; finite */
};

extern const struct stage_reduction ts_finite_reduction;
#ifdef TS_HAVE_CUDA
extern const struct cuda_reduction ts_cuda_finite_reduction;
#endif

#endif
