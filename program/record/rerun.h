/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides on which device a recorded chain runs again, how far the second result may be from
 * the first, and what their comparison proves.
 */
#ifndef PROGRAM_RECORD_RERUN_H
#define PROGRAM_RECORD_RERUN_H

#include "program/record/comparison.h"
#include "program/record/made.h"

/* Returns the tolerance of images whose values have at most this magnitude: twice the sum of the
 * tolerances that the stages of the chain state against the exact values, since each run may be as
 * far from them, with the rounding to halves where the output has them. `chain` is a struct
 * ts_chain. For comparison_request.tolerance_of. */
double ts_rerun_tolerance(const void *chain, const char *image, double magnitude);

enum rerun_verdict {
    RERUN_SAME,       /* all images and tables have the same bytes */
    RERUN_WITHIN,     /* the tolerance, on another build or device */
    RERUN_BEYOND,     /* it */
    RERUN_UNEXPLAINED /* other bytes although build and device are the same */
};
/* Judges a comparison of the first result with the second. *input is the name of an input whose
 * pixels were others, or NULL; then nothing follows for the chain. */
enum rerun_verdict ts_rerun_judge(const struct comparison *comparison, const char **input);

#endif
