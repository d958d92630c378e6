/* SPDX-License-Identifier: Apache-2.0
 *
 * combine makes one image of two, pixel by pixel. The parameters and the arithmetic of a pixel are
 * here because the CPU code and cuda/intensity/combine.cu both use them.
 */
#ifndef STAGES_INTENSITY_COMBINE_H
#define STAGES_INTENSITY_COMBINE_H

#include "stages/engine/stage.h"

enum combine_op {
    COMBINE_ADD,
    COMBINE_SUBTRACT,
    COMBINE_MULTIPLY,
    COMBINE_DIVIDE,
    COMBINE_AVERAGE,
    COMBINE_MAXIMUM,
    COMBINE_MINIMUM
};

/* The references in the order of their parameters, counted as inputs. */
enum combine_input { COMBINE_IMAGE, COMBINE_OTHER, COMBINE_MASK };

enum { COMBINE_UNIT_BYTES = 64 };

struct combine_params {
    struct ts_reference other;
    int32_t op; /* enum combine_op */
    struct ts_reference mask;
    /* In no table; resolve() writes the unit of a product or ratio, and the result's quantity. */
    char unit[COMBINE_UNIT_BYTES];
    enum ts_quantity quantity;
};

#ifdef __CUDACC__
#define COMBINE_DEVICE __device__
#else
#define COMBINE_DEVICE
#endif

/* Returns a op b. A divisor of 0 gives 0. NaN in either gives NaN; no comparison with it is true.
 */
static inline COMBINE_DEVICE double ts_combine_values(int32_t op, double a, double b)
{
    switch (op) {
    case COMBINE_ADD:
        return a + b;
    case COMBINE_SUBTRACT:
        return a - b;
    case COMBINE_MULTIPLY:
        return a * b;
    case COMBINE_DIVIDE:
        return b == 0 ? 0 : a / b;
    case COMBINE_AVERAGE:
        return 0.5 * (a + b);
    case COMBINE_MAXIMUM:
        return a > b || a != a ? a : b;
    default:
        return a < b || a != a ? a : b;
    }
}

#endif
