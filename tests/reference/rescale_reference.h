/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RESCALE_REFERENCE_H
#define TESTS_RESCALE_REFERENCE_H

#include <stdbool.h>

/* skimage.exposure.rescale_intensity of one value. */
double ts_rescale_reference(double x, double low, double high, double out_low, double out_high, bool clip);

#endif
