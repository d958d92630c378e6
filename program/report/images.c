/* SPDX-License-Identifier: Apache-2.0
 *
 * An image is opened as a run opens the result of another one, so that axes, units, geometry and invalid pixels are
 * those that a chain would see. Of a series of volumes the middle one is shown, of a sweep each value, and all are
 * counted.
 */
#include "program/report/images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/result.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "stages/engine/validity.h"

enum { FEWEST_SLICES = 8 };

/* ---- which images ------------------------------------------------------------------------------ */

static bool has_image(const struct report_facts *facts, const char *name)
{
    return *name && ts_made_image(&facts->made, name) != NULL;
}

static void add_image(struct report_images *images, const char *name, const struct report_stage *stage)
{
    if (images->n < REPORT_IMAGES)
        images->at[images->n++] = (struct report_image){.name = name, .stage = stage};
    else
        images->left_out++;
}

/* Stages that keep their image give it their name; the last image of a chain is `data` where it has no other. Those of
 * the first value of a sweep stand for all. */
static enum ts_status list_images(const struct report_facts *facts, struct report_images *images, struct ts_diag *diag)
{
    images->at = calloc(REPORT_IMAGES, sizeof *images->at);
    if (!images->at)
        return ts_diag_no_memory(diag, REPORT_IMAGES * sizeof *images->at);
    size_t n = facts->n_stages;
    while (n > 0 && facts->stages[n - 1].value > 0)
        n--;
    const struct report_stage *last = n > 0 ? &facts->stages[n - 1] : NULL;
    for (size_t i = 0; i < n; i++)
        if (has_image(facts, facts->stages[i].of->name))
            add_image(images, facts->stages[i].of->name, &facts->stages[i]);
    if (has_image(facts, "data") && !(last && has_image(facts, last->of->name)))
        add_image(images, "data", last);
    return TS_OK;
}

/* ---- planes ------------------------------------------------------------------------------------ */

static enum ts_status make_planes(const struct report_facts *facts, struct report_image *image, struct ts_diag *diag)
{
    const struct ts_axis *axis = image->source->image.axes;
    const int64_t n_volumes = image->source->n_volumes > 1 ? image->source->n_volumes : 1;
    const bool swept = facts->sweep.n > 1 && n_volumes == facts->sweep.n;
    image->n_planes = axis[0].n >= FEWEST_SLICES ? REPORT_AXES : 1;
    if (swept)
        image->n_planes = (int)(n_volumes < REPORT_PLANES ? n_volumes : REPORT_PLANES);
    for (int i = 0; i < image->n_planes; i++) {
        struct picture_plane *plane = &image->planes[i];
        ts_picture_plane_stored(&image->source->image, swept ? 0 : i, true, plane);
        plane->volume = swept ? i : (n_volumes - 1) / 2;
        plane->volume_name = swept ? facts->sweep.names[i] : NULL;
        plane->index = (axis[plane->across].n - 1) / 2;
        plane->values = calloc((size_t)(plane->rows * plane->columns), sizeof *plane->values);
        if (!plane->values)
            return ts_diag_no_memory(diag, (size_t)(plane->rows * plane->columns) * sizeof *plane->values);
    }
    return TS_OK;
}

struct taking {
    struct report_image *image;
    float *slice;
};

/* Counts the slices of a slab, and takes the planes from them. */
static enum ts_status take_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct taking *taking = user;
    struct report_image *image = taking->image;
    const struct ts_image *of = &image->source->image;
    const size_t count = ts_slice_count(of);
    (void)diag;
    for (int64_t i = 0; i < slab->n; i++) {
        const uint64_t *valid = ts_source_valid(image->source, slab->first + i);
        ts_load_f32(taking->slice, (const unsigned char *)slab->data[0] + (size_t)i * ts_slice_bytes(of), of->dtype,
                    count);
        ts_valid_fill_floats(valid, 0, count, NAN, taking->slice);
        ts_value_bins_add(&image->bins, taking->slice, count);
        for (int k = 0; k < image->n_planes; k++)
            if (slab->volume == image->planes[k].volume)
                ts_picture_take(&image->planes[k], of, slab->z + i, taking->slice);
    }
    return TS_OK;
}

static enum ts_status read_slabs(struct report_image *image, struct ts_diag *diag)
{
    struct taking taking = {image, malloc(ts_slice_count(&image->source->image) * sizeof *taking.slice)};
    const struct source_walk walk = {.source = image->source, .take = take_slab, .user = &taking};
    const enum ts_status status = taking.slice ? ts_source_walk(&walk, diag) : ts_diag_no_memory(diag, 0);
    free(taking.slice);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------- */

static enum ts_status find_window(struct report_image *image, struct ts_diag *diag)
{
    const struct gray_window_request request = {.kind = GRAY_AUTO};
    return ts_gray_window_find(&request, image->source->image.quantity, image->planes, image->n_planes, &image->window,
                               diag);
}

enum ts_status ts_report_images(const struct report_facts *facts, struct report_images *images, struct ts_diag *diag)
{
    *images = (struct report_images){0};
    enum ts_status status = list_images(facts, images, diag);
    for (size_t i = 0; status == TS_OK && i < images->n; i++) {
        struct report_image *image = &images->at[i];
        status = ts_result_open(facts->path, image->name, true, "report", &image->source, diag); /* facts proved it */
        if (status != TS_OK)
            break;
        ts_value_bins_init(&image->bins, ts_dtype_is_integer(image->source->image.dtype));
        status = make_planes(facts, image, diag);
        if (status == TS_OK)
            status = read_slabs(image, diag);
        if (status == TS_OK)
            status = find_window(image, diag);
    }
    return status;
}

void ts_report_images_close(struct report_images *images)
{
    for (size_t i = 0; i < images->n; i++) {
        for (int k = 0; k < REPORT_PLANES; k++)
            free(images->at[i].planes[k].values);
        if (images->at[i].source)
            images->at[i].source->ops->close(images->at[i].source);
    }
    free(images->at);
    *images = (struct report_images){0};
}
