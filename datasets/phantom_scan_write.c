/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the scan of phantom_scan.h as NXtomo. Threads make frames side by side, a few of which
 * memory holds; the HDF5 writer of io/ stores them, with threads of its own, and gives the file its
 * name when it is whole. Along a column of the detector the line integral falls by the same amount
 * from row to row, so that the counts follow from one exponential and a product for each row. Noise
 * follows from the seed and the places of frame and pixel (noise.h). Source: NeXus definitions,
 * NXtomo.
 */
#include <math.h>
#include <stdlib.h>

#include "core/image.h"
#include "datasets/noise.h"
#include "datasets/phantom_scan.h"
#include "io/sink/nxtomo.h"

enum { SIDE_MAX = 65535, PROJECTION = 0, FLAT = 1, DARK = 2, FIRST_VIEW = SCAN_DARKS + SCAN_FLATS };

static const double reading_variance = 9, gain_share = 0.1, gain_pixels = 37;

struct scan {
    const struct scan_options *options;
    int64_t n_frames;
    struct ts_image frames; /* holds a few frames at a time; a frame is a slice */
    double *columns; /* holds for each the counts of a row, and their factors to those of the next
                        row */
};

static double angle_degree(const struct scan_options *options, int64_t frame)
{
    return frame < FIRST_VIEW ? 0 : 180.0 * (double)(frame - FIRST_VIEW) / (double)options->n_views;
}

static int32_t key_of(int64_t frame)
{
    return frame < SCAN_DARKS ? DARK : frame < FIRST_VIEW ? FLAT : PROJECTION;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Rounds the counts of one row with their noise, and makes `counts` those of the next row. */
TS_VECTORIZED
static void write_row(uint16_t *restrict out, double *restrict counts,
                      const double *restrict factor, int64_t n, double noise, uint64_t state)
{
    for (int64_t i = 0; i < n; i++) {
        const double normal = noise_normal(state + (uint64_t)i * (NOISE_NORMAL_STEPS * NOISE_STEP));
        const double value = SCAN_DARK_COUNTS + counts[i] +
                             noise * sqrt(counts[i] + reading_variance) * normal + 0.5;
        const double low = value > 0 ? value : 0;
        out[i] = (uint16_t)(int32_t)(low < UINT16_MAX ? low : UINT16_MAX);
        counts[i] *= factor[i];
    }
}

static void make_frame(const struct scan *scan, int64_t frame, uint16_t *out, double *columns)
{
    const struct scan_options *options = scan->options;
    const int64_t n = options->n_detectors;
    const double theta_rad = angle_degree(options, frame) * (M_PI / 180),
                 axis = ts_scan_axis(options);
    const double fall =
        1 - ts_scan_attenuation(options, 1, 0, 0) / ts_scan_attenuation(options, 0, 0, 0);
    const int32_t key = key_of(frame);
    double *counts = columns, *factor = columns + n;
    for (int64_t i = 0; i < n; i++) {
        const double s_mm = ((double)i - axis) * SCAN_PIXEL_MM;
        const double integral =
            key == PROJECTION ? ts_scan_integral(options, 0, theta_rad, s_mm) : 0;
        const double gain =
            key == DARK ? 0 : SCAN_BEAM_COUNTS * (1 + gain_share * sin((double)i / gain_pixels));
        counts[i] = gain * exp(-integral);
        factor[i] = exp(fall * integral);
    }
    uint64_t state = noise_begin(options->seed, frame);
    for (int64_t row = 0; row < options->n_rows; row++) {
        write_row(out + row * n, counts, factor, n, options->noise, state);
        state += (uint64_t)n * (NOISE_NORMAL_STEPS * NOISE_STEP);
    }
}

/* Makes and writes the frames, as many at a time as memory holds. */
static enum ts_status write_frames(struct scan *scan, struct hdf5_writer *writer, int id)
{
    const size_t n = (size_t)scan->options->n_detectors;
    const int64_t at_once = scan->frames.axes[0].n;
    enum ts_status status = TS_OK;
    for (int64_t first = 0; first < scan->n_frames && status == TS_OK; first += at_once) {
        const int64_t left = scan->n_frames - first;
        struct ts_image slab = ts_image_slices(&scan->frames, 0, left < at_once ? left : at_once);
#pragma omp parallel for schedule(dynamic) num_threads(scan->options->threads)
        for (int64_t i = 0; i < slab.axes[0].n; i++)
            make_frame(scan, first + i, ts_slice_data(&slab, i), scan->columns + (size_t)i * 2 * n);
        slab.z_first = first;
        status = ts_hdf5_write(writer, id, &slab);
    }
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

#define DETECTOR NXTOMO_DETECTOR
#define SAMPLE NXTOMO_SAMPLE

static void put_groups(struct hdf5_writer *writer)
{
    static const char *const groups[][2] = {
        {"/entry", "NXentry"},     {"/entry/instrument", "NXinstrument"},
        {DETECTOR, "NXdetector"},  {SAMPLE, "NXsample"},
        {"/entry/beam", "NXbeam"}, {"/entry/instrument/source", "NXsource"},
        {"/entry/data", "NXdata"}};
    static const char *const texts[][2] = {
        {"/@default", "entry"},
        {"/entry@default", "data"},
        {"/entry/definition", "NXtomo"},
        {"/entry/title", "phantom"},
        {DETECTOR "/field_of_view", "Full"},
        {SAMPLE "/name", "phantom"},
        {"/entry/instrument/source/name", "none"},
        {"/entry/instrument/source/type", "Synchrotron X-ray Source"},
        {"/entry/instrument/source/probe", "x-ray"},
        {"/entry/data@signal", "data"}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        (void)ts_hdf5_group(writer, groups[i][0], groups[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)ts_hdf5_text(writer, texts[i][0], texts[i][1]);
}

/* Writes what belongs to each frame; `numbers` and `keys` have space for all frames. */
static void put_lists(const struct scan *scan, struct hdf5_writer *writer, double *numbers,
                      int32_t *keys)
{
    const int64_t n = scan->n_frames;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = angle_degree(scan->options, i);
        keys[i] = key_of(i);
    }
    ts_nxtomo_numbers(writer, SAMPLE "/rotation_angle", TS_F64, n, numbers, "degree");
    ts_nxtomo_numbers(writer, DETECTOR "/image_key", TS_I32, n, keys, NULL);
    ts_nxtomo_numbers(writer, DETECTOR "/image_key_control", TS_I32, n, keys, NULL);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = 0.1;
    ts_nxtomo_numbers(writer, DETECTOR "/count_time", TS_F64, n, numbers, "s");
    for (int64_t i = 0; i < n; i++)
        numbers[i] = 0;
    ts_nxtomo_numbers(writer, SAMPLE "/x_translation", TS_F64, n, numbers, "m");
    ts_nxtomo_numbers(writer, SAMPLE "/y_translation", TS_F64, n, numbers, "m");
    ts_nxtomo_numbers(writer, SAMPLE "/z_translation", TS_F64, n, numbers, "m");
}

static enum ts_status put_all(struct scan *scan, struct hdf5_writer *writer, double *numbers,
                              int32_t *keys)
{
    const double pixel_m = SCAN_PIXEL_MM * 1e-3, distance_m = 0.1, energy_kev = 20;
    struct ts_image frames = scan->frames;
    int id;
    frames.axes[0].n = scan->n_frames;
    put_groups(writer);
    put_lists(scan, writer, numbers, keys);
    ts_nxtomo_numbers(writer, DETECTOR "/x_pixel_size", TS_F64, 0, &pixel_m, "m");
    ts_nxtomo_numbers(writer, DETECTOR "/y_pixel_size", TS_F64, 0, &pixel_m, "m");
    ts_nxtomo_numbers(writer, DETECTOR "/distance", TS_F64, 0, &distance_m, "m");
    ts_nxtomo_numbers(writer, "/entry/beam/incident_energy", TS_F64, 0, &energy_kev, "keV");
    enum ts_status status = ts_hdf5_frames(writer, DETECTOR "/data", &frames, &id);
    if (status == TS_OK)
        status = write_frames(scan, writer, id);
    return status == TS_OK ? ts_nxtomo_links(writer) : status;
}

static enum ts_status write_file(struct scan *scan, const char *path, double *numbers,
                                 int32_t *keys, struct ts_diag *diag)
{
    const struct hdf5_options options = {.threads = scan->options->threads,
                                         .force = scan->options->force};
    struct hdf5_writer *writer;
    enum ts_status status = ts_hdf5_create(path, &options, &writer, diag);
    if (status != TS_OK)
        return status;
    status = put_all(scan, writer, numbers, keys);
    if (status == TS_OK)
        return ts_hdf5_commit(writer);
    ts_hdf5_abandon(writer);
    return status;
}

static enum ts_status check_options(const struct scan_options *options, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "phantom-size"};
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"n_detectors", options->n_detectors},
                 {"n_rows", options->n_rows},
                 {"n_views", options->n_views}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > SIDE_MAX)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site, "%s: %lld is outside [1, %d]",
                                 sizes[i].name, (long long)sizes[i].value, SIDE_MAX);
    if (!(options->noise >= 0 && options->noise <= 10))
        return ts_diag_error(diag, TS_BAD_CHAIN, &site, "noise: %g is outside [0, 10]",
                             options->noise);
    return TS_OK;
}

enum ts_status ts_scan_write(const struct scan_options *options, const char *path,
                             struct ts_diag *diag)
{
    struct scan scan = {.options = options, .n_frames = FIRST_VIEW + options->n_views};
    const int64_t at_once = 2 * (int64_t)options->threads;
    enum ts_status status = check_options(options, diag);
    if (status != TS_OK)
        return status;
    scan.frames = (struct ts_image){.rank = 3, .dtype = TS_U16, .unit = ""};
    scan.frames.axes[0].n = at_once < scan.n_frames ? at_once : scan.n_frames;
    scan.frames.axes[1].n = options->n_rows;
    scan.frames.axes[2].n = options->n_detectors;
    scan.frames.data = malloc(ts_image_bytes(&scan.frames));
    scan.columns = malloc((size_t)scan.frames.axes[0].n * 2 * (size_t)options->n_detectors *
                          sizeof *scan.columns);
    double *numbers = malloc((size_t)scan.n_frames * sizeof *numbers);
    int32_t *keys = malloc((size_t)scan.n_frames * sizeof *keys);
    status = scan.frames.data && scan.columns && numbers && keys
                 ? write_file(&scan, path, numbers, keys, diag)
                 : ts_diag_no_memory(diag, ts_image_bytes(&scan.frames));
    free(keys);
    free(numbers);
    free(scan.columns);
    free(scan.frames.data);
    return status;
}
