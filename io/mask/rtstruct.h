/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads DICOM structure sets (PS3.3 A.19, C.8.8.5 and C.8.8.6). A region of interest is a list of
 * planar contours in LPS.
 */
#ifndef IO_MASK_RTSTRUCT_H
#define IO_MASK_RTSTRUCT_H

#include "io/mask/mask_file.h"
#include "io/mask/region_file.h"

/* One item of the Contour Sequence, before its points are read. */
struct rtstruct_contour {
    struct dicom_place data;
    int64_t n_points; /* as the file states it; -1: it does not */
    int64_t roi;      /* number of the region, once it is known; before: of its item */
    bool moved;       /* by a Contour Offset Vector other than 0 */
    bool closed,
        exclusive; /* exclusive: CLOSEDPLANAR_XOR, of which two copies are meant to cancel out */
};

struct rtstruct {
    struct region *rois;
    size_t n_rois, rois_capacity;
    struct rtstruct_contour *contours;
    size_t n_contours, contours_capacity,
        n_before; /* n_before: the contours of items that have ended */
};

/* Reads the header. Returns false if it is refused; file->file.refusal has the reason.
   ts_rtstruct_clear must follow, even after a failure. */
bool ts_rtstruct_parse(struct region_file *file, struct rtstruct *set);
void ts_rtstruct_clear(struct rtstruct *set);
/* Opens the regions that the request wants; closes the file, in any case. */
enum ts_status ts_rtstruct_open_take(struct region_file *file, const struct mask_request *request,
                                     struct mask_file **out);

#endif
