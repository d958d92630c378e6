/* SPDX-License-Identifier: Apache-2.0
 *
 * A sheet is a gray picture of all planes of a preview: each in its right proportions, with a scale bar and a caption
 * below it.
 */
#ifndef PIPELINE_PREVIEW_PREVIEW_SHEET_H
#define PIPELINE_PREVIEW_PREVIEW_SHEET_H

#include "pipeline/preview/preview_image.h"

struct preview_sheet {
    int64_t width, height;
    uint8_t *gray; /* free() */
};

/* Draws all planes of the images, whose windows are found. `plain`: a pixel for each value, without captions; `blocks`:
 * enlarged samples are rectangles, and no values are interpolated. Returns TS_RUN_FAILED where memory is out. */
enum ts_status ts_preview_sheet(const struct preview_images *images, bool plain, bool blocks,
                                struct preview_sheet *sheet, struct ts_diag *diag);
/* Writes "64 x 64 of 4 x 1 mm", "64 x 64". */
void ts_preview_size_text(const struct preview_plane *plane, char *text, size_t size);
/* Writes "window -160 to 240 HU (soft tissue)", or that there is no value to be shown. */
void ts_preview_window_text(const struct preview_image *image, char *text, size_t size);

#endif
