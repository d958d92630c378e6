/* SPDX-License-Identifier: Apache-2.0
 *
 * The windows of radiologists for HU, and what is stored for what was windowed before.
 */
#include "core/gray_window.h"

#include <math.h>

enum { FEW_LABELS = 16 };

const struct gray_preset ts_gray_presets[GRAY_PRESETS] = {
    {"abdomen", 40, 400}, {"lung", -600, 1500}, {"bone", 400, 1800}, {"brain", 40, 80}};

static void set_window(struct gray_window *window, double low, double high, const char *name)
{
    window->low = low;
    window->high = high;
    window->name = name;
}

bool ts_gray_window_known(const struct ts_image *image, double least, double most,
                          struct gray_window *window)
{
    const struct gray_preset *soft = &ts_gray_presets[0];
    const double soft_low = soft->center - soft->width / 2;
    if (image->labels > 0)
        set_window(window, fmin(least, 0), most, "full range");
    else if (image->quantity == TS_HU && least < soft->center && most > soft_low)
        set_window(window, soft_low, soft->center + soft->width / 2, "soft tissue");
    else if (image->quantity == TS_INTENSITY && image->dtype == TS_U8 && most >= FEW_LABELS)
        set_window(window, 0, UINT8_MAX, "as stored");
    else
        return false;
    return true;
}
