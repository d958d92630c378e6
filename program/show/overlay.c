/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels have colors that go round; a second image has the colors of hot metal.
 */
#include "program/show/overlay.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/source/source_walk.h"
#include "program/record/made.h"
#include "program/show/colors.h"
#include "program/show/display_histogram.h"
#include "program/show/picture.h"

/* Returns true if the file is a result that has an image of this name. */
static bool is_image_of(const char *path, const char *name)
{
    struct arena *arena = ts_arena_create();
    struct ts_diag *apart = ts_diag_create(); /* a file that is no result is no error here */
    struct made made = {0};
    const bool found = path && arena && apart &&
                       ts_made_read(NULL, path, arena, &made, apart) == TS_OK &&
                       ts_made_image(&made, name) != NULL;
    ts_diag_destroy(apart);
    ts_arena_destroy(arena);
    return found;
}

enum ts_status ts_overlay_open(const struct overlay_style *style, const char *path,
                               const struct source *under, struct side *side, struct ts_diag *diag)
{
    if (is_image_of(path, style->what))
        return ts_side_open_over(path, false, style->what, under, side, diag);
    return ts_side_open_over(style->what, style->one_line, NULL, under, side, diag);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_first(const void *user, int64_t volume, int64_t z)
{
    (void)user;
    (void)z;
    return volume == 0;
}

static enum ts_status keep_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct ts_image *image = user;
    (void)diag;
    memcpy(ts_slice_data(image, slab->z), slab->data[0], (size_t)slab->n * ts_slice_bytes(image));
    return TS_OK;
}

enum ts_status ts_overlay_read(const struct overlay_style *style, const char *path,
                               const struct source *under, struct overlay *overlay,
                               struct ts_diag *diag)
{
    struct side side;
    struct display_histogram histogram;
    struct gray_window window;
    *overlay = (struct overlay){0};
    enum ts_status status = ts_overlay_open(style, path, under, &side, diag);
    if (status != TS_OK)
        return status;
    struct ts_image *image = &overlay->image;
    *image = side.source->image;
    image->unit = "";
    image->masked = false;
    image->data = ts_memory_zeroed(ts_image_bytes(image));
    status = image->data ? ts_source_walk(&(struct source_walk){.source = side.source,
                                                                .wants = is_first,
                                                                .take = keep_slab,
                                                                .user = image},
                                          diag)
                         : ts_diag_no_memory(diag, ts_image_bytes(image));
    ts_side_close(&side);
    if (status != TS_OK)
        return status;
    ts_display_histogram(image, 0, image->axes[0].n, &histogram);
    overlay->low = histogram.dark;
    overlay->high = histogram.bright;
    if (ts_gray_window_known(image, histogram.low, histogram.high, &window)) {
        overlay->low = window.low;
        overlay->high = window.high;
    }
    return status;
}

/* ---- colors ---------------------------------------------------------------------------------- */

/* Returns where in the window a value is, 0 to 1. */
static double share_of(const struct overlay *overlay, double value)
{
    const double range = overlay->high - overlay->low;
    return range > 0 ? (value - overlay->low) / range : value > overlay->low;
}

int ts_overlay_ink(const struct overlay *overlay, double value)
{
    if (!isfinite(value))
        return 0;
    if (overlay->image.labels > 0)
        return value >= 1 ? 1 + (int)fmod(value - 1, OVERLAY_LABELS) : 0;
    const double level = share_of(overlay, value) * OVERLAY_LEVELS;
    if (!(level > 0))
        return 0;
    return 1 + OVERLAY_LABELS + (level < OVERLAY_LEVELS ? (int)level : OVERLAY_LEVELS - 1);
}

/* Returns the label, or 1 in the upper half of the window; 0: none. */
static int64_t region_of(const struct overlay *overlay, double value)
{
    if (!isfinite(value))
        return 0;
    if (overlay->image.labels > 0)
        return value >= 1 ? (int64_t)value : 0;
    return share_of(overlay, value) > 0.5;
}

int ts_overlay_edge(const struct overlay *overlay, const double values[5])
{
    const int64_t own = region_of(overlay, values[0]);
    for (int i = 1; own > 0 && i < 5; i++)
        if (!isnan(values[i]) && region_of(overlay, values[i]) != own)
            return overlay->image.labels > 0 ? ts_overlay_ink(overlay, values[0]) : 1;
    return 0;
}

void ts_overlay_colors(const struct overlay_style *style, uint32_t colors[OVERLAY_INKS])
{
    /* page.js has the same */
    static const uint32_t palette[OVERLAY_LABELS] = {0x3C50FF, 0x5ADC46, 0xFF9650, 0x3CD7FF,
                                                     0xEB5AEB, 0xE1E146, 0x3296FF, 0xFF78A0};
    uint32_t hot[VIEW_COLORS];
    const double opacity = style->contour ? 1 : style->opacity;
    const uint32_t alpha = (uint32_t)lrint(opacity * 255) << 24;
    ts_view_colors(COLORS_HOT, hot);
    colors[0] = 0;
    for (int i = 0; i < OVERLAY_LABELS; i++)
        colors[1 + i] = alpha | palette[i];
    if (style->color)
        colors[1] = alpha | (style->color & 0xFFFFFF);
    for (int i = 0; i < OVERLAY_LEVELS; i++)
        colors[1 + OVERLAY_LABELS + i] =
            alpha | (hot[(i * VIEW_COLORS + VIEW_COLORS / 2) / OVERLAY_LEVELS] & 0xFFFFFF);
}
