/* SPDX-License-Identifier: Apache-2.0
 *
 * A side of a comparison: an image that is opened like a chain's input, whatever the format of its
 * file.
 */
#ifndef PROGRAM_RECORD_SIDE_H
#define PROGRAM_RECORD_SIDE_H

#include "pipeline/chain/chain.h"

struct side {
    struct ts_chain *chain; /* has the image as its input, and is never run */
    struct source *source;
    bool no_grid; /* its spacings mean nothing: TIFF pages whose size nobody has stated */
};

/* Opens `text`: a path, whose first bytes tell the format, or, with `one_line`, an input of a chain
   in one line, such as "dicom ./study series=2". `image` names the image of a result; NULL: the
   last one. The errors are those of the format, and TS_BAD_INPUT (no-such-file). */
enum ts_status ts_side_open(const char *text, bool one_line, const char *image, struct side *side,
                            struct ts_diag *diag);
/* Opens a path as an image of this format, without a look at its first bytes; `image` as above. */
enum ts_status ts_side_open_as(const char *path, const char *format, const char *image,
                               struct side *side, struct ts_diag *diag);
/* Opens an image that is to lie over an open one. `text` is an input in one line, with `one_line`,
   or a path; a DICOM segmentation or structure set becomes a mask on the grid of `under`. `image`
   as above. Returns TS_BAD_INPUT (over-grid) if its voxels are at other places. */
enum ts_status ts_side_open_over(const char *text, bool one_line, const char *image,
                                 const struct source *under, struct side *side,
                                 struct ts_diag *diag);
void ts_side_close(struct side *side);
/* Sets *is_hdf5 if the path is an HDF5 file. Returns TS_BAD_INPUT (input-unreadable) if it is a
   file that cannot be read, so that a failed read does not decide what is done with it. */
enum ts_status ts_side_is_hdf5(const char *path, bool *is_hdf5, struct ts_diag *diag);

#endif
