/* SPDX-License-Identifier: Apache-2.0
 *
 * Below a number is up to the double before it, because every value of an image is a double.
 */
#include "stages/regions/threshold_keys.h"

#include <math.h>

struct key_range ts_threshold_keys(enum ts_dtype dtype, double above, double below)
{
    const struct key_range all = ts_value_keys_all(dtype);
    const struct key_range high = isfinite(above) ? ts_value_keys_above(dtype, above) : all;
    const struct key_range low =
        isfinite(below) ? ts_value_keys_up_to(dtype, nextafter(below, (double)-INFINITY)) : all;
    const bool none = high.low > high.high || low.low > low.high;
    return none ? (struct key_range){1, 0} : (struct key_range){high.low, low.high};
}
