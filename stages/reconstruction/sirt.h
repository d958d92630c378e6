/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt reconstructs every slice by simultaneous iterative reconstruction: each step projects the
 * slice, compares with the sinogram, and backprojects the difference. It needs many steps but is
 * robust if views are few or noisy. sirt.c has the formula; cuda/reconstruction/sirt.cu reads the
 * same parameters.
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
