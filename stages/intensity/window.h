/* SPDX-License-Identifier: Apache-2.0
 *
 * window maps a range of values to a range of gray by the VOI functions of DICOM, as a viewer does.
 * The range is given by center and width, or by the values at its two ends. window.c has the
 * formulas. The parameters are here because the CPU code and the launcher in
 * cuda/intensity/window.cu both read them.
 */
#ifndef STAGES_INTENSITY_WINDOW_H
#define STAGES_INTENSITY_WINDOW_H

#include "stages/engine/stage.h"

enum window_function { WINDOW_LINEAR, WINDOW_LINEAR_EXACT, WINDOW_SIGMOID };
enum window_unit { WINDOW_IMAGE, WINDOW_HU };

struct window_params {
    double center, width, low, high;
    int32_t function; /* enum window_function */
    int32_t unit;     /* enum window_unit */
    int32_t dtype;    /* enum out_dtype */
    double out_low, out_high;
};

#endif
