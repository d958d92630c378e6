/* SPDX-License-Identifier: Apache-2.0
 *
 * This turns chunks of values that lie in device memory into what HDF5's filter pipeline shuffle,
 * deflate, fletcher32 stores for them, so that only compressed bytes leave the device. Every reader
 * of HDF5 inflates the result; its bytes are the same in every run, on every device, and for every
 * number of chunks that are compressed together, but they are not those of io/file/chunks.h.
 *
 * Each encoded chunk is a zlib stream (RFC 1950 and 1951) of the shuffled chunk, followed by the
 * checksum of ts_chunk_checksum. Source of the format: HDF5 file format specification 3.0 (filter
 * pipeline message).
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

/* Encoded chunks begin on multiples of so many bytes; the gaps between them are filled with
 * zeros. */
enum { CUDA_DEFLATE_ALIGNMENT = 16 };

/* This describes the chunks of one call, which lie one after the other. The last chunk may reach
 * beyond the array: only its first `last_bytes` are read, and its other elements count as equal to
 * `fill`. */
struct cuda_deflate {
    int64_t n_chunks;
    size_t chunk_bytes; /* less than 2^31, and a multiple of `width` */
    size_t last_bytes;  /* likewise a multiple of `width` */
    int width;          /* bytes of an element: 1, 2, 4 or 8 */
    enum cuda_deflate_level level;
    unsigned char fill[8]; /* `width` bytes, little-endian */
};

/* This says where the encoded bytes of a chunk lie in the output. */
struct cuda_deflate_place {
    uint64_t offset, bytes;
};

/* The benchmark and the tests call these functions from outside the library. */
#pragma GCC visibility push(default)
/* Returns the most bytes that the encoded chunks may take together: `out` must have as many. */
size_t ts_cuda_deflate_bound(const struct cuda_deflate *job);
/* Returns the bytes of scratch memory: about as many as the chunks have, and at level
 * CUDA_DEFLATE_MATCHES 128 KiB more for each segment of 32 KiB that this device compresses at the
 * same time. */
size_t ts_cuda_deflate_scratch_bytes(const struct cuda_deflate *job,
                                     const struct device_numbers *device);
/* Loads the kernels onto the current device, so that the first call does not wait for the device's
 * work. */
enum ts_status ts_cuda_deflate_load(enum cuda_deflate_level level,
                                    const struct device_numbers *device, struct ts_diag *diag);
/* Enqueues the compression; nothing is allocated, and nobody waits. `chunks`, `scratch`, `out` and
 * `places` are device memory; `scratch` is aligned to CUDA_ALIGNMENT, `out` to
 * CUDA_DEFLATE_ALIGNMENT, and `chunks` to anything. Encoded chunks lie in `out` in their order and
 * as densely as their alignment allows, so the last place says how many bytes a single copy must
 * bring; places[i] is that of chunk i. `diag` receives an error of the launches. */
enum ts_status ts_cuda_deflate(const struct cuda_deflate *job, const struct device_numbers *device,
                               const void *chunks, void *scratch, void *out,
                               struct cuda_deflate_place *places, struct CUstream_st *stream,
                               struct ts_diag *diag);
#pragma GCC visibility pop

#endif
