/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of HDF5 files that others compressed. The first bytes choose the filters and their
 * parameters, the rest is the encoded chunk. liblz4, libzstd and libblosc are not instrumented;
 * their overruns of the heap are found all the same, because the buffers are AddressSanitizer's.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_filters.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_BYTES = 8, SHUFFLE = 2, DEFLATE = 1, FLETCHER32 = 3, N_FILTERS = 9 };

/* The head: two filters, width of an element, size of the chunk in bytes (little-endian), then for
 * bitshuffle its block size and coder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int32_t filters[N_FILTERS] = {FILTER_LZF,  FILTER_LZ4,   FILTER_BITSHUFFLE,
                                               FILTER_ZSTD, FILTER_BLOSC, SHUFFLE,
                                               FLETCHER32,  DEFLATE,      FILTER_BLOSC2};
    static struct hdf5_undoer *undoer;
    if (bytes < HEAD_BYTES || bytes > FUZZ_INPUT_MAX ||
        (!undoer && !(undoer = ts_hdf5_undoer_create())))
        return 0;
    const uint32_t width = data[2] % 17;
    struct hdf5_pipeline pipeline = {.n_filters = 1 + (data[1] < N_FILTERS),
                                     .element_bytes = width ? width : 1,
                                     .chunk_bytes = data[3] | (uint64_t)data[4] << 8 |
                                                    (uint64_t)(data[5] & 3) << 16};
    for (int i = 0; i < pipeline.n_filters; i++)
        pipeline.filters[i] = (struct hdf5_filter){.id = filters[data[i] % N_FILTERS],
                                                   .n_values = 5,
                                                   .values = {0, 4, width, data[6], data[7] % 5}};
    const size_t encoded_bytes = bytes - HEAD_BYTES,
                 block_bytes = ts_hdf5_pipeline_block(&pipeline);
    unsigned char *encoded = malloc(encoded_bytes + 1), *block = malloc(block_bytes),
                  *other = malloc(block_bytes);
    if (encoded && block && other && encoded_bytes <= ts_hdf5_pipeline_bound(&pipeline)) {
        memcpy(encoded, data + HEAD_BYTES, encoded_bytes);
        (void)ts_hdf5_pipeline_undo(&pipeline, undoer, encoded, encoded_bytes, 0, block, other);
    }
    free(encoded);
    free(block);
    free(other);
    return 0;
}
