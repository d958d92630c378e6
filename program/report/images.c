/* SPDX-License-Identifier: Apache-2.0
 *
 * An image is opened as a run opens the result of another one, so that axes, units, geometry and
 * invalid pixels are those that a chain would see. Of a series of volumes the middle one is shown,
 * of a sweep each value, and all are counted.
 */
#include "program/report/images.h"

#include <stdlib.h>

#include "io/scan/result.h"

enum { FEWEST_SLICES = 8 };

/* ---- which images ---------------------------------------------------------------------------- */

static bool has_image(const struct report_facts *facts, const char *name)
{
    return *name && ts_made_image(&facts->made, name) != NULL;
}

static void add_image(struct report_images *images, const char *name,
                      const struct report_stage *stage)
{
    if (images->n < REPORT_IMAGES)
        images->at[images->n++] = (struct report_image){.name = name, .stage = stage};
    else
        images->left_out++;
}

/* Stages that keep their image give it their name; the last image of a chain is `data` where it has
 * no other. Those of the first value of a sweep stand for all. */
static enum ts_status list_images(const struct report_facts *facts, struct report_images *images,
                                  struct ts_diag *diag)
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

/* ---- planes ---------------------------------------------------------------------------------- */

static void make_planes(const struct report_facts *facts, struct report_image *image)
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
    }
}

static void count_values(void *user, const float *values, size_t n)
{
    ts_value_bins_add(user, values, n);
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum ts_status find_window(struct report_image *image, struct ts_diag *diag)
{
    const struct gray_window_request request = {.kind = GRAY_AUTO};
    return ts_gray_window_find(&request, image->source->image.quantity, image->planes,
                               image->n_planes, &image->window, diag);
}

enum ts_status ts_report_images(const struct report_facts *facts, struct report_images *images,
                                struct ts_diag *diag)
{
    *images = (struct report_images){0};
    enum ts_status status = list_images(facts, images, diag);
    for (size_t i = 0; status == TS_OK && i < images->n; i++) {
        struct report_image *image = &images->at[i];
        status = ts_result_open(facts->path, image->name, true, "report", &image->source,
                                diag); /* facts proved it */
        if (status != TS_OK)
            break;
        ts_value_bins_init(&image->bins, ts_dtype_is_integer(image->source->image.dtype));
        make_planes(facts, image);
        status = ts_picture_read(image->source, image->planes, image->n_planes, count_values,
                                 &image->bins, diag);
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
