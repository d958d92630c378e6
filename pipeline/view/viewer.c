/* SPDX-License-Identifier: Apache-2.0
 *
 * The viewer draws on the device that --device names; `auto` takes a CUDA device where there is one. While a chain runs
 * the CPU draws, because the run may have the device for itself and closes it when it is done.
 */
#include "pipeline/view/viewer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/view/font.h"

/* ---- the device --------------------------------------------------------------------------------- */

/* Finds the device that draws; stays with the CPU where `auto` finds none. */
static enum ts_status find_device(struct viewer *viewer)
{
    const char *wanted = viewer->request->shown.options.device;
    const bool automatic = !wanted || !strcmp(wanted, "auto");
    const int index = wanted && !strncmp(wanted, "cuda:", 5) ? atoi(wanted + 5) : 0;
    if (wanted && !strcmp(wanted, "cpu"))
        return TS_OK;
    struct ts_diag *trial = automatic ? ts_diag_create() : viewer->diag;
    viewer->devices = trial ? calloc(1, sizeof *viewer->devices) : NULL;
    if (!viewer->devices)
        return ts_diag_no_memory(viewer->diag, sizeof *viewer->devices);
    enum ts_status status = ts_cuda_query(viewer->devices, trial);
    if (status == TS_OK && index >= viewer->devices->n)
        status = ts_diag_error(trial, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-device"},
                               "there is no CUDA device %d", index);
    if (status == TS_OK)
        status = ts_cuda_usable(&viewer->devices->devices[index], trial);
    if (status == TS_OK)
        viewer->device = &viewer->devices->devices[index];
    if (automatic)
        ts_diag_destroy(trial);
    return automatic ? TS_OK : status;
}

/* ---- what is shown ------------------------------------------------------------------------------ */

static enum ts_status make_slice(struct viewer *viewer)
{
    const enum ts_status status = ts_slider_make(&viewer->slider, &viewer->renderer, viewer->scene.at[0]);
    viewer->made_z = status == TS_OK ? viewer->scene.at[0] : -1;
    return status;
}

/* Sets the scene for the image that is shown now. */
static void begin_scene(struct viewer *viewer)
{
    ts_scene_begin(&viewer->scene, &viewer->shown.image, &viewer->histogram);
    if (viewer->request->slice >= 0 && viewer->request->slice < viewer->shown.image.axes[0].n)
        viewer->scene.at[0] = viewer->request->slice;
}

static enum ts_status open_slider(struct viewer *viewer)
{
    enum ts_status status =
        ts_slider_open(&viewer->slider, &viewer->shown.image, viewer->device, viewer->renderer.threads, viewer->diag);
    if (status == TS_OK)
        status = ts_renderer_image(&viewer->renderer, VIEW_MADE, &viewer->slider.made);
    if (status == TS_OK) {
        viewer->scene.slider = &viewer->slider;
        viewer->scene.plane = 0;
        viewer->scene.image_name = viewer->slider.stage->stage->name;
        status = make_slice(viewer);
    }
    if (status == TS_OK)
        status = ts_slider_fetch(&viewer->slider, &viewer->renderer, 0, ts_image_count(&viewer->slider.made));
    if (status == TS_OK) {
        ts_display_histogram(&viewer->slider.made, 0, 1, &viewer->histogram);
        begin_scene(viewer);
    }
    return status;
}

/* Shows the image that `shown` holds now, as far as it has values. */
static enum ts_status show_image(struct viewer *viewer)
{
    const struct ts_image *image = &viewer->shown.image;
    const int64_t ready = atomic_load(&viewer->shown.ready);
    struct ts_image slices = ts_image_slices(image, 0, ready);
    ts_display_histogram(image, 0, ready, &viewer->histogram);
    begin_scene(viewer);
    viewer->scene.ready = viewer->uploaded = ready;
    viewer->scene.image_name = viewer->shown.n_images ? viewer->shown.images[viewer->shown.chosen] : "input";
    if (viewer->shown.run_diag)
        viewer->scene.image_name = "of the running chain";
    const enum ts_status status = ts_renderer_image(&viewer->renderer, VIEW_WHOLE, image);
    return status == TS_OK && ready > 0 ? ts_renderer_slices(&viewer->renderer, VIEW_WHOLE, &slices) : status;
}

static enum ts_status prepare_renderer(struct viewer *viewer, const struct device_numbers *device)
{
    const int threads = viewer->request->shown.options.threads;
    ts_renderer_destroy(&viewer->renderer);
    return ts_renderer_create(&viewer->renderer, device, threads > 0 ? threads : omp_get_num_procs(), viewer->diag);
}

/* Finds the stage of the slider, and cuts the chain off before it. */
static enum ts_status find_slider(struct viewer *viewer)
{
    struct ts_chain *chain = viewer->request->shown.chain;
    if (!viewer->request->stage)
        return TS_OK;
    if (!chain)
        return ts_diag_error(viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-slider"},
                             "--stage %s is a stage of a chain, and this is an image", viewer->request->stage);
    if (viewer->request->shown.image)
        return ts_diag_error(viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-slider"},
                             "--stage %s shows what that stage makes, so --image %s has no part in it",
                             viewer->request->stage, viewer->request->shown.image);
    const enum ts_status status = ts_slider_find(&viewer->slider, chain, viewer->request->stage, viewer->diag);
    if (status == TS_OK)
        viewer->input.reads_input = viewer->slider.stage_index == 0;
    if (status == TS_OK && !viewer->input.reads_input)
        chain->n_stages = viewer->slider.stage_index;
    return status;
}

static enum ts_status check_slice(struct viewer *viewer)
{
    const int64_t slice = viewer->request->slice, n = viewer->shown.image.axes[0].n;
    if (slice < n)
        return TS_OK;
    return ts_diag_error(viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-such-slice"},
                         "--slice %lld: the image has slices 0 to %lld", (long long)slice, (long long)n - 1);
}

static enum ts_status press_keys(struct viewer *viewer)
{
    enum ts_status status = TS_OK;
    for (const char *key = viewer->request->keys; key && *key && status == TS_OK; key++) {
        const enum scene_wish wish = ts_scene_key(&viewer->scene, *key);
        const char *end = key;
        (void)ts_font_letter(&end);
        status = wish == WISH_UNKNOWN
                     ? ts_diag_error(viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-such-key"},
                                     "--keys %s: there is no key '%.*s'", viewer->request->keys, (int)(end - key), key)
                     : ts_viewer_grant(viewer, wish);
    }
    return status;
}

enum ts_status ts_viewer_open(struct viewer *viewer, const struct viewer_request *request, struct ts_diag *diag)
{
    bool changed;
    *viewer = (struct viewer){.request = request, .input = request->shown, .diag = diag, .made_z = -1};
    snprintf(viewer->title, sizeof viewer->title, "%s", request->title);
    viewer->scene.title = viewer->title;
    enum ts_status status = find_slider(viewer);
    if (status == TS_OK)
        status = find_device(viewer);
    if (status == TS_OK)
        status = ts_shown_open(&viewer->shown, &viewer->input, diag);
    if (status == TS_OK && (request->frames || request->waits || request->stage))
        status = ts_shown_follow(&viewer->shown, true, &changed);
    if (status == TS_OK)
        status = check_slice(viewer);
    if (status == TS_OK)
        status = prepare_renderer(viewer, viewer->shown.run_diag ? NULL : viewer->device);
    if (status == TS_OK)
        status = show_image(viewer);
    if (status == TS_OK && request->stage)
        status = open_slider(viewer);
    if (status == TS_OK)
        status = press_keys(viewer);
    if (status != TS_OK)
        ts_viewer_close(viewer);
    return status;
}

void ts_viewer_close(struct viewer *viewer)
{
    ts_renderer_destroy(&viewer->renderer);
    ts_slider_close(&viewer->slider);
    ts_shown_close(&viewer->shown);
    free(viewer->table.values);
    free(viewer->canvas.inks);
    free(viewer->devices);
    *viewer = (struct viewer){0};
}

/* ---- changes ------------------------------------------------------------------------------------ */

enum ts_status ts_viewer_follow(struct viewer *viewer, bool *changed)
{
    const bool was_running = viewer->shown.run_diag != NULL;
    enum ts_status status = ts_shown_follow(&viewer->shown, false, changed);
    if (status != TS_OK || !was_running)
        return status;
    if (*changed) { /* the chain is done, and its result is open */
        status = prepare_renderer(viewer, viewer->device);
        return status == TS_OK ? show_image(viewer) : status;
    }
    const int64_t ready = atomic_load(&viewer->shown.ready);
    if (ready == viewer->uploaded)
        return TS_OK;
    *changed = true;
    if (viewer->uploaded == 0) { /* the first values give the window, and the first picture */
        status = show_image(viewer);
        viewer->scene.at[0] = 0;
    }
    ts_display_histogram(&viewer->shown.image, 0, ready, &viewer->histogram);
    viewer->scene.ready = viewer->uploaded = ready;
    return status;
}

static enum ts_status next_image(struct viewer *viewer, int step)
{
    const size_t n = viewer->shown.n_images;
    if (n < 2) {
        snprintf(viewer->scene.note, sizeof viewer->scene.note, "There is no other image here.");
        return TS_OK;
    }
    const enum ts_status status = ts_shown_choose(&viewer->shown, (viewer->shown.chosen + n + (size_t)step) % n);
    return status == TS_OK ? show_image(viewer) : status;
}

static enum ts_status next_table(struct viewer *viewer)
{
    const size_t n = viewer->shown.n_tables;
    free(viewer->table.values);
    viewer->table = (struct hdf5_slice){0};
    viewer->scene.table = NULL;
    if (n == 0)
        snprintf(viewer->scene.note, sizeof viewer->scene.note, "There is no table here.");
    if (viewer->next_table >= n) { /* after the last one none is shown */
        viewer->next_table = 0;
        return TS_OK;
    }
    const size_t i = viewer->next_table++;
    const enum ts_status status = ts_shown_table(&viewer->shown, i, &viewer->table);
    if (status == TS_OK) {
        viewer->scene.table = &viewer->table;
        viewer->scene.table_name = viewer->shown.tables[i];
    }
    return status;
}

static enum ts_status move_slider(struct viewer *viewer, double value)
{
    struct ts_diag *trial = ts_diag_create();
    if (!trial)
        return ts_diag_no_memory(viewer->diag, sizeof trial);
    const enum ts_status moved = ts_slider_move(&viewer->slider, value, trial);
    const struct ts_diag_record *record = ts_diag_get(trial, 0);
    viewer->slider.context.diag = viewer->diag;
    if (moved != TS_OK && record)
        snprintf(viewer->scene.note, sizeof viewer->scene.note, "%s", record->message);
    ts_diag_destroy(trial);
    return make_slice(viewer);
}

enum ts_status ts_viewer_grant(struct viewer *viewer, enum scene_wish wish)
{
    if (wish == WISH_IMAGE && !viewer->scene.slider)
        return next_image(viewer, viewer->scene.step);
    if (wish == WISH_TABLE)
        return next_table(viewer);
    if (wish == WISH_SLIDER)
        return move_slider(viewer, viewer->scene.slider_value);
    return TS_OK;
}

enum ts_status ts_viewer_picture(struct viewer *viewer, int32_t width, int32_t height, struct view_picture *picture)
{
    enum ts_status status = TS_OK;
    if (viewer->canvas.width != width || viewer->canvas.height != height) {
        free(viewer->canvas.inks);
        viewer->canvas = (struct canvas){width, height, malloc((size_t)width * (size_t)height)};
        if (!viewer->canvas.inks)
            return ts_diag_no_memory(viewer->diag, (size_t)width * (size_t)height);
    }
    viewer->scene.width = width;
    viewer->scene.height = height;
    if (viewer->scene.slider) {
        int64_t at[3];
        if (viewer->made_z != viewer->scene.at[0])
            status = make_slice(viewer);
        ts_scene_readout(&viewer->scene, at);
        if (status == TS_OK)
            status = ts_slider_fetch(&viewer->slider, &viewer->renderer,
                                     (size_t)(at[1] * viewer->slider.made.axes[2].n + at[2]), 1);
    }
    ts_scene_overlay(&viewer->scene, &viewer->canvas);
    ts_scene_picture(&viewer->scene, picture);
    picture->overlay = viewer->canvas.inks;
    return status;
}
