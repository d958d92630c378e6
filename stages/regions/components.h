/* SPDX-License-Identifier: Apache-2.0
 *
 * components numbers the connected parts of a mask by their size, and keeps those that the chain
 * wants. The layout of its result is here because the CPU code and cuda/regions/components.cu both
 * read it.
 */
#ifndef STAGES_REGIONS_COMPONENTS_H
#define STAGES_REGIONS_COMPONENTS_H

#include "stages/regions/mask_runs.h"

enum components_output { COMPONENTS_LABELS, COMPONENTS_MASK };
enum { COMPONENTS_ROWS = 256, COMPONENTS_MOST = 65535 };

struct components_params {
    int64_t neighbors;         /* 6, 18 or 26 */
    struct ts_numbers largest; /* one number; none: all */
    double least_mm3;
    int32_t output; /* enum components_output */
    struct ts_numbers label;
};

/* The result: bits of the parts that are kept, for labels also the number of the first run of each
 * row, and the label of each run. */
struct components_result {
    uint64_t *bits;
    uint32_t *row, *labels;
};
/* Returns where these are in a result, and how many bytes it has. */
struct components_result ts_components_result(const struct stage_context *context, void *result,
                                              size_t *bytes);
/* Returns the values of the mask. */
struct mask_values ts_components_values(const struct stage_context *context);

#endif
