/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens what is shown, and makes pictures of it. The viewer draws on the device that --device
 * names; `auto` uses a CUDA device if there is one. While a chain runs, the CPU draws, because the
 * run may use the device alone and closes it when it ends.
 */
#include "program/show/viewer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/thread.h"
#include "core/timing.h"
#include "cuda/view/view.h"
#include "io/file/file_commit.h"
#include "io/file/new_folder.h"
#include "io/file/png.h"
#include "io/scan/file_kind.h"
#include "io/source/source_walk.h"
#include "pipeline/chain/chain_input.h"
#include "pipeline/run/run.h"
#include "program/show/font.h"

/* ---- what is shown --------------------------------------------------------------------------- */

/* A file is opened by a chain that does nothing, whose plan checks it. An image is read whole,
   because planes perpendicular to the slices need all of them. A running chain passes its slices on
   before it writes them (run_options.on_slices); the thread that shows them reads `ready`, and sees
   all slices before it. */

/* ---- an image of a file ---------------------------------------------------------------------- */

static void forget_image(struct shown *shown)
{
    free(shown->image.data);
    shown->image = (struct ts_image){0};
    if (shown->file_chain)
        ts_plan_destroy(shown->plan);
    ts_chain_destroy(shown->file_chain);
    shown->file_chain = NULL;
    shown->plan = NULL;
}

static enum ts_status viewer_allocate(struct shown *shown, const struct ts_image *image)
{
    const size_t bytes = ts_image_bytes(image);
    shown->image = *image;
    shown->image.z_first = 0;
    shown->image.masked = false; /* all pixels are shown with their values */
    shown->image.data = bytes < SIZE_MAX ? ts_memory_zeroed(bytes) : NULL;
    return shown->image.data ? TS_OK : ts_diag_no_memory(shown->diag, bytes);
}

static bool is_shown(const void *user, int64_t volume, int64_t z)
{
    (void)user;
    (void)z;
    return volume == 0;
}

static enum ts_status show_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct shown *shown = user;
    (void)diag;
    memcpy(ts_slice_data(&shown->image, slab->z), slab->data[0],
           (size_t)slab->n * ts_slice_bytes(&shown->image));
    return TS_OK;
}

static enum ts_status open_image(struct shown *shown, const char *format, const char *path,
                                 const char *image, struct ts_diag *diag)
{
    struct ts_options options = shown->request->options;
    options.device = "cpu"; /* for reading; the viewer's device draws the pictures */
    forget_image(shown);
    enum ts_status status = ts_chain_of_input(format, "view", path, &shown->file_chain, diag);
    for (int i = 0; status == TS_OK && i < shown->request->n_sets && shown->request->path; i++)
        status = ts_chain_set(shown->file_chain, shown->request->sets[i], diag);
    if (status == TS_OK && image)
        status = ts_chain_choose_image(shown->file_chain, image, diag);
    if (status == TS_OK)
        status = ts_plan_create(shown->file_chain, &options, &shown->plan, diag);
    return status;
}

static enum ts_status read_image(struct shown *shown)
{
    const struct source_walk walk = {.source = shown->plan->nodes[0].source,
                                     .threads = shown->plan->threads,
                                     .wants = is_shown,
                                     .take = show_slab,
                                     .user = shown};
    const enum ts_status status = viewer_allocate(shown, &shown->plan->nodes[0].out);
    atomic_store(&shown->ready, shown->image.axes[0].n);
    return status == TS_OK ? ts_source_walk(&walk, shown->diag) : status;
}

/* ---- a result -------------------------------------------------------------------------------- */

/* Lists the images, "NAME" for "/entry/NAME/data", and the tables. `data`, the last image, comes
 * first. */
static enum ts_status list_result(struct shown *shown, const char *path)
{
    struct ts_diag *none = ts_diag_create();
    const char **paths = NULL;
    size_t n = 0;
    enum ts_status status =
        ts_hdf5_list_datasets(path, NULL, shown->arena, &paths, &n, shown->diag);
    if (status == TS_OK && !none)
        status = ts_diag_no_memory(shown->diag, sizeof none);
    shown->images =
        status == TS_OK ? ts_arena_alloc(shown->arena, (n + 1) * sizeof *shown->images) : NULL;
    if (status == TS_OK && !shown->images)
        status = ts_diag_no_memory(shown->diag, n);
    shown->n_images = 0;
    for (int is_data = 1; status == TS_OK && is_data >= 0; is_data--)
        for (size_t i = 0; i < n; i++) {
            const char *start = strncmp(paths[i], "/entry/", 7) ? NULL : paths[i] + 7;
            const char *end = start ? strchr(start, '/') : NULL;
            const char *name = end && !strcmp(end, "/data")
                                   ? ts_arena_text(shown->arena, start, (size_t)(end - start))
                                   : NULL;
            if (name && (strcmp(name, "data") == 0) == is_data)
                shown->images[shown->n_images++] = name;
        }
    if (status == TS_OK && ts_hdf5_list_datasets(path, HDF5_EVERY_TABLE, shown->arena,
                                                 &shown->tables, &shown->n_tables, none) != TS_OK)
        shown->n_tables = 0; /* no stage left one */
    ts_diag_destroy(none);
    return status;
}

/* Reads a different image of a result. */
static enum ts_status choose_image(struct shown *shown, size_t i)
{
    shown->chosen = i;
    const enum ts_status status =
        open_image(shown, "result", shown->path, shown->images[i], shown->diag);
    return status == TS_OK ? read_image(shown) : status;
}

/* Reads a table of a result; the caller frees table->values. */
static enum ts_status read_table(const struct shown *shown, size_t i, struct hdf5_slice *table)
{
    return ts_hdf5_read_slice(shown->path, shown->tables[i], 0, table, shown->diag);
}

static enum ts_status open_result(struct shown *shown, const char *path)
{
    const char *wanted = shown->wanted;
    shown->path = path;
    enum ts_status status = list_result(shown, path);
    size_t i = 0;
    while (status == TS_OK && wanted && i < shown->n_images &&
           strcmp(shown->images[i], wanted) != 0)
        i++;
    /* the source's error lists the images that exist */
    if (status == TS_OK && i == shown->n_images) {
        status = open_image(shown, "result", path, wanted ? wanted : "data", shown->diag);
        return status == TS_OK ? read_image(shown) : status;
    }
    return status == TS_OK ? choose_image(shown, i) : status;
}

/* Opens a file in the first format that accepts it. If none does, reports the reasons of the first
   format. */
static enum ts_status open_file(struct shown *shown, const char *path)
{
    const char *formats[FILE_FORMATS];
    const int n = ts_file_formats(path, formats);
    for (int i = 0; i < n; i++) {
        struct ts_diag *trial = n > 1 ? ts_diag_create() : NULL;
        const enum ts_status status =
            open_image(shown, formats[i], path, NULL, trial ? trial : shown->diag);
        ts_diag_destroy(trial);
        if (status == TS_OK && !strcmp(formats[i], "result"))
            return open_result(shown, path);
        if (status == TS_OK) {
            shown->path = path;
            return read_image(shown);
        }
        if (!trial)
            return status;
    }
    return open_image(shown, formats[0], path, NULL, shown->diag);
}

/* ---- a chain --------------------------------------------------------------------------------- */

static enum ts_status on_slices(void *user, int32_t node, const struct ts_image *slices)
{
    struct shown *shown = user;
    const int64_t end = slices->z_first + slices->axes[0].n;
    enum ts_status status = TS_OK;
    if (node != shown->node)
        return TS_OK;
    void *to = ts_slice_data(&shown->image, slices->z_first);
    if (shown->plan->cuda)
        status = ts_cuda_view_fetch(to, slices->data, ts_image_bytes(slices), shown->run_diag);
    else
        memcpy(to, slices->data, ts_image_bytes(slices));
    if (status == TS_OK)
        atomic_store(&shown->ready, end);
    return status;
}

static void *run_chain(void *user)
{
    struct shown *shown = user;
    shown->run_status =
        ts_run(shown->plan, &shown->run_options, shown->plan->state, shown->run_diag);
    atomic_store(&shown->ended, true);
    return NULL;
}

/* Makes up the name of a temporary result, in a folder that only this user can open. */
static enum ts_status name_temporary(struct shown *shown)
{
    char path[sizeof shown->temporary + 16];
    const enum ts_status status = ts_private_folder_name("tomostage-view", shown->temporary,
                                                         sizeof shown->temporary, shown->diag);
    snprintf(path, sizeof path, "%s/view.h5", shown->temporary);
    return status == TS_OK ? ts_chain_set_output(shown->request->chain, path, shown->diag) : status;
}

static enum ts_status start_chain(struct shown *shown)
{
    enum ts_status status = shown->request->keeps_output ? TS_OK : name_temporary(shown);
    if (status == TS_OK)
        status = ts_chain_search(shown->request->chain, &shown->request->options, shown->diag);
    if (status == TS_OK)
        status = ts_plan_create(shown->request->chain, &shown->request->options, &shown->plan,
                                shown->diag);
    if (status == TS_OK && shown->plan->n_devices > 1)
        status =
            ts_diag_error(shown->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "view-devices"},
                          "slices are shown from one device, and the chain would run on %d",
                          shown->plan->n_devices);
    if (status != TS_OK)
        return status;
    shown->node = shown->plan->n_nodes - 1;
    const char *last = shown->plan->nodes[shown->node].dataset;
    shown->wanted = shown->wanted ? shown->wanted : ts_arena_text(shown->arena, last, strlen(last));
    shown->run_options = shown->plan->options;
    shown->run_options.on_slices = on_slices;
    shown->run_options.slices_user = shown;
    shown->run_diag = ts_diag_create();
    status = viewer_allocate(shown, &shown->plan->nodes[shown->node].out);
    atomic_store(&shown->ready, 0);
    if (shown->request->running)
        shown->request->running(shown->plan);
    if (status == TS_OK && !shown->request->keeps_output) {
        atomic_store(&shown->plan->state->private_folder, shown->temporary);
        status = ts_private_folder_make(shown->temporary, shown->diag);
    }
    if (status == TS_OK &&
        (!shown->run_diag || ts_thread_start(&shown->thread, run_chain, shown) != 0))
        status = ts_diag_no_memory(shown->diag, sizeof *shown);
    if (status != TS_OK) {
        ts_diag_destroy(shown->run_diag);
        shown->run_diag = NULL;
    }
    return status;
}

/* Reads the image that the first stage of a chain would get. */
static enum ts_status read_input(struct shown *shown)
{
    struct ts_options options = shown->request->options;
    options.device = "cpu"; /* reads alone */
    const enum ts_status status =
        ts_plan_create(shown->request->chain, &options, &shown->plan, shown->diag);
    return status == TS_OK ? read_image(shown) : status;
}

enum ts_status ts_shown_finish(struct shown *shown)
{
    if (!shown->run_diag)
        return TS_OK;
    pthread_join(shown->thread, NULL);
    if (shown->request->running)
        shown->request->running(NULL);
    ts_diag_append(shown->diag, shown->run_diag);
    ts_diag_destroy(shown->run_diag);
    shown->run_diag = NULL;
    ts_plan_destroy(shown->plan);
    shown->plan = NULL;
    return shown->run_status;
}

/* Checks a running chain, or waits for its end. If it has ended, opens its result and sets
 *changed, since `image` is then a different one. Returns the status of the run or of opening. */
static enum ts_status follow_shown(struct shown *shown, bool wait, bool *changed)
{
    *changed = shown->run_diag && (wait || atomic_load(&shown->ended));
    if (!*changed)
        return TS_OK;
    const enum ts_status status = ts_shown_finish(shown);
    return status == TS_OK ? open_result(shown, shown->request->chain->output.path) : status;
}

/* ---- opening and following ------------------------------------------------------------------- */

static void close_shown(struct shown *shown)
{
    if (shown->run_diag) {
        ts_plan_stop(shown->plan);
        (void)ts_shown_finish(shown);
    }
    if (!shown->file_chain)
        ts_plan_destroy(shown->plan);
    forget_image(shown);
    if (*shown->temporary)
        ts_temporary_folder_remove(shown->temporary);
    ts_arena_destroy(shown->arena);
    *shown = (struct shown){0};
}

static enum ts_status open_shown(struct shown *shown, const struct shown_request *request,
                                 struct ts_diag *diag)
{
    *shown = (struct shown){
        .request = request, .diag = diag, .arena = ts_arena_create(), .wanted = request->image};
    enum ts_status status = shown->arena ? TS_OK : ts_diag_no_memory(diag, sizeof *shown);
    if (status == TS_OK) {
        if (request->path)
            status = open_file(shown, request->path);
        else if (request->reads_input)
            status = read_input(shown);
        else
            status = start_chain(shown);
    }
    if (status != TS_OK)
        close_shown(shown);
    return status;
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Finds the device that draws; stays with the CPU if `auto` finds none. */
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

/* ---- the scene ------------------------------------------------------------------------------- */

static enum ts_status make_slice(struct viewer *viewer)
{
    const enum ts_status status =
        ts_slider_make(&viewer->slider, &viewer->renderer, viewer->scene.at[0]);
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

/* Copies n elements of that slice, from element `first` on, to made.data, if a device computed it.
   Pictures are drawn from the device's copy. */
static enum ts_status slider_fetch(struct slider *slider, struct renderer *renderer, size_t first,
                                   size_t n)
{
    const size_t width = ts_dtype_bytes(slider->made.dtype);
    if (!renderer->cuda || !slider->device)
        return TS_OK;
    return ts_cuda_view_read(renderer->cuda, VIEW_MADE, first * width, n * width,
                             (unsigned char *)slider->made.data + first * width);
}

static enum ts_status open_slider(struct viewer *viewer)
{
    enum ts_status status = ts_slider_open(&viewer->slider, &viewer->shown.image, viewer->device,
                                           viewer->renderer.threads, viewer->diag);
    if (status == TS_OK)
        status = ts_renderer_image(&viewer->renderer, VIEW_MADE, &viewer->slider.made);
    if (status == TS_OK) {
        viewer->scene.slider = &viewer->slider;
        viewer->scene.image_name = viewer->slider.stage->stage->name;
        status = make_slice(viewer);
    }
    if (status == TS_OK)
        status = slider_fetch(&viewer->slider, &viewer->renderer, 0,
                              ts_image_count(&viewer->slider.made));
    if (status == TS_OK) {
        ts_display_histogram(&viewer->slider.made, 0, 1, &viewer->histogram);
        begin_scene(viewer);
    }
    return status;
}

/* Reads what lies over an image of a file. Of a result's images those of another grid have nothing
   over them, except the first that is shown, of which that is an error. */
static enum ts_status show_over(struct viewer *viewer)
{
    const struct shown *shown = &viewer->shown;
    const struct overlay_style *style = &viewer->request->over;
    const bool first = !viewer->scene.image;
    free(viewer->over.image.data);
    viewer->over = (struct overlay){0};
    viewer->scene.over = NULL;
    if (!style->what || !shown->file_chain ||
        (shown->n_images > 0 && !strcmp(shown->images[shown->chosen], style->what)))
        return TS_OK;
    struct ts_diag *trial = first ? viewer->diag : ts_diag_create();
    const enum ts_status status =
        ts_overlay_read(style, shown->path, shown->plan->nodes[0].source, &viewer->over, trial);
    if (!first)
        ts_diag_destroy(trial);
    if (status == TS_OK)
        viewer->scene.over = &viewer->over;
    return first ? status : TS_OK;
}

/* Shows the image that `shown` holds now, as far as it has values. */
static enum ts_status show_image(struct viewer *viewer)
{
    const struct ts_image *image = &viewer->shown.image;
    const int64_t ready = atomic_load(&viewer->shown.ready);
    struct ts_image slices = ts_image_slices(image, 0, ready);
    const enum ts_status read = show_over(viewer);
    if (read != TS_OK)
        return read;
    ts_display_histogram(image, 0, ready, &viewer->histogram);
    begin_scene(viewer);
    viewer->scene.ready = viewer->uploaded = ready;
    viewer->scene.image_name =
        viewer->shown.n_images ? viewer->shown.images[viewer->shown.chosen] : "input";
    if (viewer->shown.run_diag)
        viewer->scene.image_name = "of the running chain";
    const enum ts_status status = ts_renderer_image(&viewer->renderer, VIEW_WHOLE, image);
    return status == TS_OK && ready > 0 ? ts_renderer_slices(&viewer->renderer, VIEW_WHOLE, &slices)
                                        : status;
}

static enum ts_status prepare_renderer(struct viewer *viewer, const struct device_numbers *device)
{
    const int threads = viewer->request->shown.options.threads;
    ts_renderer_destroy(&viewer->renderer);
    return ts_renderer_create(&viewer->renderer, device,
                              threads > 0 ? threads : omp_get_num_procs(), viewer->diag);
}

/* Finds the stage of the slider, and ends the chain before it. */
static enum ts_status find_slider(struct viewer *viewer)
{
    struct ts_chain *chain = viewer->request->shown.chain;
    if (!viewer->request->stage)
        return TS_OK;
    if (!chain)
        return ts_diag_error(viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-slider"},
                             "--stage %s is a stage of a chain, and this is an image",
                             viewer->request->stage);
    if (viewer->request->shown.image)
        return ts_diag_error(
            viewer->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-slider"},
            "--stage %s shows what that stage makes, so --image %s has no part in it",
            viewer->request->stage, viewer->request->shown.image);
    const enum ts_status status =
        ts_slider_find(&viewer->slider, chain, viewer->request->stage, viewer->diag);
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
                         "--slice %lld: the image has slices 0 to %lld", (long long)slice,
                         (long long)n - 1);
}

static enum ts_status press_keys(struct viewer *viewer)
{
    enum ts_status status = TS_OK;
    for (const char *key = viewer->request->keys; key && *key && status == TS_OK; key++) {
        const enum scene_wish wish = ts_scene_key(&viewer->scene, *key);
        const char *end = key;
        (void)ts_font_letter(&end);
        status = wish == WISH_UNKNOWN ? ts_diag_error(viewer->diag, TS_BAD_CHAIN,
                                                      &(struct diag_site){.code = "no-such-key"},
                                                      "--keys %s: there is no key '%.*s'",
                                                      viewer->request->keys, (int)(end - key), key)
                                      : ts_viewer_grant(viewer, wish);
    }
    return status;
}

enum ts_status ts_viewer_open(struct viewer *viewer, const struct viewer_request *request,
                              struct ts_diag *diag)
{
    bool changed;
    *viewer =
        (struct viewer){.request = request, .input = request->shown, .diag = diag, .made_z = -1};
    snprintf(viewer->title, sizeof viewer->title, "%s", request->title);
    viewer->scene.title = viewer->title;
    viewer->scene.over_style = request->over;
    enum ts_status status = find_slider(viewer);
    if (status == TS_OK)
        status = find_device(viewer);
    if (status == TS_OK)
        status = open_shown(&viewer->shown, &viewer->input, diag);
    if (status == TS_OK && (request->frames || request->waits || request->stage))
        status = follow_shown(&viewer->shown, true, &changed);
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
    close_shown(&viewer->shown);
    free(viewer->table.values);
    free(viewer->over.image.data);
    free(viewer->canvas.inks);
    free(viewer->devices);
    *viewer = (struct viewer){0};
}

/* ---- changes --------------------------------------------------------------------------------- */

enum ts_status ts_viewer_follow(struct viewer *viewer, bool *changed)
{
    const bool was_running = viewer->shown.run_diag != NULL;
    enum ts_status status = follow_shown(&viewer->shown, false, changed);
    if (status != TS_OK || !was_running)
        return status;
    if (*changed) { /* the chain has ended, and its result is open */
        status = prepare_renderer(viewer, viewer->device);
        return status == TS_OK ? show_image(viewer) : status;
    }
    const int64_t ready = atomic_load(&viewer->shown.ready);
    if (ready == viewer->uploaded)
        return TS_OK;
    *changed = true;
    if (viewer->uploaded == 0) { /* the first values give the window and the first picture */
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
    const enum ts_status status =
        choose_image(&viewer->shown, (viewer->shown.chosen + n + (size_t)step) % n);
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
    if (viewer->next_table >= n) { /* after the last table none is shown */
        viewer->next_table = 0;
        return TS_OK;
    }
    const size_t i = viewer->next_table++;
    const enum ts_status status = read_table(&viewer->shown, i, &viewer->table);
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

enum ts_status ts_viewer_picture(struct viewer *viewer, int32_t width, int32_t height,
                                 struct view_picture *picture)
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
            status = slider_fetch(&viewer->slider, &viewer->renderer,
                                  (size_t)(at[1] * viewer->slider.made.axes[2].n + at[2]), 1);
    }
    ts_scene_overlay(&viewer->scene, &viewer->canvas);
    ts_scene_picture(&viewer->scene, picture);
    picture->overlay = viewer->canvas.inks;
    return status;
}

/* ---- pictures in files ----------------------------------------------------------------------- */

/* Pictures are written to files here: frames of a movie, or one picture. Frames are numbered from
   0, so that ffmpeg and similar programs find them in order. */

static enum ts_status draw_alone(void *user, const struct view_picture *picture, void *pixels)
{
    return ts_renderer_draw(user, picture, pixels);
}

/* A picture in memory, and the function that draws it. */
struct drawing {
    struct viewer *viewer;
    viewer_draw *draw;
    void *user;
    int32_t width, height;
    uint8_t *pixels;
};

static enum ts_status begin_drawing(struct drawing *drawing, struct viewer *viewer,
                                    viewer_draw *draw, void *user)
{
    const int32_t width = viewer->scene.width ? viewer->scene.width : viewer->request->width;
    const int32_t height = viewer->scene.height ? viewer->scene.height : viewer->request->height;
    *drawing = (struct drawing){viewer, draw ? draw : draw_alone, draw ? user : &viewer->renderer,
                                width, height};
    drawing->pixels = malloc((size_t)width * (size_t)height * 4);
    return drawing->pixels ? TS_OK
                           : ts_diag_no_memory(viewer->diag, (size_t)width * (size_t)height * 4);
}

static enum ts_status draw_scene(const struct drawing *drawing)
{
    struct view_picture picture;
    const enum ts_status status =
        ts_viewer_picture(drawing->viewer, drawing->width, drawing->height, &picture);
    return status == TS_OK ? drawing->draw(drawing->user, &picture, drawing->pixels) : status;
}

static enum ts_status write_drawing(const struct drawing *drawing, const char *path)
{
    return ts_png_write_rgba8(path, drawing->width, drawing->height, drawing->pixels,
                              drawing->viewer->diag);
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

/* Draws frame i of n and writes it. Sets *seconds to the time from the slice, or the slider, to the
   picture. */
static enum ts_status make_frame(const struct drawing *drawing, int64_t i, int64_t n,
                                 double *seconds)
{
    char path[4096];
    const double begin = ts_seconds();
    enum ts_status status = n > 1 ? go_to(drawing->viewer, i) : TS_OK;
    if (status == TS_OK)
        status = draw_scene(drawing);
    *seconds = ts_seconds() - begin;
    snprintf(path, sizeof path, "%s/frame_%04lld.png", drawing->viewer->request->frames,
             (long long)i);
    return status == TS_OK ? write_drawing(drawing, path) : status;
}

enum ts_status ts_viewer_frames(struct viewer *viewer, viewer_draw *draw, void *user,
                                struct viewer_frames *frames)
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
