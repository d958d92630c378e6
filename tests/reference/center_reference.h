/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CENTER_REFERENCE_H
#define TESTS_CENTER_REFERENCE_H

#include <stdint.h>

/* Vo's measure of a sinogram (view, detector) over half a turn, for a trial center (n_detectors - 1 + shift) / 2. */
double ts_center_measure_reference(const double *p, int64_t n_views, int64_t n_detectors, int64_t shift);

#endif
