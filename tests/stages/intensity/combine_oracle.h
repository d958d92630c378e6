/* SPDX-License-Identifier: Apache-2.0
 *
 * Two images by the definition of each operation, pixel by pixel in double.
 */
#ifndef TESTS_STAGES_INTENSITY_COMBINE_ORACLE_H
#define TESTS_STAGES_INTENSITY_COMBINE_ORACLE_H

#include "tests/support/oracles.h"

/* What becomes of a pixel. */
enum combine_fate {
    FATE_STAYS,      /* the value of the image, as valid as it was */
    FATE_COMBINED,   /* the result of the operation, valid */
    FATE_DIVIDED,    /* by 0: the value 0, invalid */
    FATE_UNMEASURED, /* the value of the image, invalid */
};
enum combine_fate ts_combine_oracle_fate(const struct stage_context *context,
                                         const struct ts_image inputs[STAGE_INPUTS], int64_t z,
                                         int64_t pixel);
/* The image, for the benchmark and the tests, and the table `divided_by_zero`. */
void ts_combine_oracle_results(const struct stage_context *context,
                               const struct ts_image inputs[STAGE_INPUTS], double *out,
                               struct bench_tables *tables);

#endif
