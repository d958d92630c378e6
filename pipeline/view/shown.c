/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is opened by a chain that does nothing, whose plan checks it. An image is read whole, because planes across
 * the slices need all of them. A running chain hands its slices over before it writes them (ts_plan.on_slices); the
 * thread that shows them reads `ready`, and sees every slice before it.
 */
#include "pipeline/view/shown.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/thread.h"
#include "cuda/view/view.h"
#include "io/file/file_commit.h"
#include "io/file/new_folder.h"
#include "io/scan/file_kind.h"
#include "pipeline/chain/chain_input.h"

/* ---- an image of a file ------------------------------------------------------------------------- */

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

static enum ts_status allocate(struct shown *shown, const struct ts_image *image)
{
    const size_t bytes = ts_image_bytes(image);
    shown->image = *image;
    shown->image.z_first = 0;
    shown->image.masked = false; /* all pixels are shown as they are */
    shown->image.data = bytes < SIZE_MAX ? ts_memory_zeroed(bytes) : NULL;
    return shown->image.data ? TS_OK : ts_diag_no_memory(shown->diag, bytes);
}

/* Reads all slices of a plan's source. */
static enum ts_status read_all(struct shown *shown, struct source *source)
{
    enum { AT_ONCE = 16 };
    const int64_t nz = shown->image.axes[0].n;
    enum ts_status status = TS_OK;
    if (source->ops->start)
        status = source->ops->start(source, shown->plan->threads, AT_ONCE, shown->diag);
    for (int64_t z = 0; status == TS_OK && z < nz; z += AT_ONCE) {
        const int64_t n = nz - z < AT_ONCE ? nz - z : AT_ONCE;
        if (source->ops->prefetch)
            source->ops->prefetch(source, z, n);
        status = source->ops->read(source, z, n, ts_slice_data(&shown->image, z), shown->diag);
    }
    return status;
}

static enum ts_status open_image(struct shown *shown, const char *format, const char *path, const char *image,
                                 struct ts_diag *diag)
{
    struct ts_options options = shown->request->options;
    options.device = "cpu"; /* reads; pictures are drawn elsewhere */
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
    const enum ts_status status = allocate(shown, &shown->plan->nodes[0].out);
    atomic_store(&shown->ready, shown->image.axes[0].n);
    return status == TS_OK ? read_all(shown, shown->plan->nodes[0].source) : status;
}

/* ---- a result ----------------------------------------------------------------------------------- */

/* Lists the images, "NAME" for "/entry/NAME/data", and the tables. `data`, the last image, comes first. */
static enum ts_status list_result(struct shown *shown, const char *path)
{
    struct ts_diag *none = ts_diag_create();
    const char **paths = NULL;
    size_t n = 0;
    enum ts_status status = ts_hdf5_list_datasets(path, NULL, shown->arena, &paths, &n, shown->diag);
    if (status == TS_OK && !none)
        status = ts_diag_no_memory(shown->diag, sizeof none);
    shown->images = status == TS_OK ? ts_arena_alloc(shown->arena, (n + 1) * sizeof *shown->images) : NULL;
    if (status == TS_OK && !shown->images)
        status = ts_diag_no_memory(shown->diag, n);
    shown->n_images = 0;
    for (int is_data = 1; status == TS_OK && is_data >= 0; is_data--)
        for (size_t i = 0; i < n; i++) {
            const char *start = strncmp(paths[i], "/entry/", 7) ? NULL : paths[i] + 7;
            const char *end = start ? strchr(start, '/') : NULL;
            const char *name =
                end && !strcmp(end, "/data") ? ts_arena_text(shown->arena, start, (size_t)(end - start)) : NULL;
            if (name && (strcmp(name, "data") == 0) == is_data)
                shown->images[shown->n_images++] = name;
        }
    if (status == TS_OK &&
        ts_hdf5_list_datasets(path, HDF5_EVERY_TABLE, shown->arena, &shown->tables, &shown->n_tables, none) != TS_OK)
        shown->n_tables = 0; /* no stage left one */
    ts_diag_destroy(none);
    return status;
}

enum ts_status ts_shown_choose(struct shown *shown, size_t i)
{
    shown->chosen = i;
    const enum ts_status status = open_image(shown, "result", shown->path, shown->images[i], shown->diag);
    return status == TS_OK ? read_image(shown) : status;
}

enum ts_status ts_shown_table(const struct shown *shown, size_t i, struct hdf5_slice *table)
{
    return ts_hdf5_read_slice(shown->path, shown->tables[i], 0, table, shown->diag);
}

static enum ts_status open_result(struct shown *shown, const char *path)
{
    const char *wanted = shown->wanted;
    shown->path = path;
    enum ts_status status = list_result(shown, path);
    size_t i = 0;
    while (status == TS_OK && wanted && i < shown->n_images && strcmp(shown->images[i], wanted) != 0)
        i++;
    if (status == TS_OK && i == shown->n_images) { /* the source names those that there are */
        status = open_image(shown, "result", path, wanted ? wanted : "data", shown->diag);
        return status == TS_OK ? read_image(shown) : status;
    }
    return status == TS_OK ? ts_shown_choose(shown, i) : status;
}

/* Opens a file as the first format that takes it. Where none does, the first one's reasons are reported. */
static enum ts_status open_file(struct shown *shown, const char *path)
{
    const char *formats[FILE_FORMATS];
    const int n = ts_file_formats(path, formats);
    for (int i = 0; i < n; i++) {
        struct ts_diag *trial = n > 1 ? ts_diag_create() : NULL;
        const enum ts_status status = open_image(shown, formats[i], path, NULL, trial ? trial : shown->diag);
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

/* ---- a chain ------------------------------------------------------------------------------------ */

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
    shown->run_status = ts_plan_run(shown->plan, shown->run_diag);
    atomic_store(&shown->ended, true);
    return NULL;
}

/* Names a temporary result, in a folder that is this user's alone. */
static enum ts_status name_temporary(struct shown *shown)
{
    char path[sizeof shown->temporary + 16];
    const enum ts_status status =
        ts_private_folder_name("tomostage-view", shown->temporary, sizeof shown->temporary, shown->diag);
    snprintf(path, sizeof path, "%s/view.h5", shown->temporary);
    return status == TS_OK ? ts_chain_set_output(shown->request->chain, path, shown->diag) : status;
}

static enum ts_status start_chain(struct shown *shown)
{
    enum ts_status status = shown->request->keeps_output ? TS_OK : name_temporary(shown);
    if (status == TS_OK)
        status = ts_chain_search(shown->request->chain, &shown->request->options, shown->diag);
    if (status == TS_OK)
        status = ts_plan_create(shown->request->chain, &shown->request->options, &shown->plan, shown->diag);
    if (status == TS_OK && shown->plan->n_devices > 1)
        status =
            ts_diag_error(shown->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "view-devices"},
                          "slices are shown from one device, and the chain would run on %d", shown->plan->n_devices);
    if (status != TS_OK)
        return status;
    shown->node = shown->plan->n_nodes - 1;
    const char *last = shown->plan->nodes[shown->node].dataset;
    shown->wanted = shown->wanted ? shown->wanted : ts_arena_text(shown->arena, last, strlen(last));
    shown->plan->on_slices = on_slices;
    shown->plan->slices_user = shown;
    shown->run_diag = ts_diag_create();
    status = allocate(shown, &shown->plan->nodes[shown->node].out);
    atomic_store(&shown->ready, 0);
    if (shown->request->running)
        shown->request->running(shown->plan);
    if (status == TS_OK && !shown->request->keeps_output) {
        atomic_store(&shown->plan->private_folder, shown->temporary);
        status = ts_private_folder_make(shown->temporary, shown->diag);
    }
    if (status == TS_OK && (!shown->run_diag || ts_thread_start(&shown->thread, run_chain, shown) != 0))
        status = ts_diag_no_memory(shown->diag, sizeof *shown);
    if (status != TS_OK) {
        ts_diag_destroy(shown->run_diag);
        shown->run_diag = NULL;
    }
    return status;
}

/* Reads the image that the first stage of a chain would be given. */
static enum ts_status read_input(struct shown *shown)
{
    struct ts_options options = shown->request->options;
    options.device = "cpu"; /* reads alone */
    const enum ts_status status = ts_plan_create(shown->request->chain, &options, &shown->plan, shown->diag);
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

enum ts_status ts_shown_follow(struct shown *shown, bool wait, bool *changed)
{
    *changed = shown->run_diag && (wait || atomic_load(&shown->ended));
    if (!*changed)
        return TS_OK;
    const enum ts_status status = ts_shown_finish(shown);
    return status == TS_OK ? open_result(shown, shown->request->chain->output.path) : status;
}

/* ---- all ---------------------------------------------------------------------------------------- */

enum ts_status ts_shown_open(struct shown *shown, const struct shown_request *request, struct ts_diag *diag)
{
    *shown = (struct shown){.request = request, .diag = diag, .arena = ts_arena_create(), .wanted = request->image};
    enum ts_status status = shown->arena ? TS_OK : ts_diag_no_memory(diag, sizeof *shown);
    if (status == TS_OK)
        status = request->path          ? open_file(shown, request->path)
                 : request->reads_input ? read_input(shown)
                                        : start_chain(shown);
    if (status != TS_OK)
        ts_shown_close(shown);
    return status;
}

void ts_shown_close(struct shown *shown)
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
