/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies over an image in previews and in the viewer: a mask, labels, or a second image with the
 * same voxels, filled with a color that lets the image through, or as contours.
 */
#ifndef PROGRAM_SHOW_OVERLAY_H
#define PROGRAM_SHOW_OVERLAY_H

#include "core/diag.h"
#include "core/image.h"
#include "io/source/source.h"
#include "program/record/side.h"

/* OVERLAY_COLORS: inks of an overlay, of which 0 is none, 1 to OVERLAY_LABELS those of labels, and
   the others those of levels. */
enum {
    OVERLAY_LABELS = 8,
    OVERLAY_LEVELS = 32,
    OVERLAY_INKS = 1 + OVERLAY_LABELS + OVERLAY_LEVELS
};

struct overlay_style {
    const char *what; /* an image of the same result, a path, or an input in one line; NULL: none */
    bool one_line;
    bool contour;
    double opacity; /* 0 to 1; contours are opaque */
    uint32_t color; /* of label 1, 0xAABBGGRR; 0: that of the palette */
};
#define OVERLAY_STYLE_DEFAULT                                                                      \
    {                                                                                              \
        .opacity = 0.5                                                                             \
    }

struct overlay {
    struct ts_image image; /* without data, unless ts_overlay_read was called */
    double low, high;      /* window of an image that is no labels */
};

/* Opens what lies over an image of the file `path` (NULL: it is in no file). Errors are those of
   ts_side_open_over. */
enum ts_status ts_overlay_open(const struct overlay_style *style, const char *path,
                               const struct source *under, struct side *side, struct ts_diag *diag);
/* Opens it, and reads its first volume whole; free(overlay->image.data) must follow. */
enum ts_status ts_overlay_read(const struct overlay_style *style, const char *path,
                               const struct source *under, struct overlay *overlay,
                               struct ts_diag *diag);

/* Returns the ink of a value. */
int ts_overlay_ink(const struct overlay *overlay, double value);
/* Returns the ink of a contour, which goes around each label, or around the upper half of the
   window, from the value of a pixel and those of its four neighbors, NaN outside of the image. */
int ts_overlay_edge(const struct overlay *overlay, const double values[5]);
/* Fills in the color of each ink, 0xAABBGGRR. */
void ts_overlay_colors(const struct overlay_style *style, uint32_t colors[OVERLAY_INKS]);

#endif
