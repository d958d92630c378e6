/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the parameters of `center`, and searches one slice by the method that they name. The
 * search writes the center and tables that show how sure it is, and warns if a different center
 * would do as well. One slice is enough, because the axis is the same for all of them.
 */
#ifndef STAGES_SCAN_CENTER_SLICE_H
#define STAGES_SCAN_CENTER_SLICE_H

#include "stages/engine/stage.h"
#include "stages/scan/center_search.h"

enum center_method {
    CENTER_AUTO,
    CENTER_SINOGRAM,
    CENTER_OPPOSITE,
    CENTER_GIVEN,
    CENTER_OVERLAP,
    CENTER_MASS
};
enum center_convention { CENTER_OF_PIXEL, CENTER_OF_EDGE, CENTER_OF_MIDDLE, CENTER_OF_SHIFT };
enum center_truncated { TRUNCATED_AUTO, TRUNCATED_OPPOSITE, TRUNCATED_KEEP };

struct center_params {
    int32_t method; /* enum center_method */
    double center;
    int32_t convention; /* enum center_convention */
    int64_t slice;
    double search;
    int32_t truncated; /* enum center_truncated */
    bool strip;
    int64_t strip_sides;
    double strip_step;
    int64_t strip_size;
};

struct center_slice {
    const struct stage_context *context; /* of the stage `center` */
    const float *sinogram;               /* (view, detector) */
    struct fft *fft;                     /* for method sinogram: of ts_center_transform() */
    void *scratch; /* ts_center_slice_scratch_bytes() bytes, on a 64-byte boundary */
};

/* The tables of a search, in this order. */
enum {
    TABLE_CENTER,
    TABLE_CONFIDENCE,
    TABLE_ERROR,
    TABLE_NOISE,
    TABLE_TRUNCATION,
    TABLE_CENTERS,
    TABLE_TRIALS,
    TABLE_MEASURE,
    SEARCH_TABLES
};
void ts_center_slice_tables(const struct center_params *params,
                            struct stage_table tables[SEARCH_TABLES]);

/* Returns the bytes of a search's scratch. */
size_t ts_center_slice_scratch_bytes(const struct stage_context *context);

/* Refuses values that cannot be searched. Errors: center-nonfinite, center-constant. */
enum ts_status ts_center_slice_check(const struct center_slice *slice);
/* Writes the center and the tables. Errors: center-mass, and center-edge if the best trial is
 * outermost. Warnings: center-alike, or center-uncertain, or any of center-truncated,
 * center-ambiguous. */
enum ts_status ts_center_slice_search(const struct center_slice *slice,
                                      const struct ts_image *tables, double *center);

#endif
