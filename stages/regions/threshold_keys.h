/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule of thresholds that are given, which threshold and bounds share.
 */
#ifndef STAGES_REGIONS_THRESHOLD_KEYS_H
#define STAGES_REGIONS_THRESHOLD_KEYS_H

#include "stages/values/value_keys.h"

/* Returns the keys of the values with above < value < below. An infinite number is no bound, and infinite values lie
 * beyond any that is one. */
struct key_range ts_threshold_keys(enum ts_dtype dtype, double above, double below);

#endif
