/* SPDX-License-Identifier: Apache-2.0
 *
 * ring removes the vertical stripes of sinograms that a reconstruction would turn into rings. It
 * has two methods: one sorts each detector pixel's values over the views, the other removes stripes
 * from the parts of a wavelet transform. The sizes on which the CPU code and cuda/scan/ring.cu must
 * agree are declared here.
 */
#ifndef STAGES_SCAN_RING_H
#define STAGES_SCAN_RING_H

#include "stages/scan/ring_wavelet.h"

enum { RING_LARGEST = 127 }; /* detector pixels in the median of method sorting */

/* A thread of a CUDA device sorts this many values by itself, so a column has at least as many
 * places. */
enum { RING_LEAST_PLACES = 16 };
/* Return the places for the views of a column on a CUDA device, and the bytes of shared memory that
 * sorting them needs. */
int ts_ring_places(int64_t n_views);
size_t ts_ring_column_bytes(int64_t n_views);

#endif
