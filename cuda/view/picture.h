/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the one rule by which slices become a picture. The CPU (program/show/renderer.c) and the
 * CUDA kernel (cuda/view/view.cu) both compile it, so a picture has the same bytes on both. It
 * computes in double, and both compilers are told not to contract products and sums, so every step
 * rounds as IEEE 754 says.
 *
 * A picture has up to four panes. A pane shows a plane of samples: pixel -> sample (zoom, pan and
 * aspect ratio are in u0, v0, du and dv) -> window and level -> gray level from 0 to 255 ->
 * inversion -> color map. The overlay, which has the text, the cross-hair and the curves, lies over
 * the panes.
 */
#ifndef CUDA_VIEW_PICTURE_H
#define CUDA_VIEW_PICTURE_H

#include "include/tomostage.h"

#ifdef __CUDACC__
#define VIEW_CODE __host__ __device__
#else
#define VIEW_CODE
#endif

enum { VIEW_PANES = 4, VIEW_COLORS = 256, VIEW_INKS = 64 };

/* A pane is one plane of samples on a part of the picture. */
struct view_pane {
    const void *data; /* points to sample (0, 0) */
    enum ts_dtype dtype;
    int64_t n_u, n_v, stride_u,
        stride_v; /* samples along the pane's x and y, and their distances in elements */
    int32_t left, top, width, height; /* place of the pane in the picture, in pixels */
    double u0, v0, du, dv;  /* position of the left upper corner in samples, and samples per pixel;
                             * sample i covers [i, i + 1) */
    double low, high;       /* window: values up to low have level 0, values from high on have level
                             * 255 */
    int32_t invert, linear; /* invert: level becomes 255 - level; linear: interpolate between four
                             * samples */
};

/* Colors are 0xAABBGGRR, which is RGBA in memory. */
struct view_picture {
    int32_t width, height, n_panes;
    struct view_pane panes[VIEW_PANES];
    uint32_t colors[VIEW_COLORS]; /* color of each gray level */
    uint32_t inks[VIEW_INKS];     /* colors that the overlay's numbers stand for, which let what is
                                   * below through if they are not opaque; number 0 is clear */
    const uint8_t *overlay;       /* width * height numbers of inks; NULL: there is none */
};

/* The colors of pixels outside of every plane, and of NaN. */
#define VIEW_OUTSIDE 0xFF181410u
#define VIEW_NAN 0xFF600060u

static inline VIEW_CODE double ts_view_value(const struct view_pane *pane, int64_t u, int64_t v)
{
    const int64_t i = u * pane->stride_u + v * pane->stride_v;
    switch (pane->dtype) {
    case TS_U8:
        return (double)((const uint8_t *)pane->data)[i];
    case TS_I8:
        return (double)((const int8_t *)pane->data)[i];
    case TS_U16:
        return (double)((const uint16_t *)pane->data)[i];
    case TS_I16:
        return (double)((const int16_t *)pane->data)[i];
    case TS_U32:
        return (double)((const uint32_t *)pane->data)[i];
    case TS_I32:
        return (double)((const int32_t *)pane->data)[i];
    default:
        return (double)((const float *)pane->data)[i];
    }
}

/* Returns the sample before position `at`, where centers are at integers, and sets *part to the
 * fraction of the way to the next sample. The half sample beyond the outermost centers repeats
 * them. */
static inline VIEW_CODE int64_t ts_view_before(double at, int64_t n, double *part)
{
    const double last = (double)(n - 1), from_center = at - 0.5;
    const double center = from_center < 0 ? 0 : from_center > last ? last : from_center;
    const int64_t before = (int64_t)center;
    *part = center - (double)before;
    return before;
}

static inline VIEW_CODE double ts_view_interpolated(const struct view_pane *pane, double u,
                                                    double v)
{
    double part_u, part_v;
    const int64_t u1 = ts_view_before(u, pane->n_u, &part_u),
                  v1 = ts_view_before(v, pane->n_v, &part_v);
    const int64_t u2 = part_u > 0 ? u1 + 1 : u1, v2 = part_v > 0 ? v1 + 1 : v1;
    const double a = ts_view_value(pane, u1, v1), b = ts_view_value(pane, u2, v1);
    const double c = ts_view_value(pane, u1, v2), d = ts_view_value(pane, u2, v2);
    const double above = a + (b - a) * part_u, below = c + (d - c) * part_u;
    return above + (below - above) * part_v;
}

/* Returns the gray level of a value. A window without width is a threshold. */
static inline VIEW_CODE int ts_view_level(const struct view_pane *pane, double value)
{
    const double width = pane->high - pane->low;
    const double part = width > 0 ? (value - pane->low) / width : value > pane->low ? 1 : 0;
    const int level = part >= 1 ? 255 : part > 0 ? (int)(part * 255 + 0.5) : 0;
    return pane->invert ? 255 - level : level;
}

/* Returns the color of the pixel (x, y) of a pane, counted within it. */
static inline VIEW_CODE uint32_t ts_view_pane_pixel(const struct view_pane *pane,
                                                    const uint32_t *colors, int32_t x, int32_t y)
{
    const double u = pane->u0 + ((double)x + 0.5) * pane->du,
                 v = pane->v0 + ((double)y + 0.5) * pane->dv;
    if (!(u >= 0 && u < (double)pane->n_u && v >= 0 && v < (double)pane->n_v))
        return VIEW_OUTSIDE;
    const double value = pane->linear ? ts_view_interpolated(pane, u, v)
                                      : ts_view_value(pane, (int64_t)u, (int64_t)v);
    return value != value ? VIEW_NAN : colors[ts_view_level(pane, value)];
}

/* Returns the color below, as it is seen through a color that is not opaque. */
static inline VIEW_CODE uint32_t ts_view_blend(uint32_t below, uint32_t over)
{
    const uint32_t alpha = over >> 24;
    uint32_t out = 0xFF000000u;
    for (int shift = 0; shift < 24; shift += 8) {
        const uint32_t b = below >> shift & 255, o = over >> shift & 255;
        out |= (b * (255 - alpha) + o * alpha + 127) / 255 << shift;
    }
    return out;
}

/* Returns the color of a pixel of the picture. `colors` is the picture's own array, or a copy that
 * is faster to read. */
static inline VIEW_CODE uint32_t ts_view_pixel(const struct view_picture *picture,
                                               const uint32_t *colors, int32_t x, int32_t y)
{
    const uint8_t ink = picture->overlay ? picture->overlay[(int64_t)y * picture->width + x] : 0;
    const uint32_t over = picture->inks[ink % VIEW_INKS];
    if (ink && over >> 24 == 255)
        return over;
    uint32_t color = VIEW_OUTSIDE;
    for (int i = 0; i < picture->n_panes; i++) {
        const struct view_pane *pane = &picture->panes[i];
        if (x >= pane->left && x < pane->left + pane->width && y >= pane->top &&
            y < pane->top + pane->height) {
            color = ts_view_pane_pixel(pane, colors, x - pane->left, y - pane->top);
            break;
        }
    }
    return ink ? ts_view_blend(color, over) : color;
}

#endif
