/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INVERT_REFERENCE_H
#define TESTS_INVERT_REFERENCE_H

#include "pipeline/image.h"

/* skimage.util.invert of one value of this type. */
double ts_invert_reference(double x, enum ts_dtype dtype);

#endif
