/* SPDX-License-Identifier: Apache-2.0
 *
 * The pseudo-code of DICOM PS3.3, word for word.
 */
#include "tests/reference/window_reference.h"

#include <math.h>

double ts_window_reference_linear(double x, double c, double w, double y_min, double y_max)
{
    if (x <= c - 0.5 - (w - 1) / 2)
        return y_min;
    if (x > c - 0.5 + (w - 1) / 2)
        return y_max;
    return ((x - (c - 0.5)) / (w - 1) + 0.5) * (y_max - y_min) + y_min;
}

double ts_window_reference_linear_exact(double x, double c, double w, double y_min, double y_max)
{
    if (x <= c - w / 2)
        return y_min;
    if (x > c + w / 2)
        return y_max;
    return ((x - c) / w + 0.5) * (y_max - y_min) + y_min;
}

double ts_window_reference_sigmoid(double x, double c, double w, double y_min, double y_max)
{
    return (y_max - y_min) / (1 + exp(-4 * (x - c) / w)) + y_min;
}
