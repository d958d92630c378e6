/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds views of a slice that are no measurements of their angle: frames that a camera gave again, and frames
 * without the object. Values are rows (view, detector). Each function returns how many there are, and the first and the
 * last of them.
 */
#ifndef PIPELINE_RUN_RUN_VIEWS_H
#define PIPELINE_RUN_RUN_VIEWS_H

#include <stdint.h>

/* Views whose values are those of the view before, among views with noise: in the pairs that differ, at least nine of
 * ten detector pixels differ in at least half. Noiseless air stays the same, so that the views of a symmetric phantom
 * are none. */
int64_t ts_views_find_repeated(const float *counts, int64_t n_views, int64_t n, int64_t *first, int64_t *last);
/* Views whose least transmission is as good as the most, averaged over 16ths of the row, where half of the views show
 * an object that takes away a fifth at least, and so do the views beside. */
int64_t ts_views_find_blank(const float *transmission, int64_t n_views, int64_t n, int64_t *first, int64_t *last);

#endif
