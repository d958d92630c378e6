/* SPDX-License-Identifier: Apache-2.0
 *
 * One value to a range, as scikit-image states it. An empty range sends its one value to out_low.
 */
#include "tests/reference/rescale_reference.h"

double ts_rescale_reference(double x, double low, double high, double out_low, double out_high, bool clip)
{
    if (clip && x > high)
        x = high;
    if (clip && x < low)
        x = low;
    const double share = high > low ? (x - low) / (high - low) : x - low;
    return share * (out_high - out_low) + out_low;
}
