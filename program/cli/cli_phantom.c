/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `tomostage phantom` writes a phantom with a known answer as a DICOM series, or a scan
 * as NXtomo, so that anybody can try a chain without a patient's data and compare the result with
 * the known answer. datasets/ makes the images and the files; this file reads the options and
 * reports.
 */
#include <omp.h>
#include <string.h>

#include "datasets/phantom_scan.h"
#include "program/cli/cli.h"

static struct arguments {
    const char *path;
    int64_t size, slices, views, noise, seed, tilt;
    bool force, quiet;
} arguments = {.size = 256, .slices = 24, .noise = -1};

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, path), "PATH",
     "the folder, which must be absent or empty; of `scan` the new file"},
    {"size", 0, OPTION_INTEGER, OPTION_AT(struct arguments, size), "N",
     "pixels along x and y, or of a detector row; default 256", 1, 65535, " pixels"},
    {"slices", 0, OPTION_INTEGER, OPTION_AT(struct arguments, slices), "N",
     "slices, or detector rows; default 24", 1, 65535},
    {"views", 0, OPTION_INTEGER, OPTION_AT(struct arguments, views), "N",
     "views of `scan`; default 360", 1, 65535},
    {"noise", 0, OPTION_INTEGER, OPTION_AT(struct arguments, noise), "HU",
     "standard deviation of added noise; default 0; of `scan` in percent of\n"
     "that of counted photons; default 100",
     0, 4095, " HU"},
    {"tilt", 0, OPTION_INTEGER, OPTION_AT(struct arguments, tilt), "DEGREES",
     "tilt of the gantry, by which slices lie shifted against each other; default 0", -45, 45,
     " degrees"},
    {"seed", 0, OPTION_INTEGER, OPTION_AT(struct arguments, seed), "N", "of the noise; default 0",
     0, INT64_MAX},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL,
     "replace an existing file of `scan`"},
    {"quiet", 0, OPTION_FLAG, OPTION_AT(struct arguments, quiet), NULL, "no summary"}};

static void list_phantoms(FILE *stream)
{
    fputs("\nphantoms:\n", stream);
    for (const struct phantom *phantom = ts_phantoms; phantom->name; phantom++)
        fprintf(stream, "  %-14s %s\n", phantom->name, phantom->summary);
    fprintf(stream, "  %-14s %s\n", ts_scan_phantom.name, ts_scan_phantom.summary);
}

static enum ts_status write_series(const char *name, struct ts_diag *diag, char *what, size_t size)
{
    struct phantom_options made = PHANTOM_OPTIONS_DEFAULT;
    made.nx = made.ny = arguments.size;
    made.nz = arguments.slices;
    made.noise_hu = arguments.noise > 0 ? (double)arguments.noise : 0;
    made.seed = (uint64_t)arguments.seed;
    made.tilt_degree = (double)arguments.tilt;
    snprintf(what, size, "%lld DICOM files of %lld x %lld pixels", (long long)made.nz,
             (long long)made.nx, (long long)made.ny);
    return ts_phantom_write(name, &made, arguments.path, diag);
}

static enum ts_status write_scan(struct ts_diag *diag, char *what, size_t size)
{
    const struct scan_options made = {.n_detectors = arguments.size,
                                      .n_rows = arguments.slices,
                                      .n_views = arguments.views ? arguments.views : 360,
                                      .noise =
                                          arguments.noise < 0 ? 1 : 0.01 * (double)arguments.noise,
                                      .seed = (uint64_t)arguments.seed,
                                      .threads = omp_get_max_threads(),
                                      .force = arguments.force};
    snprintf(what, size, "NXtomo, %lld views of %lld x %lld pixels, rotation axis at %.1f",
             (long long)made.n_views, (long long)made.n_rows, (long long)made.n_detectors,
             ts_scan_axis(&made));
    return ts_scan_write(&made, arguments.path, diag);
}

static int phantom(char **operands)
{
    const bool scans = !strcmp(operands[0], ts_scan_phantom.name);
    char what[160];
    if (!arguments.path)
        return ts_command_wrong(&ts_cli_phantom, "the %s is missing: -o PATH",
                                scans ? "file" : "folder");
    if (arguments.views && !scans)
        return ts_command_wrong(&ts_cli_phantom,
                                "'--views' is an option of `tomostage phantom scan`");
    if (arguments.tilt && scans)
        return ts_command_wrong(&ts_cli_phantom, "'--tilt' is an option of the DICOM series");
    if (arguments.force && !scans)
        return ts_command_wrong(&ts_cli_phantom,
                                "'--force' is an option of `tomostage phantom scan`");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = scans ? write_scan(diag, what, sizeof what)
                                        : write_series(operands[0], diag, what, sizeof what);
    if (status == TS_OK)
        ts_command_written(arguments.path);
    if (status == TS_OK && !arguments.quiet) {
        char path[4096];
        ts_text_escape(path, sizeof path, arguments.path);
        printf("wrote %s: %s\n", path, what);
    }
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_phantom = {
    .name = "phantom",
    .usage = "NAME -o PATH [options]",
    .summary = "write a phantom with a known answer: a DICOM CT series, or a scan as NXtomo",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a NAME"},
    .more_help = list_phantoms,
    .run = phantom,
    .stopped = "; the folder may hold a part of the phantom",
};
