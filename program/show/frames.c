/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures go to files here, as a movie frame by frame, or one at a time. Frames are numbered from 0, so that ffmpeg
 * and the like find them in order.
 */
#include <stdlib.h>

#include "core/timing.h"
#include "io/file/png.h"
#include "program/show/viewer.h"

static enum ts_status draw_alone(void *user, const struct view_picture *picture, void *pixels)
{
    return ts_renderer_draw(user, picture, pixels);
}

/* A picture in memory, and who draws it. */
struct drawing {
    struct viewer *viewer;
    viewer_draw *draw;
    void *user;
    int32_t width, height;
    uint8_t *pixels;
};

static enum ts_status begin_drawing(struct drawing *drawing, struct viewer *viewer, viewer_draw *draw, void *user)
{
    const int32_t width = viewer->scene.width ? viewer->scene.width : viewer->request->width;
    const int32_t height = viewer->scene.height ? viewer->scene.height : viewer->request->height;
    *drawing = (struct drawing){viewer, draw ? draw : draw_alone, draw ? user : &viewer->renderer, width, height};
    drawing->pixels = malloc((size_t)width * (size_t)height * 4);
    return drawing->pixels ? TS_OK : ts_diag_no_memory(viewer->diag, (size_t)width * (size_t)height * 4);
}

static enum ts_status draw_scene(const struct drawing *drawing)
{
    struct view_picture picture;
    const enum ts_status status = ts_viewer_picture(drawing->viewer, drawing->width, drawing->height, &picture);
    return status == TS_OK ? drawing->draw(drawing->user, &picture, drawing->pixels) : status;
}

static enum ts_status write_drawing(const struct drawing *drawing, const char *path)
{
    return ts_png_write_rgba8(path, drawing->width, drawing->height, drawing->pixels, drawing->viewer->diag);
}

enum ts_status ts_viewer_screenshot(struct viewer *viewer, const char *path)
{
    struct drawing drawing;
    enum ts_status status = begin_drawing(&drawing, viewer, NULL, NULL);
    if (status == TS_OK)
        status = draw_scene(&drawing);
    if (status == TS_OK)
        status = write_drawing(&drawing, path);
    free(drawing.pixels);
    return status;
}

/* Goes to frame i: a step of the slider, or a slice. */
static enum ts_status go_to(struct viewer *viewer, int64_t i)
{
    if (!viewer->scene.slider) {
        viewer->scene.at[0] = i;
        return TS_OK;
    }
    viewer->scene.slider_value = viewer->slider.low + (double)i * viewer->slider.step;
    return ts_viewer_grant(viewer, WISH_SLIDER);
}

static int64_t count_frames(const struct viewer *viewer)
{
    const struct slider *slider = viewer->scene.slider;
    if (slider)
        return 1 + (int64_t)((slider->high - slider->low) / slider->step + 0.5);
    return viewer->request->slice >= 0 ? 1 : viewer->shown.image.axes[0].n;
}

/* Draws frame i of n and writes it. Returns in *seconds the time from the slice, or the slider, to the picture. */
static enum ts_status make_frame(const struct drawing *drawing, int64_t i, int64_t n, double *seconds)
{
    char path[4096];
    const double begin = ts_seconds();
    enum ts_status status = n > 1 ? go_to(drawing->viewer, i) : TS_OK;
    if (status == TS_OK)
        status = draw_scene(drawing);
    *seconds = ts_seconds() - begin;
    snprintf(path, sizeof path, "%s/frame_%04lld.png", drawing->viewer->request->frames, (long long)i);
    return status == TS_OK ? write_drawing(drawing, path) : status;
}

enum ts_status ts_viewer_frames(struct viewer *viewer, viewer_draw *draw, void *user, struct viewer_frames *frames)
{
    const int64_t n = count_frames(viewer);
    struct drawing drawing;
    double *seconds = malloc((size_t)n * sizeof *seconds);
    enum ts_status status = begin_drawing(&drawing, viewer, draw, user);
    if (status == TS_OK && !seconds)
        status = ts_diag_no_memory(viewer->diag, (size_t)n * sizeof *seconds);
    for (int64_t i = 0; status == TS_OK && i < n; i++)
        status = make_frame(&drawing, i, n, &seconds[i]);
    if (status == TS_OK)
        *frames = (struct viewer_frames){n, ts_median(seconds, (int)n)};
    free(seconds);
    free(drawing.pixels);
    return status;
}
