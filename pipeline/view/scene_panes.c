/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides where the planes lie on the picture and which samples their pixels show. A sample is as wide and high as
 * its spacings say, where two axes share a unit; else samples are squares. Planes across the slices of a volume have
 * the last slice on top, which in DICOM is the head's side.
 */
#include <math.h>
#include <string.h>

#include "pipeline/view/scene.h"

enum { GAP = 2, BAR_HEIGHT = 22, BAR_MARGIN = 12 };

/* The axes that a plane shows from left to right and from top to bottom. */
static const int axis_u[] = {2, 2, 1}, axis_v[] = {1, 0, 0};

int ts_scene_layout(const struct scene *scene, struct rectangle places[SCENE_PLANES], int planes[SCENE_PLANES],
                    struct rectangle *panel)
{
    const int32_t width = scene->width, height = scene->height;
    if (!scene->three || scene->slider) {
        const int32_t side = scene->panel && width > 2 * PANEL_WIDTH ? PANEL_WIDTH : 0;
        *panel = (struct rectangle){width - side, 0, side, height};
        places[0] = (struct rectangle){0, 0, width - side - (side ? GAP : 0), height};
        planes[0] = scene->slider ? 0 : scene->plane;
        return 1;
    }
    const int32_t left = (width - GAP) / 2, top = (height - GAP) / 2;
    const int32_t right = width - left - GAP, bottom = height - top - GAP;
    places[0] = (struct rectangle){0, 0, left, top};
    places[1] = (struct rectangle){0, top + GAP, left, bottom};
    places[2] = (struct rectangle){left + GAP, 0, right, top};
    *panel = (struct rectangle){left + GAP, top + GAP, scene->panel ? right : 0, scene->panel ? bottom : 0};
    for (int i = 0; i < SCENE_PLANES; i++)
        planes[i] = i;
    return SCENE_PLANES;
}

const struct ts_image *ts_scene_shown(const struct scene *scene)
{
    return scene->slider ? &scene->slider->made : scene->image;
}

static int64_t stride(const struct ts_image *image, int axis)
{
    int64_t n = 1;
    for (int i = axis + 1; i < 3; i++)
        n *= image->axes[i].n;
    return n;
}

static struct view_pane pane_of(const struct scene *scene, int plane, struct rectangle place)
{
    const struct ts_image *image = ts_scene_shown(scene);
    const int u = axis_u[plane], v = axis_v[plane];
    const struct ts_axis *across = &image->axes[u], *down = &image->axes[v];
    const bool one_unit = across->unit && down->unit && !strcmp(across->unit, down->unit);
    const double wide = one_unit ? ts_axis_spacing(across) : 1, high = one_unit ? ts_axis_spacing(down) : 1;
    const double fit = fmin(place.width / ((double)across->n * wide), place.height / ((double)down->n * high));
    const double scale = fit * scene->zoom; /* pixels per unit */
    const bool upwards = plane > 0 && !ts_image_is_sinogram(image);
    struct view_pane pane = {.dtype = image->dtype,
                             .n_u = across->n,
                             .n_v = down->n,
                             .stride_u = stride(image, u),
                             .stride_v = stride(image, v),
                             .left = place.left,
                             .top = place.top,
                             .width = place.width,
                             .height = place.height,
                             .du = 1 / (scale * wide),
                             .dv = (upwards ? -1 : 1) / (scale * high),
                             .low = scene->low,
                             .high = scene->high,
                             .invert = scene->invert,
                             .linear = scene->linear};
    pane.u0 = (double)across->n / 2 + scene->pan[u] - pane.du * place.width / 2;
    pane.v0 = (double)down->n / 2 + scene->pan[v] - pane.dv * place.height / 2;
    const int64_t fixed = image->axes[plane].n > 1 ? scene->at[plane] : 0;
    pane.data =
        (const unsigned char *)image->data + (size_t)(fixed * stride(image, plane)) * ts_dtype_bytes(image->dtype);
    if (!scene->slider && v == 0) /* slices of a running chain that have no values yet are not drawn */
        pane.n_v = scene->ready < pane.n_v ? scene->ready : pane.n_v;
    else if (!scene->slider && fixed >= scene->ready)
        pane.n_u = 0;
    return pane;
}

void ts_scene_picture(const struct scene *scene, struct view_picture *picture)
{
    struct rectangle places[SCENE_PLANES], panel;
    int planes[SCENE_PLANES];
    *picture = (struct view_picture){.width = scene->width, .height = scene->height};
    picture->n_panes = ts_scene_layout(scene, places, planes, &panel);
    for (int i = 0; i < picture->n_panes; i++)
        picture->panes[i] = pane_of(scene, planes[i], places[i]);
    ts_view_colors(scene->colors, picture->colors);
    ts_view_inks(picture->inks);
}

int ts_scene_pick(const struct scene *scene, int32_t x, int32_t y, int64_t at[3], bool *inside)
{
    struct rectangle places[SCENE_PLANES], panel;
    int planes[SCENE_PLANES];
    const int n = ts_scene_layout(scene, places, planes, &panel);
    memcpy(at, scene->at, sizeof scene->at);
    *inside = false;
    for (int i = 0; i < n; i++) {
        const struct rectangle place = places[i];
        if (x < place.left || x >= place.left + place.width || y < place.top || y >= place.top + place.height)
            continue;
        const struct view_pane pane = pane_of(scene, planes[i], place);
        const double u = floor(pane.u0 + (x - place.left + 0.5) * pane.du);
        const double v = floor(pane.v0 + (y - place.top + 0.5) * pane.dv);
        *inside = u >= 0 && u < (double)pane.n_u && v >= 0 && v < (double)pane.n_v;
        at[axis_u[planes[i]]] = (int64_t)fmin(fmax(u, 0), (double)(scene->image->axes[axis_u[planes[i]]].n - 1));
        at[axis_v[planes[i]]] = (int64_t)fmin(fmax(v, 0), (double)(scene->image->axes[axis_v[planes[i]]].n - 1));
        return planes[i];
    }
    return -1;
}

void ts_scene_readout(const struct scene *scene, int64_t at[3])
{
    bool inside;
    (void)ts_scene_pick(scene, scene->x, scene->y, at, &inside);
    if (!inside)
        memcpy(at, scene->at, sizeof scene->at);
}

struct rectangle ts_scene_slider_bar(const struct scene *scene)
{
    struct rectangle places[SCENE_PLANES], panel;
    int planes[SCENE_PLANES];
    if (!scene->slider)
        return (struct rectangle){0};
    ts_scene_layout(scene, places, planes, &panel);
    return (struct rectangle){places[0].left + BAR_MARGIN, places[0].height - BAR_MARGIN - BAR_HEIGHT,
                              places[0].width - 2 * BAR_MARGIN, BAR_HEIGHT};
}
