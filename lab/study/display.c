/* SPDX-License-Identifier: Apache-2.0
 *
 * The study display: how many pictures a second reach the screen. A frame begins with a slice in a
 * DICOM file, which the page cache holds, or with one that is in memory already; window and level
 * make a picture of it, pixel by pixel, and OpenGL takes the picture through a texture to a
 * framebuffer in place of a screen. A CUDA device writes the picture into a pixel buffer of OpenGL,
 * or it is copied to the host and from there to the texture; or the CPU draws it. Frames show
 * several slices in turn, so that a picture that stayed behind is not the expected one. Afterwards
 * each is read back and compared with the CPU's picture of the values that were written to the
 * file.
 */
#include <math.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/timing.h"
#include "datasets/dicom_write.h"
#include "io/file/new_folder.h"
#include "io/source/source.h"
#include "lab/study/study_rows.h"
#include "program/show/colors.h"
#include "program/show/window.h"

#define FROM_FILE "file"
#define FROM_MEMORY "memory"
#define BY_CPU "drawn by the CPU"
#define BY_HOST "copied to the host"
#define DIRECT "kept on the device"
enum {
    SLICES = 3 /* the fewest that a series has */,
    MOST_SIDE = 4096,
    STORED_MOST = 4095,
    STORED_OFFSET = 1024,
    PATH_BYTES = 4096
};
static const double window_low = -160, window_high = 240; /* of the abdomen, in HU */

static const struct view_screen *screen;

void ts_study_use_screen(const struct view_screen *used)
{
    screen = used;
}

struct display {
    struct viewer viewer; /* as far as a screen uses it */
    struct offscreen *offscreen;
    bool can_direct; /* the device can write OpenGL's buffers */
    /* of one size */
    struct source *source;
    struct ts_image read, written; /* slices, as they came from the file and as they were meant */
    uint32_t *shown, *expected;    /* pictures */
    /* of one method */
    bool from_file, by_host;
    int64_t z, n_frames;
};

/* ---- the screen ------------------------------------------------------------------------------ */

/* Describes the picture of a slice, a pixel a sample. */
static void describe_picture(const struct ts_image *image, int64_t z, struct view_picture *picture)
{
    const int64_t side = image->axes[2].n;
    *picture = (struct view_picture){.width = (int32_t)side, .height = (int32_t)side, .n_panes = 1};
    picture->panes[0] = (struct view_pane){.data = ts_slice_data(image, z),
                                           .dtype = image->dtype,
                                           .n_u = side,
                                           .n_v = side,
                                           .stride_u = 1,
                                           .stride_v = side,
                                           .width = picture->width,
                                           .height = picture->height,
                                           .du = 1,
                                           .dv = 1,
                                           .low = window_low,
                                           .high = window_high};
    ts_view_colors(COLORS_GRAY, picture->colors);
}

static void close_display(struct display *display)
{
    if (display->offscreen)
        screen->close(display->offscreen);
    ts_renderer_destroy(&display->viewer.renderer);
}

/* Opens OpenGL for a device (NULL: the CPU, which then shows by the OpenGL of the run's device).
 * `why` receives the reason where it cannot be opened, and *opened says whether it was. */
static enum ts_status open_display(struct display *display, const struct study_run *run,
                                   const struct device_numbers *device, bool *opened, char *why,
                                   size_t bytes)
{
    struct viewer *viewer = &display->viewer;
    struct ts_diag *refusals = ts_diag_create();
    *opened = false;
    *display = (struct display){.viewer = {.device = run->devices.device}};
    enum ts_status status =
        refusals ? ts_renderer_create(&viewer->renderer, device, run->threads, run->diag)
                 : ts_diag_no_memory(run->diag, sizeof *display);
    if (status == TS_OK) {
        viewer->diag = refusals;
        *opened = screen->open(viewer, &display->offscreen) == TS_OK;
        viewer->diag = run->diag;
        if (!*opened)
            snprintf(why, bytes, "%s",
                     ts_diag_count(refusals) ? ts_diag_get(refusals, 0)->message : "memory is out");
    }
    if (*opened) { /* a picture without panes tells which way pictures take */
        const struct view_picture empty = {.width = 16, .height = 16};
        status = screen->show(display->offscreen, &empty, false);
        display->can_direct = device && screen->n_by_host(display->offscreen) == 0;
    }
    ts_diag_destroy(refusals);
    return status;
}

static void print_absences(struct study_run *run, FILE *stream)
{
    const struct device_numbers *const devices[] = {NULL, run->devices.device};
    if (!screen)
        fprintf(stream, "no rows: this program has no OpenGL: it was built where GLFW, EGL or "
                        "OpenGL was not found\n");
    for (int i = run->devices.on_cpu ? 0 : 1; screen && i < 1 + (run->devices.device != NULL);
         i++) {
        struct display display;
        char why[512];
        bool opened;
        if (open_display(&display, run, devices[i], &opened, why, sizeof why) == TS_OK) {
            if (!opened)
                fprintf(stream, "no rows of %s: %s\n", i ? "CUDA" : "the CPU", why);
            else if (i && !display.can_direct)
                fprintf(stream,
                        "no rows of \"" DIRECT "\": this OpenGL is not drawn by the CUDA device\n");
        }
        close_display(&display);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Writes slice z as DICOM. */
static enum ts_status write_slice(const struct ts_image *written, int64_t z, const char *folder,
                                  struct ts_diag *diag)
{
    const int64_t side = written->axes[2].n, n = side * side;
    const int16_t *values = ts_slice_data(written, z);
    const double position_mm[3] = {0, 0, (double)z};
    struct ct_series series = {.patient_name = "DISPLAY",
                               .patient_id = "display",
                               .description = "slices of the study display",
                               .nx = side,
                               .ny = side,
                               .spacing_x_mm = 1,
                               .spacing_y_mm = 1,
                               .spacing_z_mm = 1};
    char instance[DICOM_UID_BYTES], text[64], path[PATH_BYTES + 32];
    uint16_t *stored = malloc((size_t)n * sizeof *stored);
    if (!stored)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *stored);
    for (int64_t i = 0; i < n; i++)
        stored[i] = (uint16_t)(values[i] + STORED_OFFSET);
    ts_dicom_uid(series.study, "tomostage display study");
    ts_dicom_uid(series.series, "tomostage display series");
    ts_dicom_uid(series.frame_of_reference, "tomostage display frame");
    snprintf(text, sizeof text, "tomostage display slice %lld", (long long)z);
    ts_dicom_uid(instance, text);
    snprintf(path, sizeof path, "%s/%lld.dcm", folder, (long long)z + 1);
    const enum ts_status status =
        ts_ct_write(path, &series, z + 1, instance, position_mm, stored, diag);
    free(stored);
    return status;
}

/* Makes slices: the run's, within the 12 bits that are stored, and the same with its first rows
 * behind the last. */
static enum ts_status make_slices(struct display *display, const struct study_run *run,
                                  int64_t side)
{
    const struct bench_case which = {.stage = ts_stage_find("window"),
                                     .dtype = TS_I16,
                                     .values = BENCH_CT,
                                     .nz = SLICES,
                                     .ny = side,
                                     .nx = side,
                                     .given = run->given.values ? &run->given : NULL};
    const int64_t n = side * side;
    display->written = ts_bench_image(&which);
    int16_t *values = display->written.data;
    if (!values)
        return ts_diag_no_memory(run->diag, (size_t)n * SLICES * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        const int16_t low = -STORED_OFFSET, high = STORED_MOST - STORED_OFFSET;
        values[i] = values[i] < low ? low : values[i] > high ? high : values[i];
        for (int64_t z = 1; z < SLICES; z++)
            values[z * n + (i + z * n / SLICES) % n] = values[i];
    }
    return TS_OK;
}

/* Opens the file as the source that chains read, and makes place for what it holds. */
static enum ts_status open_source(struct display *display, const char *folder, struct arena *arena,
                                  struct ts_diag *diag)
{
    enum ts_status status = ts_bench_dicom_open(folder, arena, &display->source, diag);
    if (status == TS_OK && display->source->ops->start)
        status = display->source->ops->start(display->source, 1, 1, diag);
    if (status != TS_OK)
        return status;
    const size_t bytes =
        (size_t)display->written.axes[1].n * (size_t)display->written.axes[2].n * sizeof(uint32_t);
    display->read = display->source->image;
    display->read.data = calloc(1, ts_image_bytes(&display->read));
    display->shown = malloc(bytes);
    display->expected = malloc(bytes);
    if (!display->read.data || !display->shown || !display->expected)
        return ts_diag_no_memory(diag, bytes);
    /* The source computes the digest of a slice when it reads it for the first time, which is no
     * part of a frame. */
    status = display->source->ops->read(display->source, 0, SLICES, display->read.data, diag);
    return status == TS_OK
               ? ts_renderer_image(&display->viewer.renderer, VIEW_WHOLE, &display->read)
               : status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Shows the next slice; after the last one comes the first. */
static enum ts_status show_frame(struct display *display)
{
    const struct ts_image slice = ts_image_slices(&display->read, display->z, 1);
    struct view_picture picture;
    enum ts_status status = TS_OK;
    describe_picture(&display->read, display->z, &picture);
    if (display->from_file)
        status = display->source->ops->read(display->source, display->z, 1, slice.data,
                                            display->viewer.diag);
    if (status == TS_OK && display->from_file)
        status = ts_renderer_slices(&display->viewer.renderer, VIEW_WHOLE, &slice);
    if (status == TS_OK)
        status = screen->show(display->offscreen, &picture, display->by_host);
    display->z = (display->z + 1) % SLICES;
    display->n_frames++;
    return status;
}

static enum ts_status time_frame(void *data, double *seconds)
{
    const double begin = ts_seconds();
    const enum ts_status status = show_frame(data);
    *seconds = ts_seconds() - begin;
    return status;
}

/* Shows each slice and compares them with the CPU's pictures of the values that were written;
 * *error: the largest distance of a gray level, as a share of 255. */
static enum ts_status compare_pictures(struct display *display, int threads, double *error)
{
    struct renderer cpu = {.threads = threads};
    const size_t bytes =
        (size_t)display->written.axes[1].n * (size_t)display->written.axes[2].n * sizeof(uint32_t);
    int distance = 0;
    for (int i = 0; i < SLICES; i++) {
        struct view_picture picture;
        describe_picture(&display->written, display->z, &picture);
        enum ts_status status = ts_renderer_draw(&cpu, &picture, display->expected);
        if (status == TS_OK)
            status = show_frame(display);
        if (status != TS_OK)
            return status;
        screen->read(display->offscreen, display->shown);
        const uint8_t *shown = (const uint8_t *)display->shown,
                      *expected = (const uint8_t *)display->expected;
        for (size_t k = 0; k < bytes; k++)
            distance =
                abs(shown[k] - expected[k]) > distance ? abs(shown[k] - expected[k]) : distance;
    }
    *error = distance / 255.0;
    return TS_OK;
}

static enum ts_status measure_method(struct study_run *run, struct display *display,
                                     const char *method)
{
    const int64_t side = display->written.axes[2].n;
    const int64_t before = screen->n_by_host(display->offscreen);
    struct study_row row = {.device = display->viewer.renderer.cuda ? "CUDA" : "CPU",
                            .x = side,
                            .threads = display->viewer.renderer.cuda ? -1 : run->threads,
                            .items = (double)(side * side)};
    snprintf(row.subject, sizeof row.subject, "%s", display->from_file ? FROM_FILE : FROM_MEMORY);
    snprintf(row.method, sizeof row.method, "%s", method);
    display->n_frames = 0;
    enum ts_status status = ts_study_time(run, time_frame, display, &row);
    if (status == TS_OK)
        status = compare_pictures(display, run->threads, &row.error);
    if (status != TS_OK)
        return status;
    const int64_t n_by_host = screen->n_by_host(display->offscreen) - before;
    if (row.error > 0)
        return ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                             "%s, %s, %s: the picture of %lld x %lld pixels differs from the CPU's "
                             "by %.0f gray levels",
                             row.device, row.subject, row.method, (long long)side, (long long)side,
                             255 * row.error);
    if (n_by_host != (display->by_host ? display->n_frames : 0))
        return ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                             "%s, %s, %s: %lld of %lld pictures were copied to the host",
                             row.device, row.subject, row.method, (long long)n_by_host,
                             (long long)display->n_frames);
    row.number = 1 / row.seconds;
    return ts_study_add(run, &row);
}

static enum ts_status measure_methods(struct study_run *run, struct display *display)
{
    const bool cuda = display->viewer.renderer.cuda != NULL;
    enum ts_status status = TS_OK;
    for (int from_file = 1; status == TS_OK && from_file >= 0; from_file--) {
        display->from_file = from_file;
        display->by_host = true;
        status = measure_method(run, display, cuda ? BY_HOST : BY_CPU);
        display->by_host = false;
        if (status == TS_OK && display->can_direct)
            status = measure_method(run, display, DIRECT);
    }
    return status;
}

static enum ts_status measure_side(struct study_run *run, struct display *display, int64_t side)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_BYTES] = "";
    struct arena *arena = ts_arena_create();
    enum ts_status status =
        ts_temporary_folder_make(parent ? parent : "/tmp", folder, sizeof folder, run->diag);
    const bool made = status == TS_OK;
    if (status == TS_OK)
        status = make_slices(display, run, side);
    for (int64_t z = 0; status == TS_OK && z < SLICES; z++)
        status = write_slice(&display->written, z, folder, run->diag);
    if (status == TS_OK)
        status = open_source(display, folder, arena, run->diag);
    if (status == TS_OK)
        status = measure_methods(run, display);
    if (display->source)
        display->source->ops->close(display->source);
    free(display->written.data);
    free(display->read.data);
    free(display->shown);
    free(display->expected);
    display->source = NULL;
    display->written.data = display->read.data = NULL;
    display->shown = display->expected = NULL;
    ts_arena_destroy(arena);
    if (made)
        ts_temporary_folder_remove(folder);
    return status;
}

static enum ts_status measure_device(struct study_run *run, const struct device_numbers *device)
{
    struct display display;
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    char why[512];
    bool opened;
    enum ts_status status = open_display(&display, run, device, &opened, why, sizeof why);
    for (int i = 0; opened && status == TS_OK && i < n && sides[i] <= MOST_SIDE; i++)
        status = measure_side(run, &display, sides[i]);
    close_display(&display);
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    enum ts_status status = TS_OK;
    if (screen && run->devices.on_cpu)
        status = measure_device(run, NULL);
    if (screen && status == TS_OK && run->devices.device)
        status = measure_device(run, run->devices.device);
    return status;
}

/* ---- what was found -------------------------------------------------------------------------- */

static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const subjects[] = {FROM_FILE, FROM_MEMORY};
    const char *between = "";
    for (int i = 0; i < 2; i++) {
        const struct study_row *cpu = ts_study_find(rows, "CPU", subjects[i], BY_CPU, -1),
                               *host = ts_study_find(rows, "CUDA", subjects[i], BY_HOST, -1),
                               *direct = ts_study_find(rows, "CUDA", subjects[i], DIRECT, -1);
        const struct study_row *any = direct ? direct : host ? host : cpu;
        if (!any)
            continue;
        fprintf(stream, "%sfrom %s, %lld squared: ", between, subjects[i], (long long)any->x);
        if (direct)
            fprintf(
                stream,
                "%.0f frames a second kept on the device, %.1f times as many as copied to the host",
                direct->number,
                ts_study_ratio(rows, "CUDA", subjects[i], BY_HOST, DIRECT, direct->x));
        else if (host)
            fprintf(stream, "%.0f frames a second copied to the host", host->number);
        if (cpu)
            fprintf(stream, "%s%.1f frames a second drawn by the CPU", any == cpu ? "" : ", and ",
                    cpu->number);
        between = "; ";
    }
    if (!*between)
        fprintf(stream, "nothing was measured, because no OpenGL was found that needs no display");
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "A slice, from a DICOM file or from memory, to the screen",
                         "side of the image (pixels)", path, diag);
}

static const struct table_column columns[] = {
    STUDY_ROW_COLUMNS("side", "side"),
    {"frames_per_second", "frames/s", COLUMN_REAL, STUDY_ROW_AT(number), 10, 1}};

const struct study ts_display_study = {
    .name = "display",
    .sentence = "frames a second of file to screen, with a copy to the host and without",
    .heading =
        "A slice of 16-bit values becomes a picture of as many pixels, through OpenGL without a "
        "display. It comes from a DICOM file in\nthe page cache, or is where it is drawn already. "
        "A copy to the host goes to pageable memory. The error, of the gray level,\nmust be 0.\n",
    .absences = print_absences,
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "a picture that CUDA writes into a pixel buffer of OpenGL is saved the two copies "
             "over the bus, to the host and back to the graphics card (NVIDIA, CUDA C Programming "
             "Guide, Graphics Interoperability)",
    .finding = finding,
};
