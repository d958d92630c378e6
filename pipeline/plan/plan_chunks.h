/* SPDX-License-Identifier: Apache-2.0
 *
 * This plans the outputs of which every rank of the CPU compresses the chunks that lie whole in its slab, so that rank
 * 0 only inflates, digests and writes them.
 */
#ifndef PIPELINE_PLAN_PLAN_CHUNKS_H
#define PIPELINE_PLAN_PLAN_CHUNKS_H

#include "io/file/chunks.h"
#include "pipeline/plan/plan.h"

struct plan_chunks {
    struct chunk_grid grid; /* every chunk is full but the last one of the array, and a slice may have several */
    struct chunk_filters filters;
    size_t bound; /* most bytes of an encoded chunk */
};

/* Fills in how ranks encode the output that holds a node's image, of all volumes or values of a sweep. Returns false
 * where values go to rank 0: without compression, where outputs of other formats want them, and where a slice is cut
 * into chunks that are not all full. */
bool ts_plan_chunks(const struct ts_plan *plan, int32_t node, struct plan_chunks *chunks);
/* Returns how many chunks lie whole in slices [z, z + n) of the output, and the first of them in *first. Slices have
 * the bytes that they have in the file. */
int64_t ts_plan_whole_chunks(const struct plan_chunks *chunks, size_t slice_bytes, int64_t z, int64_t n,
                             int64_t *first);
/* Returns the deflate level of the HDF5 output. */
int ts_plan_level(const struct ts_plan *plan);

#endif
