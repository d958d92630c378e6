/* SPDX-License-Identifier: Apache-2.0
 *
 * filter applies a filter of filtered backprojection to the rows of a sinogram without
 * backprojection, so that filtered rows can be inspected or backprojected by a different stage. The
 * filter itself is that of stages/projection/row_filter.h, as in fbp. cuda/projection/filter.cu
 * reads the same parameters.
 */
#ifndef STAGES_PROJECTION_FILTER_H
#define STAGES_PROJECTION_FILTER_H

#include "stages/engine/stage.h"
#include "stages/projection/row_filter.h"

struct filter_params {
    int32_t filter; /* enum row_filter_name */
    double cutoff;
    char unit[LENGTH_UNIT_BYTES]; /* in no table: the unit of the result, which resolve() writes */
};

/* Returns the filter of the resolved parameters for the context's input. */
struct row_filter ts_filter_of(const struct stage_context *context);

#endif
