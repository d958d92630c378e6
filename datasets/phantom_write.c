/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a phantom as a DICOM CT series: checks the options, claims the folder, then renders,
 * rounds and writes slice by slice, so that memory holds one. Where a slice fails, those before it
 * are removed.
 *
 * Values with noise that lie beyond the twelve bits (-1024 and 3071 HU) are cut, as scanners do.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/params.h"
#include "datasets/dicom_write.h"
#include "datasets/noise.h"
#include "datasets/phantom.h"
#include "datasets/phantom_scan.h"
#include "io/file/new_folder.h"

enum {
    STORED_OFFSET = 1024,
    STORED_MAX = 4095,
    SIDE_MAX = 65535,
    SLICES_MAX = 9999,
    PATH_BYTES = 4096
};

struct job {
    const struct phantom *phantom;
    const struct phantom_options *options;
    const char *folder;
    struct ct_series series;
    char patient_name[64], patient_id[64], description[65], identity[512];
};

static enum ts_status check_options(const struct phantom_options *options, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "phantom-size"};
    /* The length of the pixel data is a 32-bit number, and must be even. */
    const int64_t most = (INT64_C(1) << 31) - 1;
    const bool sides = options->nx <= SIDE_MAX && options->ny <= SIDE_MAX;
    const struct {
        const char *name;
        int64_t value, max;
    } sizes[] = {{"nx", options->nx, SIDE_MAX},
                 {"ny", options->ny, SIDE_MAX},
                 {"nz", options->nz, SLICES_MAX},
                 {"nx * ny", sides ? options->nx * options->ny : 1, most}};
    const struct {
        const char *name;
        double value, min, max;
        const char *unit;
    } lengths[] = {{"spacing_x_mm", options->spacing_x_mm, 1e-4, 1000, "mm"},
                   {"spacing_y_mm", options->spacing_y_mm, 1e-4, 1000, "mm"},
                   {"spacing_z_mm", options->spacing_z_mm, 1e-4, 1000, "mm"},
                   {"noise_hu", options->noise_hu, 0, 1000, "HU"},
                   {"tilt_degree", options->tilt_degree, -45, 45, "degrees"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].max)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site, "%s: %lld is outside [1, %lld] pixel",
                                 sizes[i].name, (long long)sizes[i].value, (long long)sizes[i].max);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!(lengths[i].value >= lengths[i].min && lengths[i].value <= lengths[i].max))
            return ts_diag_error(diag, TS_BAD_CHAIN, &site, "%s: %g is outside [%g, %g] %s",
                                 lengths[i].name, lengths[i].value, lengths[i].min, lengths[i].max,
                                 lengths[i].unit);
    return TS_OK;
}

static enum ts_status unknown_phantom(const char *name, struct ts_diag *diag)
{
    const char *names[64];
    char list[512] = "";
    size_t n = 0;
    for (; n < 63 && ts_phantoms[n].name != NULL; n++) {
        names[n] = ts_phantoms[n].name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s, ", names[n]);
    }
    names[n++] = ts_scan_phantom.name;
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s", ts_scan_phantom.name);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-phantom"},
                  "unknown phantom '%s'", name);
    const char *nearest = ts_nearest_name(name, names, n);
    return nearest != NULL ? ts_diag_hint(diag, "did you mean '%s'?", nearest)
                           : ts_diag_hint(diag, "there are: %s", list);
}

static bool file_path(char out[PATH_BYTES], const char *folder, int64_t z)
{
    int length = snprintf(out, PATH_BYTES, "%s/IM%04lld.dcm", folder, (long long)(z + 1));
    return length > 0 && length < PATH_BYTES;
}

/* Makes the UID of one part of the phantom, such as "study". */
static void make_uid(const struct job *job, const char *part, char out[DICOM_UID_BYTES])
{
    char text[600];
    snprintf(text, sizeof text, "%s %s", job->identity, part);
    ts_dicom_uid(out, text);
}

static void describe(struct job *job)
{
    const struct phantom_options *options = job->options;
    const char *name = job->phantom->name;
    snprintf(job->identity, sizeof job->identity,
             "tomostage phantom %s %lld %lld %lld %.17g %.17g %.17g %.17g %llu", name,
             (long long)options->nx, (long long)options->ny, (long long)options->nz,
             options->spacing_x_mm, options->spacing_y_mm, options->spacing_z_mm, options->noise_hu,
             (unsigned long long)options->seed);
    if (options->tilt_degree != 0)
        snprintf(job->identity + strlen(job->identity),
                 sizeof job->identity - strlen(job->identity), " %.17g", options->tilt_degree);
    snprintf(job->patient_name, sizeof job->patient_name, "PHANTOM^%s", name);
    for (char *c = job->patient_name; *c != '\0'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    snprintf(job->patient_id, sizeof job->patient_id, "%s", name);
    snprintf(job->description, sizeof job->description, "%s phantom", name);
    job->series = (struct ct_series){
        .patient_name = job->patient_name,
        .patient_id = job->patient_id,
        .description = job->description,
        .nx = options->nx,
        .ny = options->ny,
        .spacing_x_mm = options->spacing_x_mm,
        .spacing_y_mm = options->spacing_y_mm,
        .spacing_z_mm = options->spacing_z_mm,
    };
    make_uid(job, "study", job->series.study);
    make_uid(job, "series", job->series.series);
    make_uid(job, "frame of reference", job->series.frame_of_reference);
}

static void to_stored(const struct phantom_options *options, int64_t z, const double *hu,
                      uint16_t *stored, size_t n)
{
    const uint64_t begin = noise_begin(options->seed, z);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        double value = hu[i] + STORED_OFFSET;
        if (options->noise_hu > 0)
            value +=
                options->noise_hu * noise_normal(begin + i * (NOISE_NORMAL_STEPS * NOISE_STEP));
        stored[i] = (uint16_t)lrint(fmin(fmax(value, 0), STORED_MAX));
    }
}

static enum ts_status write_slice(const struct job *job, int64_t z, double *hu, uint16_t *stored,
                                  struct ts_diag *diag)
{
    const struct phantom_options *options = job->options;
    char path[PATH_BYTES], part[40], instance[DICOM_UID_BYTES];
    const double position_mm[3] = {
        -0.5 * (double)(options->nx - 1) * options->spacing_x_mm,
        -0.5 * (double)(options->ny - 1) * options->spacing_y_mm + ts_phantom_shift_mm(options, z),
        ((double)z - 0.5 * (double)(options->nz - 1)) * options->spacing_z_mm};
    ts_phantom_render(job->phantom, options, z, hu);
    to_stored(options, z, hu, stored, (size_t)(options->nx * options->ny));
    snprintf(part, sizeof part, "instance %lld", (long long)z);
    make_uid(job, part, instance);
    if (!file_path(path, job->folder, z))
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "path-too-long"},
                             "the path of the folder is too long");
    return ts_ct_write(path, &job->series, z + 1, instance, position_mm, stored, diag);
}

enum ts_status ts_phantom_write(const char *name, const struct phantom_options *options,
                                const char *folder, struct ts_diag *diag)
{
    struct job job = {.phantom = ts_phantom_find(name), .options = options, .folder = folder};
    bool made = false;
    if (job.phantom == NULL)
        return unknown_phantom(name, diag);
    enum ts_status status = check_options(options, diag);
    if (status == TS_OK)
        status = ts_new_folder(folder, &made, diag);
    if (status != TS_OK)
        return status;
    const size_t n = (size_t)(options->nx * options->ny);
    double *hu = malloc(n * sizeof *hu);
    uint16_t *stored = malloc(n * sizeof *stored);
    if (hu == NULL || stored == NULL)
        status = ts_diag_no_memory(diag, n * sizeof *hu);
    describe(&job);
    int64_t n_written = 0;
    while (status == TS_OK && n_written < options->nz) {
        status = write_slice(&job, n_written, hu, stored, diag);
        n_written += status == TS_OK;
    }
    if (status != TS_OK) {
        char path[PATH_BYTES];
        for (int64_t z = 0; z < n_written; z++)
            if (file_path(path, folder, z))
                unlink(path);
        if (made)
            rmdir(folder);
    }
    free(hu);
    free(stored);
    return status;
}
