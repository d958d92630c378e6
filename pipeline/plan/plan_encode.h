/* SPDX-License-Identifier: Apache-2.0
 *
 * This plans the outputs that a CUDA device compresses itself, so that only compressed bytes cross
 * the bus: how many chunks one call takes, and the memory for it. The plan must count that memory
 * before the run, because it chooses the slabs that fit into the device. Built only with CUDA.
 */
#ifndef PIPELINE_PLAN_PLAN_ENCODE_H
#define PIPELINE_PLAN_PLAN_ENCODE_H

#include "cuda/deflate/deflate.h"
#include "io/file/chunks.h"
#include "pipeline/plan/plan.h"

/* How one output is encoded, and how much device memory that takes. */
struct plan_encode {
    struct chunk_grid grid;
    enum cuda_deflate_level level;
    int64_t slab_chunks; /* most chunks that become whole within a slab */
    int64_t call_chunks; /* most chunks of one call */
    /* bytes of the values of a slab, and of those before it whose chunk is not whole yet */
    size_t values_bytes;
    size_t chunk_bound;   /* most bytes of an encoded chunk, with its alignment */
    size_t encoded_bytes; /* most bytes of a slab's encoded chunks */
    size_t piece_bytes;   /* encoded bytes that are downloaded at once: of one chunk at least */
    size_t places_bytes;  /* for the offsets and lengths of the encoded chunks */
    size_t scratch_bytes; /* scratch memory of a call */
};

/* Describes how the output of a node is encoded. Returns false if it leaves the device as values:
   on the CPU, without compression, and if the node is no output. */
bool ts_plan_encode(const struct ts_plan *plan, int32_t node, struct plan_encode *encode);
/* Describes a call that encodes n chunks. The last one has so many bytes inside the array. */
struct cuda_deflate ts_plan_encode_job(const struct plan_encode *encode, int64_t n_chunks,
                                       size_t last_bytes);
/* Returns the scratch memory of the largest call of all outputs, which share it in turn. */
size_t ts_plan_encode_scratch_bytes(const struct ts_plan *plan);

#endif
