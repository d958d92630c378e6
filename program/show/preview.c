/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens images like a chain's input (program/record/side.h), with the same checks, axes and invalid
 * pixels; only datasets of HDF5 files that are neither result nor scan are read as bare numbers. If
 * planes perpendicular to the slices are wanted, all slices are read once, a few at a time. Then
 * finds the windows, which are the same in all planes of an image, draws the sheet, and writes it.
 * Names come from files, and are escaped before they reach a terminal.
 */
#include "program/show/preview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "io/file/png.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/scan/file_kind.h"
#include "program/record/made.h"
#include "program/record/side.h"
#include "program/show/font.h"
#include "program/show/picture.h"

enum { PREVIEW_IMAGES = 16, SCAN_PLANES = 2, VOLUME_PLANES = 3 };

struct preview_image {
    const char *name;
    struct ts_image image; /* its description */
    bool is_picture;       /* a dataset of one or two axes */
    int64_t n_volumes;
    struct picture_plane *planes;
    int n_planes;
    struct gray_window window; /* set by the function that draws the image */
};

struct preview_images {
    struct arena *arena;
    struct preview_image at[PREVIEW_IMAGES];
    size_t n, left_out; /* left_out: number of images beyond the first PREVIEW_IMAGES */
};

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
    if (request->montage > 0)
        plane->index = (2 * (int64_t)i + 1) * n / (2 * (int64_t)image->n_planes);
    else if (request->slice >= 0)
        plane->index = request->slice;
    else
        plane->index = (n - 1) / 2;
    return TS_OK;
}

static enum ts_status make_planes(const struct preview_request *request, bool lengths,
                                  struct preview_image *image, struct ts_diag *diag)
{
    static const enum picture_plane_name all[] = {PLANE_AXIAL, PLANE_CORONAL, PLANE_SAGITTAL};
    const bool is_all = request->plane == PLANE_ALL;
    struct picture_plane first;
    ts_picture_plane(&image->image, is_all ? PLANE_AXIAL : request->plane, lengths, &first);
    const int64_t n = image->image.axes[first.across].n;
    const bool each = !is_all && request->montage == 0;
    const int64_t volumes = image->n_volumes < PREVIEW_MONTAGE ? image->n_volumes : PREVIEW_MONTAGE;
    if (is_all)
        image->n_planes = ts_image_is_sinogram(&image->image) ? SCAN_PLANES : VOLUME_PLANES;
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
        *plane = first;
        if (is_all)
            ts_picture_plane(&image->image, all[i], lengths, plane);
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

/* Reads the images of a result in the order of its chain. */
static enum ts_status read_result(const struct preview_request *request, const struct made *made,
                                  struct preview_images *images, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    bool *done = ts_arena_alloc(images->arena, (made->n_images + 1) * sizeof *done);
    if (!done)
        return ts_diag_no_memory(diag, made->n_images);
    memset(done, 0, made->n_images * sizeof *done);
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
    return status;
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
        free(images->at[i].planes);
    }
    ts_arena_destroy(images->arena);
    *images = (struct preview_images){0};
}

/* ---- the sheet ------------------------------------------------------------------------------- */

/* All planes of an image have one scale, so that lengths can be compared: the smallest at which the
   shorter side of a sample is a whole number of pixels and the longest plane is at least 512 pixels
   long, or 256 if there are many planes. The longer side of a sample follows from its proportions.
   Gray levels and interpolation are those of the viewer (cuda/view/picture.h). */

struct preview_sheet {
    int64_t width, height;
    uint8_t *gray; /* free() */
};

enum {
    /* least width of the sheet, and least length of the longest side of a plane */
    LEAST = 512,
    LEAST_MANY = 256, /* the same if there are more than FEW planes */
    FEW = 3,
    MOST = 4096, /* greatest length of a side of a plane that is enlarged or reduced */
    MARGIN = 10,
    GROUND = 20,
    INK = 230,
    SHADE = 150, /* gray of less important lines of text */
    LINES = 8,
    LINE_BYTES = 512
};

/* One plane on the sheet. */
struct cell {
    const struct preview_image *image;
    const struct picture_plane *plane;
    double pitch;        /* length of a pixel */
    int64_t enlargement; /* pixels along the shorter side of a sample; 0: the plane is reduced */
    int64_t left, top, width, height; /* of the plane on the sheet */
    int64_t space;                    /* width for the caption */
    char lines[LINES][LINE_BYTES];
    int n_lines;
};

/* ---- texts ----------------------------------------------------------------------------------- */

static void size_text(const struct picture_plane *plane, char *text, size_t size)
{
    const int n =
        snprintf(text, size, "%lld x %lld", (long long)plane->columns, (long long)plane->rows);
    if (plane->unit && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " of %.4g x %.4g %s", plane->width, plane->height,
                 plane->unit);
}

/* Writes "window -160 to 240 HU (soft tissue)", or that there is no value to show. */
static void window_text(const struct preview_image *image, char *text, size_t size)
{
    if (image->window.none) {
        snprintf(text, size, "no value that is shown is finite");
        return;
    }
    const bool bare = !*image->image.unit || !strcmp(image->image.unit, "1");
    snprintf(text, size, "window %.5g to %.5g%s%s (%s)", image->window.low, image->window.high,
             bare ? "" : " ", bare ? "" : image->image.unit, image->window.name);
}

/* Adds a text to the caption, in as many lines as it needs. */
static void add_line(struct cell *cell, const char *text, int font)
{
    const size_t most = (size_t)(cell->space / (font * FONT_WIDTH));
    while (*text && cell->n_lines < LINES) {
        size_t n = strlen(text);
        if (n > most) {
            for (n = most; n > most / 2 && text[n] != ' ';)
                n--;
            n = text[n] == ' ' ? n : most;
        }
        snprintf(cell->lines[cell->n_lines++], LINE_BYTES, "%.*s",
                 (int)(n < LINE_BYTES ? n : LINE_BYTES - 1), text);
        text += n + (text[n] == ' ');
    }
}

static void make_caption(struct cell *cell, bool blocks, int font)
{
    const struct picture_plane *plane = cell->plane;
    const struct preview_image *image = cell->image;
    const struct ts_axis *axis = &image->image.axes[plane->across];
    char text[LINE_BYTES], part[LINE_BYTES];
    ts_text_escape(text, sizeof text, image->name);
    add_line(cell, text, font);
    if (plane->volume_name)
        add_line(cell, plane->volume_name, font);
    int n = snprintf(text, sizeof text, "%s%sslice %lld (0 to %lld)", plane->name,
                     *plane->name ? " " : "", (long long)plane->index, (long long)axis->n - 1);
    if (axis->unit && *axis->unit && strcmp(axis->unit, "pixel") != 0 && plane->unit)
        n += snprintf(text + n, sizeof text - (size_t)n, " at %.5g %s%s",
                      ts_axis_position(axis, plane->index), axis->unit, ts_picture_from(axis));
    if (image->n_volumes > 1)
        snprintf(text + n, sizeof text - (size_t)n, ", volume %lld (0 to %lld)",
                 (long long)plane->volume, (long long)image->n_volumes - 1);
    add_line(cell, text, font);
    window_text(image, text, sizeof text);
    add_line(cell, text, font);
    size_text(plane, part, sizeof part);
    if (cell->enlargement == 0)
        snprintf(text, sizeof text, "%s, reduced to %lld x %lld pixels", part,
                 (long long)cell->width, (long long)cell->height);
    else if (cell->width == plane->columns && cell->height == plane->rows)
        snprintf(text, sizeof text, "%s, a pixel each", part);
    else
        snprintf(text, sizeof text, "%s, enlarged to %lld x %lld pixels, %s", part,
                 (long long)cell->width, (long long)cell->height,
                 blocks ? "not interpolated" : "interpolated");
    add_line(cell, text, font);
}

/* ---- sizes and places ------------------------------------------------------------------------ */

/* Finds the scale of an image's planes: the pitch, and the enlargement of the shorter side of a
 * sample. */
static void find_scale(const struct preview_image *image, int64_t least, bool plain,
                       struct cell *cells)
{
    double finest = INFINITY, longest = 0;
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        finest = fmin(finest, fmin(plane->width, plane->height));
        longest = fmax(longest, fmax((double)plane->columns * plane->width,
                                     (double)plane->rows * plane->height));
    }
    double enlargement = plain ? 1 : fmax(1, ceil((double)least * finest / longest - 1e-9));
    double pitch = finest / enlargement;
    if (!plain && longest / pitch > MOST) {
        pitch = longest / MOST;
        enlargement = 0;
    }
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        cells[i] = (struct cell){
            .image = image, .plane = plane, .pitch = pitch, .enlargement = (int64_t)enlargement};
        cells[i].width =
            plain ? plane->columns
                  : (int64_t)fmax(1, rint((double)plane->columns * plane->width / pitch));
        cells[i].height = plain
                              ? plane->rows
                              : (int64_t)fmax(1, rint((double)plane->rows * plane->height / pitch));
    }
}

/* Returns how many planes are side by side. */
static size_t columns_of(const struct preview_images *images, size_t n)
{
    const int planes = images->at[0].n_planes;
    if (images->n > 1 && planes > 1 && planes <= FEW)
        return (size_t)planes;
    const size_t per_image = images->n > 1 && planes > FEW ? (size_t)planes : n;
    return per_image <= FEW ? per_image : (size_t)ceil(sqrt((double)per_image));
}

static int64_t bar_height(const struct cell *cell, int font)
{
    return cell->plane->unit ? (int64_t)(FONT_HEIGHT + 4) * font : 0;
}

/* Places the cells in rows of so many columns, and returns the size of the sheet. A column is as
   wide as its widest plane, a row as high as its highest. */
static void preview_place(struct cell *cells, size_t n, size_t columns, bool plain, bool blocks,
                          int font, int64_t size[2])
{
    const int64_t margin = plain ? 4 : (int64_t)MARGIN * font, edge = plain ? 0 : margin;
    int64_t left = edge, top = edge;
    for (size_t c = 0; c < columns && c < n; c++) {
        int64_t wide = plain ? 1
                             : (n > FEW       ? LEAST_MANY
                                : columns > 1 ? LEAST_MANY
                                              : LEAST - 2 * margin);
        for (size_t i = c; i < n; i += columns)
            wide = cells[i].width > wide ? cells[i].width : wide;
        for (size_t i = c; i < n; i += columns) {
            cells[i].left = left;
            cells[i].space = wide;
        }
        left += wide + margin;
    }
    for (size_t row = 0; row < n; row += columns) {
        int64_t high = 0, below = 0;
        for (size_t i = row; i < n && i < row + columns; i++) {
            struct cell *cell = &cells[i];
            if (!plain)
                make_caption(cell, blocks, font);
            const int64_t text =
                plain ? 0
                      : margin / 2 + bar_height(cell, font) + cell->n_lines * FONT_HEIGHT * font;
            high = cell->height > high ? cell->height : high;
            below = text > below ? text : below;
        }
        for (size_t i = row; i < n && i < row + columns; i++)
            cells[i].top = top + (plain ? 0 : high - cells[i].height);
        top += high + below + margin;
    }
    size[0] = left - margin + edge;
    size[1] = top - margin + edge;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void preview_fill(struct preview_sheet *sheet, int64_t left, int64_t top, int64_t width,
                         int64_t height, uint8_t gray)
{
    for (int64_t y = top < 0 ? 0 : top; y < top + height && y < sheet->height; y++)
        for (int64_t x = left < 0 ? 0 : left; x < left + width && x < sheet->width; x++)
            sheet->gray[y * sheet->width + x] = gray;
}

static void draw_text(struct preview_sheet *sheet, int64_t x, int64_t y, const char *text, int font,
                      uint8_t gray)
{
    for (; *text; x += (int64_t)FONT_WIDTH * font) {
        const uint8_t *rows = ts_font_letter(&text);
        for (int row = 0; row < FONT_HEIGHT; row++)
            for (int column = 0; column < FONT_WIDTH; column++)
                if (rows[row] & (0x80 >> column))
                    preview_fill(sheet, x + column * font, y + row * font, font, font, gray);
    }
}

/* Returns the plane's values in this window, in the form that cuda/view/picture.h draws. */
static struct view_pane picture_pane(const struct picture_plane *plane,
                                     const struct gray_window *window)
{
    return (struct view_pane){.data = plane->values,
                              .dtype = TS_F32,
                              .n_u = plane->columns,
                              .n_v = plane->rows,
                              .stride_u = 1,
                              .stride_v = plane->columns,
                              .low = window->low,
                              .high = window->high};
}

/* Draws the samples; those without a measurement are black. */
static void draw_plane(struct preview_sheet *sheet, const struct cell *cell, bool blocks)
{
    const struct picture_plane *plane = cell->plane;
    const struct view_pane pane = picture_pane(plane, &cell->image->window);
    const bool exact = cell->width == plane->columns && cell->height == plane->rows;
    for (int64_t i = 0; i < plane->rows * plane->columns; i++)
        plane->values[i] = isnan(plane->values[i]) ? (float)pane.low : plane->values[i];
    for (int64_t y = 0; y < cell->height; y++)
        for (int64_t x = 0; x < cell->width; x++) {
            const double u = ((double)x + 0.5) * (double)plane->columns / (double)cell->width;
            const double v = ((double)y + 0.5) * (double)plane->rows / (double)cell->height;
            const double value = exact || blocks ? ts_view_value(&pane, (int64_t)u, (int64_t)v)
                                                 : ts_view_interpolated(&pane, u, v);
            const bool measured = pane.high > pane.low;
            sheet->gray[(cell->top + y) * sheet->width + cell->left + x] =
                measured ? (uint8_t)ts_view_level(&pane, value) : 0;
        }
}

/* Draws the letters of the patient's sides at the edges of a plane, if it has room for them. */
static void draw_sides(struct preview_sheet *sheet, const struct cell *cell, int font)
{
    const int64_t wide = (int64_t)FONT_WIDTH * font, high = (int64_t)FONT_HEIGHT * font,
                  gap = (int64_t)3 * font;
    const int64_t right = cell->left + cell->width, bottom = cell->top + cell->height;
    const int64_t x[4] = {cell->left + gap, right - wide - gap,
                          cell->left + (cell->width - wide) / 2,
                          cell->left + (cell->width - wide) / 2};
    const int64_t y[4] = {cell->top + (cell->height - high) / 2,
                          cell->top + (cell->height - high) / 2, cell->top + gap,
                          bottom - high - gap};
    for (int i = 0; i < 4; i++) {
        const char text[2] = {cell->plane->sides[i], 0};
        if (!*text || cell->height < (i < 2 ? high : 3 * high) || cell->width < 6 * wide)
            continue;
        preview_fill(sheet, x[i] - font, y[i], wide + font, high, GROUND);
        draw_text(sheet, x[i], y[i], text, font, INK);
    }
}

/* Draws a scale bar, 1, 2 or 5 times a power of ten long and at most a third of the plane, with its
   length beside it. */
static void draw_bar(struct preview_sheet *sheet, const struct cell *cell, int64_t top, int font)
{
    const double length = ts_picture_round((double)cell->width * cell->pitch / 3);
    char text[64];
    const int64_t wide = llrint(length / cell->pitch),
                  middle = top + (int64_t)FONT_HEIGHT * font / 2;
    snprintf(text, sizeof text, "%g %s", length, cell->plane->unit);
    preview_fill(sheet, cell->left, middle - font, wide, (int64_t)3 * font, INK);
    preview_fill(sheet, cell->left, middle - 4 * font, font, (int64_t)9 * font, INK);
    preview_fill(sheet, cell->left + wide - font, middle - 4 * font, font, (int64_t)9 * font, INK);
    draw_text(sheet, cell->left + wide + (int64_t)FONT_WIDTH * font, top, text, font, INK);
}

static void draw_cell(struct preview_sheet *sheet, const struct cell *cell, bool plain, bool blocks,
                      int font)
{
    draw_plane(sheet, cell, blocks);
    if (plain)
        return;
    int64_t top = cell->top + cell->height + (int64_t)MARGIN * font / 2;
    draw_sides(sheet, cell, font);
    if (cell->plane->unit)
        draw_bar(sheet, cell, top, font);
    top += bar_height(cell, font);
    for (int i = 0; i < cell->n_lines; i++, top += (int64_t)FONT_HEIGHT * font)
        draw_text(sheet, cell->left, top, cell->lines[i], font, i == 0 ? INK : SHADE);
}

/* Draws all planes of the images, whose windows are known. `plain`: one pixel for each value, no
   captions; `blocks`: enlarged samples are rectangles, without interpolation. Returns TS_RUN_FAILED
   if memory is out. */
static enum ts_status draw_sheet(const struct preview_images *images, bool plain, bool blocks,
                                 struct preview_sheet *sheet, struct ts_diag *diag)
{
    size_t n = 0, at = 0, bytes = 0;
    int64_t size[2], widest = 0;
    for (size_t i = 0; i < images->n; i++)
        n += (size_t)images->at[i].n_planes;
    struct cell *cells = calloc(n, sizeof *cells);
    *sheet = (struct preview_sheet){0};
    if (!cells)
        return ts_diag_no_memory(diag, n * sizeof *cells);
    for (size_t i = 0; i < images->n; at += (size_t)images->at[i++].n_planes)
        find_scale(&images->at[i], n > FEW ? LEAST_MANY : LEAST, plain, cells + at);
    for (size_t i = 0; i < n; i++)
        widest = cells[i].width > widest ? cells[i].width : widest;
    int font = widest >= 2 * LEAST ? 2 : 1;
    if (widest >= 3 * LEAST)
        font = 3;
    preview_place(cells, n, columns_of(images, n), plain, blocks, font, size);
    *sheet = (struct preview_sheet){.width = size[0], .height = size[1]};
    sheet->gray = ts_mul_size((size_t)size[0], (size_t)size[1], &bytes) ? malloc(bytes) : NULL;
    if (sheet->gray) {
        memset(sheet->gray, plain ? 255 : GROUND, bytes);
        for (size_t i = 0; i < n; i++)
            draw_cell(sheet, &cells[i], plain, blocks, font);
    }
    free(cells);
    return sheet->gray ? TS_OK : ts_diag_no_memory(diag, bytes);
}

/* ---- windows and the report ------------------------------------------------------------------ */

enum { NAME_BYTES = 2048, TEXT_BYTES = 256 };

static void print_planes(const struct preview_image *image, FILE *report)
{
    char name[NAME_BYTES], size[TEXT_BYTES], window[TEXT_BYTES];
    ts_text_escape(name, sizeof name, image->name);
    window_text(image, window, sizeof window);
    for (int i = 0; i < image->n_planes; i++) {
        const struct picture_plane *plane = &image->planes[i];
        size_text(plane, size, sizeof size);
        fprintf(report, "%s %s%sslice %lld", name, plane->name, *plane->name ? " " : "",
                (long long)plane->index);
        if (image->n_volumes > 1)
            fprintf(report, " of volume %lld", (long long)plane->volume);
        if (plane->volume_name)
            fprintf(report, " (%s)", plane->volume_name);
        fprintf(report, ": %s, %s\n", size, window);
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
    return ts_gray_window_find(&request, image->image.quantity, image->planes, image->n_planes,
                               &image->window, diag);
}

enum ts_status ts_preview_write(const struct preview_request *request,
                                const struct preview_style *style, const char *output, FILE *report,
                                struct ts_diag *diag)
{
    struct preview_images images;
    struct preview_sheet sheet = {0};
    enum ts_status status = read_images(request, &images, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        status = find_window(&style->window, &images.at[i], diag);
    if (status == TS_OK)
        status = draw_sheet(&images, style->plain, style->blocks, &sheet, diag);
    if (status == TS_OK)
        status = ts_png_write_gray8(output, sheet.width, sheet.height, sheet.gray, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        print_planes(&images.at[i], report);
    if (status == TS_OK && images.left_out > 0)
        fprintf(report, "%zu more images are in the file; --dataset shows one of them\n",
                images.left_out);
    free(sheet.gray);
    close_images(&images);
    return status;
}
