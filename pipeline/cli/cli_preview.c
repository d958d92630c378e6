/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage preview`: the middle slice of every image of a file, side by side. Each is windowed on its own, from its
 * 1st to its 99th percentile (nearest rank, NaN left out), low values dark; one pixel per value, whatever the spacing.
 * A dataset of two axes is a picture, whose window is all of its values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/image.h"
#include "core/search.h"
#include "io/file/png.h"
#include "io/hdf5/hdf5_slice.h"
#include "pipeline/cli/cli.h"

static struct arguments {
    const char *output;  /* NULL: FILE.h5.png */
    const char *dataset; /* NULL: every image of the file */
    bool force;
} arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE", "the picture; default FILE.h5.png"},
    {"dataset", 0, OPTION_TEXT, OPTION_AT(struct arguments, dataset), "PATH",
     "this dataset only; default: every image of the file, side by side"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL, "replace an existing picture"}};

enum { GAP = 4, GAP_GRAY = 255, MAX_PICTURES = 16 };

/* Finds the low and the high end of the window. They are equal where there is one value only, and 0 where all are
 * NaN. */
static bool find_window(const struct hdf5_slice *slice, float *low, float *high)
{
    const size_t part = slice->is_picture ? SIZE_MAX : 100;
    const size_t n = (size_t)(slice->rows * slice->columns);
    float *sorted = malloc(n * sizeof *sorted);
    size_t n_numbers = 0;
    if (!sorted)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isnan(slice->values[i]))
            sorted[n_numbers++] = slice->values[i];
    qsort(sorted, n_numbers, sizeof *sorted, ts_compare_floats);
    *low = n_numbers > 0 ? sorted[(n_numbers - 1) / part] : 0;
    *high = n_numbers > 0 ? sorted[n_numbers - 1 - (n_numbers - 1) / part] : 0;
    free(sorted);
    return true;
}

static void paint(const struct hdf5_slice *slice, float low, float high, uint8_t *picture, int64_t stride)
{
    for (int64_t y = 0; y < slice->rows; y++)
        for (int64_t x = 0; x < slice->columns; x++) {
            const float value = slice->values[y * slice->columns + x];
            const float gray = high > low ? (value - low) / (high - low) * 255.0f : 0.0f;
            picture[y * stride + x] = gray >= 255.0f ? 255 : gray > 0.0f ? (uint8_t)lrintf(gray) : 0;
        }
}

static enum ts_status write_picture(const char *path, const struct hdf5_slice *slices, size_t n, struct ts_diag *diag)
{
    int64_t width = GAP * ((int64_t)n - 1), height = 0;
    size_t bytes;
    for (size_t i = 0; i < n; i++) {
        width += slices[i].columns;
        height = slices[i].rows > height ? slices[i].rows : height;
    }
    uint8_t *picture = ts_mul_size((size_t)width, (size_t)height, &bytes) ? malloc(bytes) : NULL;
    enum ts_status status = picture ? TS_OK : ts_diag_no_memory(diag, (size_t)width);
    if (picture)
        memset(picture, GAP_GRAY, bytes);
    int64_t at = 0;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        float low = 0, high = 0;
        if (!find_window(&slices[i], &low, &high))
            status = ts_diag_no_memory(diag, bytes);
        else
            paint(&slices[i], low, high, picture + at, width);
        at += slices[i].columns + GAP;
    }
    if (status == TS_OK)
        status = ts_png_write_gray8(path, width, height, picture, diag);
    free(picture);
    return status;
}

static enum ts_status preview_file(const char *path, const char *output, const char *dataset, struct ts_diag *diag)
{
    struct hdf5_slice slices[MAX_PICTURES] = {{0}};
    const char **datasets = &dataset;
    size_t n = 1;
    struct arena *arena = ts_arena_create();
    enum ts_status status = arena ? TS_OK : ts_diag_no_memory(diag, sizeof slices);
    if (status == TS_OK && !dataset)
        status = ts_hdf5_list_datasets(path, NULL, arena, &datasets, &n, diag);
    n = n < MAX_PICTURES ? n : MAX_PICTURES;
    for (size_t i = 0; i < n && status == TS_OK; i++)
        status = ts_hdf5_read_slice(path, datasets[i], -1, &slices[i], diag);
    if (status == TS_OK)
        status = write_picture(output, slices, n, diag);
    if (status == TS_OK)
        ts_command_written(output);
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        char shown[2048];
        ts_text_escape(shown, sizeof shown, datasets[i]);
        printf("%s slice %lld: %lld x %lld\n", shown, (long long)((slices[i].n_slices - 1) / 2),
               (long long)slices[i].columns, (long long)slices[i].rows);
    }
    for (size_t i = 0; i < MAX_PICTURES; i++)
        free(slices[i].values);
    ts_arena_destroy(arena);
    return status;
}

static int preview(char **operands)
{
    char name[4096];
    const char *output = arguments.output ? arguments.output : name;
    snprintf(name, sizeof name, "%s.png", operands[0]);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status status;
    if (!arguments.force && access(output, F_OK) == 0) {
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"}, "%s exists", output);
        ts_diag_hint(diag, "--force replaces it, -o FILE.png names another");
    } else {
        status = preview_file(operands[0], output, arguments.dataset, diag);
    }
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_preview = {
    .name = "preview",
    .usage = "FILE.h5 [-o OUT.png] [--dataset PATH] [--force]",
    .summary = "write the middle slices of an HDF5 file as one PNG",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = preview,
};
