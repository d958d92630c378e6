/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows of gray: which value is black and which is white if nobody says so. Previews, reports,
 * the viewer and exported pictures share this rule.
 */
#ifndef CORE_GRAY_WINDOW_H
#define CORE_GRAY_WINDOW_H

#include "core/image.h"

/* A window says which value is black and which is white. */
struct gray_window {
    double low, high;   /* black and white */
    const char *name;   /* "soft tissue" */
    double least, most; /* range of all finite values; both 0 if there are none */
    bool none;          /* there are no finite values, only invalid pixels, NaN or infinities */
};

/* Windows in HU as radiologists use them. */
enum { GRAY_PRESETS = 4 };
extern const struct gray_preset {
    const char *name;
    double center, width;
} ts_gray_presets[GRAY_PRESETS];

/* Finds the window in which values of this range are shown if nobody chose one, without a look at
   them: that of soft tissue (40/400) if values in HU reach into it; of u8, which somebody has
   windowed, what is stored, if there are values above those of a few labels; all of masks and
   labels. Returns false if the percentiles of the values decide. */
bool ts_gray_window_known(const struct ts_image *image, double least, double most,
                          struct gray_window *window);

#endif
