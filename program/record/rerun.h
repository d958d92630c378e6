/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides on which device a recorded chain runs again, how far the second result may be from the
 * first, and what their comparison proves.
 */
#ifndef PROGRAM_RECORD_RERUN_H
#define PROGRAM_RECORD_RERUN_H

#include "program/record/comparison.h"
#include "program/record/made.h"

/* Returns the tolerance of images whose values have at most this magnitude: twice the sum of the
   tolerances that the stages of the chain state against the exact values, since each run may be
   that far from them, and the rounding to halves if the output has halves. `chain` is a struct
   ts_chain. For comparison_request.tolerance_of. */
double ts_rerun_tolerance(const void *chain, const char *image, double magnitude);

enum rerun_verdict {
    RERUN_SAME,       /* all images and tables have the same bytes */
    RERUN_WITHIN,     /* differences are within the tolerance, on another build or device */
    RERUN_BEYOND,     /* it */
    RERUN_UNEXPLAINED /* bytes differ although build and device are the same */
};
/* Judges a comparison of the first result with the second. *input is the name of an input whose
   pixels differ, which proves nothing about the chain; or NULL. */
enum rerun_verdict ts_rerun_judge(const struct comparison *comparison, const char **input);

#endif
