/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RING_REFERENCE_H
#define TESTS_RING_REFERENCE_H

#include "stages/stage.h"

/* Sorted columns, sorted windows, every value back by its view. */
void ts_ring_reference(const struct stage_context *context, const double *in, double *out);

#endif
