/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens images like a chain's input (program/record/side.h), with the same checks, axes and invalid
 * pixels; only datasets of HDF5 files that are neither result nor scan are read as bare numbers. If
 * planes perpendicular to the slices are wanted, all slices are read once, a few at a time. Then
 * finds the windows, which are the same in all planes of an image, and has the sheet drawn. Names
 * come from files, and are escaped before they reach a terminal.
 */
#include "program/show/preview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/path.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/scan/file_kind.h"
#include "program/record/made.h"
#include "program/record/side.h"
#include "program/show/sheet.h"

/* ---- which planes ---------------------------------------------------------------------------- */

static enum ts_status choose_index(const struct preview_request *request,
                                   const struct preview_image *image, int i,
                                   struct picture_plane *plane, struct ts_diag *diag)
{
    const int64_t n = image->image.axes[plane->across].n;
    if (request->slice >= n)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "preview-slice"},
                             "there is no slice %lld: %s has %lld %s slices, counted from 0",
                             (long long)request->slice, image->name, (long long)n, plane->name);
    int64_t index = (n - 1) / 2;
    if (request->montage > 0)
        index = (2 * (int64_t)i + 1) * n / (2 * (int64_t)image->n_planes);
    else if (request->slice >= 0)
        index = request->slice;
    ts_picture_move(&image->image, index, plane);
    return TS_OK;
}

static enum ts_status make_planes(const struct preview_request *request, bool lengths,
                                  struct preview_image *image, struct ts_diag *diag)
{
    const bool is_all = request->plane == PLANE_ALL;
    struct picture_plane all[PICTURE_PLANES], first;
    const int n_all = ts_picture_planes(&image->image, lengths, all);
    ts_picture_plane(&image->image, is_all ? PLANE_STORED : request->plane, lengths, &first);
    const int64_t n = image->image.axes[first.across].n;
    const bool each = !is_all && request->montage == 0;
    const int64_t volumes = image->n_volumes < PREVIEW_MONTAGE ? image->n_volumes : PREVIEW_MONTAGE;
    if (is_all)
        image->n_planes = n_all;
    else if (request->montage > n)
        image->n_planes = (int)n;
    else if (request->montage > 0)
        image->n_planes = request->montage;
    else
        image->n_planes = (int)volumes;
    image->planes = calloc((size_t)image->n_planes, sizeof *image->planes);
    enum ts_status status = image->planes ? TS_OK : ts_diag_no_memory(diag, sizeof first);
    for (int i = 0; i < image->n_planes && status == TS_OK; i++) {
        struct picture_plane *plane = &image->planes[i];
        *plane = is_all ? all[i] : first;
        plane->volume = each ? (2 * (int64_t)i + 1) * image->n_volumes / (2 * volumes)
                             : (image->n_volumes - 1) / 2;
        status = choose_index(request, image, i, plane, diag);
    }
    return status;
}

/* ---- which images ---------------------------------------------------------------------------- */

static struct preview_image *preview_add(struct preview_images *images, const char *name)
{
    if (images->n == PREVIEW_IMAGES) {
        images->left_out++;
        return NULL;
    }
    struct preview_image *image = &images->at[images->n++];
    *image = (struct preview_image){.name = name};
    return image;
}

/* Names the volumes of a result by the values of its sweep, if it has one. */
static void name_volumes(const char *path, struct preview_image *image, struct arena *arena)
{
    struct recorded recorded = {0};
    struct ts_diag *apart = ts_diag_create(); /* a file without a chain is no error here */
    const bool opened = apart && ts_recorded_open(NULL, path, NULL, 0, &recorded, apart) == TS_OK;
    const struct chain_sweep *sweep = opened ? &recorded.chain->sweep : NULL;
    for (int i = 0; sweep && sweep->n == image->n_volumes && i < image->n_planes; i++) {
        const struct param *param = &recorded.chain->stages[sweep->stage].set.params[sweep->param];
        char text[128];
        ts_sweep_named(sweep, param, image->planes[i].volume, text, sizeof text);
        image->planes[i].volume_name = ts_arena_text(arena, text, strlen(text));
    }
    ts_recorded_close(&recorded);
    ts_diag_destroy(apart);
}

/* Reads what lies over the planes of an open image. Of several images of a file those with other
   voxels have nothing over them. */
static enum ts_status read_over(const struct preview_request *request, const struct source *under,
                                struct preview_images *images, struct preview_image *image,
                                struct ts_diag *diag)
{
    struct side side;
    struct gray_window window;
    const struct gray_window_request automatic = {.kind = GRAY_AUTO};
    struct ts_diag *trial = images->several ? ts_diag_create() : diag;
    enum ts_status status = ts_overlay_open(
        &request->over, request->one_line ? NULL : request->text, under, &side, trial);
    if (images->several && status != TS_OK && !images->not_over)
        images->not_over = trial;
    else if (images->several)
        ts_diag_destroy(trial);
    if (status != TS_OK)
        return images->several ? TS_OK : status;
    const size_t n = (size_t)image->n_planes;
    image->over.image = side.source->image;
    image->over_name =
        request->over.one_line ? request->over.what : ts_base_name(request->over.what);
    image->over_planes = calloc(n, sizeof *image->over_planes);
    for (size_t i = 0; image->over_planes && i < n; i++) {
        image->over_planes[i] = image->planes[i];
        image->over_planes[i].values = NULL;
        if (side.source->n_volumes <= 1)
            image->over_planes[i].volume = 0;
    }
    status = image->over_planes ? ts_picture_read(side.source, image->over_planes, image->n_planes,
                                                  NULL, NULL, diag)
                                : ts_diag_no_memory(diag, n * sizeof *image->over_planes);
    if (status == TS_OK)
        status = ts_gray_window_find(&automatic, &image->over.image, image->over_planes,
                                     image->n_planes, &window, diag);
    if (status == TS_OK) {
        image->over.low = window.low;
        image->over.high = window.high;
    }
    ts_side_close(&side);
    return status;
}

/* Reads the planes of an open image, and closes it. */
static enum ts_status read_side(const struct preview_request *request, struct side *side,
                                const char *name, struct preview_images *images,
                                struct ts_diag *diag)
{
    struct preview_image *image = preview_add(images, name);
    enum ts_status status = TS_OK;
    if (image) {
        const struct source *source = side->source;
        image->image = source->image;
        image->image.unit =
            ts_arena_text(images->arena, source->image.unit, strlen(source->image.unit));
        image->n_volumes = source->n_volumes > 1 ? source->n_volumes : 1;
        for (int i = 0; i < 3; i++) {
            struct ts_axis *axis = &image->image.axes[i];
            axis->unit =
                axis->unit ? ts_arena_text(images->arena, axis->unit, strlen(axis->unit)) : "";
            double *positions =
                axis->positions ? ts_arena_alloc(images->arena, (size_t)axis->n * sizeof *positions)
                                : NULL;
            if (positions)
                memcpy(positions, axis->positions, (size_t)axis->n * sizeof *positions);
            axis->positions = positions;
        }
        status = make_planes(request, !side->no_grid, image, diag);
        if (status == TS_OK)
            status =
                ts_picture_read(side->source, image->planes, image->n_planes, NULL, NULL, diag);
        if (status == TS_OK && image->n_volumes > 1 &&
            !strcmp(side->chain->sources[0].format->name, "result"))
            name_volumes(request->text, image, images->arena);
    }
    if (image && status == TS_OK && request->over.what && strcmp(request->over.what, name) != 0)
        status = read_over(request, side->source, images, image, diag);
    ts_side_close(side);
    return status;
}

/* Reads one slice of a dataset as bare numbers. */
static enum ts_status read_dataset(const struct preview_request *request, const char *dataset,
                                   struct preview_images *images, struct ts_diag *diag)
{
    struct hdf5_slice slice;
    struct preview_image *image = preview_add(images, dataset);
    if (!image)
        return TS_OK;
    const enum ts_status status = ts_hdf5_read_slice(
        request->text, dataset, request->slice >= 0 ? request->slice : -1, &slice, diag);
    if (status != TS_OK)
        return status;
    image->planes = calloc(1, sizeof *image->planes);
    if (!image->planes) {
        free(slice.values);
        return ts_diag_no_memory(diag, sizeof *image->planes);
    }
    const int64_t index =
        request->slice >= 0 ? request->slice : (slice.n_slices / slice.n_volumes - 1) / 2;
    image->planes[0] = (struct picture_plane){.name = "",
                                              .index = index,
                                              .rows = slice.rows,
                                              .columns = slice.columns,
                                              .width = 1,
                                              .height = 1,
                                              .values = slice.values};
    image->n_planes = 1;
    image->is_picture = slice.is_picture;
    image->n_volumes = 1;
    image->image =
        (struct ts_image){.unit = "",
                          .dtype = TS_F32,
                          .quantity = TS_INTENSITY,
                          .axes = {{.n = slice.n_slices, .unit = ""}, {.unit = ""}, {.unit = ""}}};
    return TS_OK;
}

/* Returns the number of the stage whose image has this name; images without a stage, such as
   `data`, come last. */
static int stage_number(const struct made *made, const char *name)
{
    for (size_t i = 0; *name && i < made->n_stages; i++)
        if (!strcmp(made->stages[i].name, name))
            return made->stages[i].number;
    return strcmp(name, "input") == 0 ? 0 : INT32_MAX;
}

static enum ts_status read_result_image(const struct preview_request *request, const char *name,
                                        struct preview_images *images, struct ts_diag *diag)
{
    struct side side;
    const enum ts_status status = ts_side_open_as(request->text, "result", name, &side, diag);
    return status == TS_OK ? read_side(request, &side, name, images, diag) : status;
}

/* Reports why nothing lies over any image of a result. */
static enum ts_status check_over(const struct preview_images *images, struct ts_diag *diag)
{
    for (size_t i = 0; i < images->n; i++)
        if (images->at[i].over_planes)
            return TS_OK;
    if (!images->not_over)
        return TS_OK;
    ts_diag_append(diag, images->not_over);
    return TS_BAD_INPUT;
}

/* Reads the images of a result in the order of its chain. */
static enum ts_status read_result(const struct preview_request *request, const struct made *made,
                                  struct preview_images *images, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    bool *done = ts_arena_alloc(images->arena, (made->n_images + 1) * sizeof *done);
    if (!done)
        return ts_diag_no_memory(diag, made->n_images);
    memset(done, 0, made->n_images * sizeof *done);
    images->several = true;
    for (size_t k = 0; k < made->n_images && status == TS_OK; k++) {
        size_t next = made->n_images;
        for (size_t i = 0; i < made->n_images; i++)
            if (!done[i] &&
                (next == made->n_images || stage_number(made, made->images[i].name) <
                                               stage_number(made, made->images[next].name)))
                next = i;
        done[next] = true;
        if (!made->images[next].same || strcmp(made->images[next].name, "data") != 0)
            status = read_result_image(request, made->images[next].name, images, diag);
    }
    return status == TS_OK ? check_over(images, diag) : status;
}

/* Reads what a result says of itself. *ours: the file is a result of this program. If it is not,
   that is no error; all others are. */
static enum ts_status read_made(const char *path, struct arena *arena, struct made *made,
                                bool *ours, struct ts_diag *diag)
{
    struct ts_diag *trial = ts_diag_create();
    if (!trial)
        return ts_diag_no_memory(diag, sizeof trial);
    enum ts_status status = ts_made_read(NULL, path, arena, made, trial);
    const struct ts_diag_record *first = ts_diag_get(trial, 0);
    const bool foreign =
        status != TS_OK && first && first->code && !strcmp(first->code, "result-foreign");
    *ours = status == TS_OK;
    if (foreign)
        status = TS_OK;
    else
        ts_diag_append(diag, trial);
    ts_diag_destroy(trial);
    return status;
}

/* Reads an HDF5 file of another program: a scan, or every dataset of three axes. */
static enum ts_status read_foreign(const struct preview_request *request, const char *name,
                                   struct preview_images *images, struct ts_diag *diag)
{
    const char *formats[FILE_FORMATS], **datasets;
    const int n_formats = ts_file_formats(request->text, formats);
    size_t n = 0;
    for (int i = 1; i < n_formats; i++) { /* the first format is that of results */
        struct side side;
        struct ts_diag *trial = ts_diag_create();
        if (!trial)
            return ts_diag_no_memory(diag, sizeof trial);
        const enum ts_status status =
            ts_side_open_as(request->text, formats[i], NULL, &side, trial);
        if (status == TS_RUN_FAILED)
            ts_diag_append(diag, trial);
        ts_diag_destroy(trial);
        if (status == TS_OK || status == TS_RUN_FAILED)
            return status == TS_OK ? read_side(request, &side, name, images, diag) : status;
    }
    enum ts_status status =
        ts_hdf5_list_datasets(request->text, NULL, images->arena, &datasets, &n, diag);
    for (size_t i = 0; i < n && status == TS_OK; i++)
        status = read_dataset(request, datasets[i], images, diag);
    return status;
}

/* Returns the name of a result's image for "NAME" or "/entry/NAME/data"; NULL if there is none. */
static const char *image_of(const struct made *made, const char *dataset)
{
    for (size_t i = 0; i < made->n_images; i++) {
        const char *name = made->images[i].name;
        const size_t n = strlen(name);
        const bool is_path = !strncmp(dataset, "/entry/", 7) && !strncmp(dataset + 7, name, n) &&
                             !strcmp(dataset + 7 + n, "/data");
        if (is_path || !strcmp(dataset, name))
            return name;
    }
    return NULL;
}

/* Returns the last part of a path. */
static const char *name_of(const struct preview_request *request, struct arena *arena)
{
    size_t end = strlen(request->text), start;
    while (end > 1 && request->text[end - 1] == '/')
        end--;
    for (start = end; start > 0 && request->text[start - 1] != '/' && !request->one_line;)
        start--;
    return ts_arena_text(arena, request->text + (request->one_line ? 0 : start),
                         end - (request->one_line ? 0 : start));
}

static enum ts_status read_images(const struct preview_request *request,
                                  struct preview_images *images, struct ts_diag *diag)
{
    struct side side;
    struct made made = {0};
    *images = (struct preview_images){.arena = ts_arena_create()};
    const char *name = images->arena ? name_of(request, images->arena) : NULL;
    if (!name)
        return ts_diag_no_memory(diag, sizeof *images);
    bool is_hdf5 = false, is_ours = false;
    enum ts_status status =
        request->one_line ? TS_OK : ts_side_is_hdf5(request->text, &is_hdf5, diag);
    if (status != TS_OK || !is_hdf5) {
        if (status == TS_OK)
            status = ts_side_open(request->text, request->one_line, NULL, &side, diag);
        return status == TS_OK ? read_side(request, &side, name, images, diag) : status;
    }
    status = read_made(request->text, images->arena, &made, &is_ours, diag);
    if (status != TS_OK)
        return status;
    const char *image = is_ours && request->dataset ? image_of(&made, request->dataset) : NULL;
    if (image)
        return read_result_image(request, image, images, diag);
    if (request->dataset)
        return read_dataset(request, request->dataset, images, diag);
    return is_ours && made.n_images > 0 ? read_result(request, &made, images, diag)
                                        : read_foreign(request, name, images, diag);
}

static void close_images(struct preview_images *images)
{
    for (size_t i = 0; i < images->n; i++) {
        for (int k = 0; images->at[i].planes && k < images->at[i].n_planes; k++)
            free(images->at[i].planes[k].values);
        for (int k = 0; images->at[i].over_planes && k < images->at[i].n_planes; k++)
            free(images->at[i].over_planes[k].values);
        free(images->at[i].over_planes);
        free(images->at[i].planes);
    }
    ts_diag_destroy(images->not_over);
    ts_arena_destroy(images->arena);
    *images = (struct preview_images){0};
}

/* ---- windows and the report ------------------------------------------------------------------ */

enum { NAME_BYTES = 2048, TEXT_BYTES = 256 };

static void print_planes(const struct preview_image *image, FILE *report)
{
    char name[NAME_BYTES], over[NAME_BYTES], size[TEXT_BYTES], window[TEXT_BYTES];
    ts_text_escape(name, sizeof name, image->name);
    ts_text_escape(over, sizeof over, image->over_name ? image->over_name : "");
    ts_sheet_window_text(image, window, sizeof window);
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        ts_sheet_size_text(plane, size, sizeof size);
        fprintf(report, "%s %s%sslice %lld", name, plane->name, *plane->name ? " " : "",
                (long long)plane->index);
        if (image->n_volumes > 1)
            fprintf(report, " of volume %lld", (long long)plane->volume);
        if (plane->volume_name)
            fprintf(report, " (%s)", plane->volume_name);
        fprintf(report, ": %s, %s%s%s\n", size, window, image->over_name ? ", under " : "",
                image->over_name ? over : "");
    }
}

/* Finds one window for all planes of an image. A dataset of two axes is shown with its whole
   range. */
static enum ts_status find_window(const struct gray_window_request *given,
                                  struct preview_image *image, struct ts_diag *diag)
{
    struct gray_window_request request = *given;
    if (image->is_picture && request.kind == GRAY_AUTO)
        request.kind = GRAY_FULL;
    return ts_gray_window_find(&request, &image->image, image->planes, image->n_planes,
                               &image->window, diag);
}

enum ts_status ts_preview_write(const struct preview_request *request,
                                const struct preview_style *style, const char *output, FILE *report,
                                struct ts_diag *diag)
{
    struct preview_images images;
    enum ts_status status = read_images(request, &images, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        status = find_window(&style->window, &images.at[i], diag);
    if (status == TS_OK)
        status = ts_sheet_write(&images,
                                &(struct sheet_style){style->plain, style->blocks, &request->over},
                                output, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        print_planes(&images.at[i], report);
    if (status == TS_OK && images.left_out > 0)
        fprintf(report, "%zu more images are in the file; --dataset shows one of them\n",
                images.left_out);
    close_images(&images);
    return status;
}
