/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `result`, which reads an image of an HDF5 file that this program wrote.
 * Everything known of the image comes from the file, so that a run goes on as if there had been one
 * chain, and no parameter states it again.
 */
#ifndef IO_SCAN_RESULT_H
#define IO_SCAN_RESULT_H

#include "io/source/source_padding.h"

struct result_params {
    const char *result;
    const char *image;
    int32_t padding; /* enum source_padding */
    struct ts_numbers take, slices;
    bool proved; /* of ts_result_open; no chain can say so */
};

extern const struct source_format result_format;

/* Opens an image of the result at this path as a chain's input of this owner's would be. `proved`:
 * the caller has held the file against its digests. */
enum ts_status ts_result_open(struct sandbox *sandbox, const char *path, const char *image,
                              bool proved, const char *owner, struct source **source,
                              struct ts_diag *diag);

#endif
