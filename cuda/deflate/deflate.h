/* SPDX-License-Identifier: Apache-2.0
 *
 * This turns chunks of values that lie in device memory into what HDF5's filter pipeline shuffle, deflate, fletcher32
 * stores for them, so that only compressed bytes leave the device. Every reader of HDF5 inflates the result; its bytes
 * are the same in every run, on every device, and for every number of chunks that are compressed together, but they
 * are not those of io/file/chunks.h.
 *
 * Each encoded chunk is a zlib stream (RFC 1950 and 1951) of the shuffled chunk, followed by the checksum of
 * ts_chunk_checksum. Source of the format: HDF5 file format specification 3.0 (filter pipeline message).
 */
#ifndef CUDA_DEFLATE_DEFLATE_H
#define CUDA_DEFLATE_DEFLATE_H

#include "core/device_numbers.h"
#include "core/diag.h"

struct CUstream_st;

enum cuda_deflate_level {
    CUDA_DEFLATE_RUNS = 1,    /* literals and runs of one byte */
    CUDA_DEFLATE_MATCHES = 2, /* any match within a segment: smaller, and slower */
};

/* Encoded chunks begin on multiples of so many bytes; up to the next one their end is padded with zeros. */
enum { CUDA_DEFLATE_ALIGNMENT = 16 };

/* The chunks of one call. They lie one after the other; all have chunk_bytes, a multiple of width and less than 2^31.
 * Of the last one only the first `last_bytes`, a multiple of width too, are read: the rest of it counts as elements
 * that equal `fill`. */
struct cuda_deflate {
    int64_t n_chunks;
    size_t chunk_bytes, last_bytes;
    int width; /* bytes of an element: 1, 2, 4 or 8 */
    enum cuda_deflate_level level;
    unsigned char fill[8]; /* `width` bytes, little-endian */
};

/* This says where the encoded bytes of a chunk lie in the output. */
struct cuda_deflate_place {
    uint64_t offset, bytes;
};

/* The benchmark and the tests call them from outside the library. */
#pragma GCC visibility push(default)
/* Returns the most bytes that the encoded chunks may take together: `out` must have as many. */
size_t ts_cuda_deflate_bound(const struct cuda_deflate *job);
/* Returns the bytes of scratch memory: 32 KiB for each segment, so about as much as chunks of several MiB have, and
 * with matches 128 KiB more for each segment that is under way at once on this device. */
size_t ts_cuda_deflate_scratch_bytes(const struct cuda_deflate *job, const struct device_numbers *device);
/* Enqueues the compression; nothing is allocated, and nobody waits. `chunks`, `scratch`, `out` and `places` are device
 * memory; `scratch` is aligned to CUDA_ALIGNMENT, `out` to CUDA_DEFLATE_ALIGNMENT, and `chunks` to anything. Encoded
 * chunks lie in `out` in their order and as densely as their alignment allows, so the last place says how many bytes a
 * single copy must bring; places[i] is that of chunk i. `diag` receives an error of the launches. */
enum ts_status ts_cuda_deflate(const struct cuda_deflate *job, const struct device_numbers *device, const void *chunks,
                               void *scratch, void *out, struct cuda_deflate_place *places, struct CUstream_st *stream,
                               struct ts_diag *diag);
#pragma GCC visibility pop

#endif
