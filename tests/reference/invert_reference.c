/* SPDX-License-Identifier: Apache-2.0
 *
 * skimage.util.invert: unsigned integers are taken from their maximum, signed ones from -1, floats from 1.
 */
#include "tests/reference/invert_reference.h"

double ts_invert_reference(double x, enum ts_dtype dtype)
{
    switch (dtype) {
    case TS_U8:
        return 255 - x;
    case TS_U16:
        return 65535 - x;
    case TS_U32:
        return 4294967295.0 - x;
    case TS_F32:
        return 1 - x;
    default:
        return -1 - x;
    }
}
