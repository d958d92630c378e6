/* SPDX-License-Identifier: Apache-2.0
 *
 * cgls: least-squares reconstruction of every slice by conjugate gradients.
 */
#ifndef STAGES_RECONSTRUCTION_CGLS_H
#define STAGES_RECONSTRUCTION_CGLS_H

#include "stages/reconstruction/iterate.h"

extern const struct stage cgls_stage;
extern const struct stage_cuda cgls_cuda;
extern const struct iterate_needs ts_cgls_needs;

#endif
