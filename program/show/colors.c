/* SPDX-License-Identifier: Apache-2.0
 *
 * Color maps are computed, not tabulated. cubehelix winds around the diagonal of gray, so that its
 * perceived brightness is that of the gray level: D. A. Green, "A colour scheme for the display of
 * astronomical intensity images", 2011, with its start 0.5, -1.5 rotations, hue 1 and gamma 1.
 */
#include "program/show/colors.h"

#include <math.h>

static uint32_t color(double red, double green, double blue)
{
    const double parts[3] = {red, green, blue};
    uint32_t bits = 0xFF000000u;
    for (int i = 0; i < 3; i++)
        bits |= (uint32_t)(fmin(fmax(parts[i], 0), 1) * 255 + 0.5) << (8 * i);
    return bits;
}

static uint32_t cubehelix(double level)
{
    const double angle = 2 * 3.14159265358979323846 * (0.5 / 3 + 1 - 1.5 * level);
    const double amplitude = level * (1 - level) / 2, c = cos(angle), s = sin(angle);
    return color(level + amplitude * (-0.14861 * c + 1.78277 * s),
                 level + amplitude * (-0.29227 * c - 0.90649 * s),
                 level + amplitude * (1.97294 * c));
}

void ts_view_colors(enum view_colors map, uint32_t colors[VIEW_COLORS])
{
    for (int i = 0; i < VIEW_COLORS; i++) {
        const double level = i / 255.0;
        if (map == COLORS_HOT)
            colors[i] = color(3 * level, 3 * level - 1, 3 * level - 2);
        else if (map == COLORS_CUBEHELIX)
            colors[i] = cubehelix(level);
        else
            colors[i] = color(level, level, level);
    }
}

void ts_view_inks(uint32_t inks[VIEW_INKS])
{
    static const uint32_t those[VIEW_INKS] = {
        [INK_TEXT] = 0xFFF0F0F0u,  [INK_SHADE] = 0xFF382E26u, [INK_LINE] = 0xFF40C8FFu,
        [INK_CURVE] = 0xFF5AA0FFu, [INK_BARS] = 0xFFB49A84u,  [INK_MARK] = 0xFF60E080u,
        [INK_DARK] = 0xFF0C0A08u};
    for (int i = 0; i < VIEW_INKS; i++)
        inks[i] = those[i];
}
