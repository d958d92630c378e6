/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the slices of an image of the bytes that a file stores: in the machine's byte order, scaled, and with
 * their rows in the image's order.
 */
#ifndef IO_VOLUME_VOLUME_MAKING_H
#define IO_VOLUME_VOLUME_MAKING_H

#include "io/volume/volume_source.h"

struct volume_making {
    bool flip_rows, as_stored; /* as_stored: neither scaled nor of another type */
    bool rounds;               /* 32-bit floats may hold less than the file does */
};

/* Makes a slice of the stored bytes in `data`, which are overwritten; `row` has space for one row of doubles. Adds the
 * values that a 32-bit float does not hold to `rounding` where making->rounds. Returns false where a number is beyond
 * the range of the image's type. */
bool ts_volume_make_slice(const struct volume_layout *layout, const struct volume_making *making,
                          const struct ts_image *image, unsigned char *data, double *row, unsigned char *out,
                          struct ts_rounding *rounding);

#endif
