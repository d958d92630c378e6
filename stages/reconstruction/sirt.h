/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt: simultaneous iterative reconstruction of every slice.
 */
#ifndef STAGES_RECONSTRUCTION_SIRT_H
#define STAGES_RECONSTRUCTION_SIRT_H

#include "stages/reconstruction/iterate.h"

struct sirt_params {
    struct iterate_params iterate;
    double relaxation;
    bool nonnegative;
};

#endif
