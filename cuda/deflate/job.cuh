/* SPDX-License-Identifier: Apache-2.0
 *
 * These structs and sizes describe one call of the compressor to all its kernels. A chunk is
 * shuffled: byte j of all its elements makes plane j. A plane is cut into segments of 32 KiB, each
 * compressed by one block into a slot of scratch memory of its own, as a run of whole bytes. A
 * segment is cut into strips of 128 bytes, one for each thread. Segments are numbered in the order
 * of their chunk's stream: all of plane 0, then plane 1, and so on.
 *
 * Segments of 32 KiB gave the smallest files: shorter ones pay more for their tables of codes,
 * longer ones fit their codes less well to what they hold.
 */
#ifndef CUDA_DEFLATE_JOB_CUH
#define CUDA_DEFLATE_JOB_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/deflate/deflate.h"
}

enum {
    SEGMENT = 32768,
    STRIP = 128,
    DEFLATE_THREADS = SEGMENT / STRIP,
    WORDS = SEGMENT / 4, /* 32-bit words of a segment */
    STRIP_WORDS = STRIP / 4,
    STORED_BYTES = 5,    /* bytes that a stored block has beside its data */
    SLOT = SEGMENT + 32, /* bytes of a slot: no segment grows by more than STORED_BYTES, and words
                          * are written whole */
    ZLIB_HEADER_BYTES = 2,
    ADLER_BYTES = 4,
    FLETCHER_BYTES = 4,
    ADLER_MODULUS = 65521,
    FLETCHER_MODULUS = 65535
};

/* What the compression of a segment leaves, from which the segments are joined to a chunk. */
struct segment_result {
    uint32_t bytes;  /* compressed length in bytes */
    uint32_t sum;    /* sum of the uncompressed bytes, modulo ADLER_MODULUS */
    uint32_t ramp;   /* sum of uncompressed byte i times (n - i), modulo ADLER_MODULUS */
    uint32_t offset; /* place of its compressed bytes in the encoded chunk */
    uint32_t fletcher_1,
        fletcher_2; /* its shares of the chunk's two Fletcher sums, modulo FLETCHER_MODULUS */
};

struct deflate_job {
    const uint8_t *chunks;
    struct cuda_deflate call;
    uint64_t fill;                  /* fill value: its byte j fills plane j */
    int64_t plane_bytes;            /* bytes of a plane, which is the number of elements of a
                                     * chunk */
    int64_t last_elements;          /* elements of the last chunk that are inside the array */
    uint32_t plane_segments;        /* segments of a plane */
    uint32_t segments;              /* segments of a chunk */
    struct segment_result *results; /* [chunk][segment] */
    uint8_t *slots;                 /* SLOT bytes a segment */
    uint32_t *matches;        /* SEGMENT words for each block; NULL at level CUDA_DEFLATE_RUNS */
    unsigned long long *next; /* number of the next segment that a block will begin */
    struct cuda_deflate_place *places;
    uint32_t *adlers; /* the Adler-32 sum of each chunk */
    uint8_t *out;
};

/* Returns where the next encoded chunk may begin if this one ends at `bytes`. */
static __host__ __device__ inline uint64_t ts_cuda_deflate_aligned(uint64_t bytes)
{
    return (bytes + CUDA_DEFLATE_ALIGNMENT - 1) / CUDA_DEFLATE_ALIGNMENT * CUDA_DEFLATE_ALIGNMENT;
}

/* Returns how many bytes segment `piece` of a plane has. */
static __device__ inline uint32_t segment_bytes(const struct deflate_job &job, uint32_t piece)
{
    const int64_t left = job.plane_bytes - (int64_t)piece * SEGMENT;
    return left < SEGMENT ? (uint32_t)left : SEGMENT;
}

#endif
