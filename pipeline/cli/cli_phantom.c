/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `tomostage phantom` writes a phantom with a known answer as a DICOM series, so that anybody can try a
 * chain without a patient's data and compare the result with what it must be. datasets/ makes the images and the files;
 * this file reads the options and reports.
 */
#include "datasets/phantom.h"
#include "pipeline/cli/cli.h"

static struct arguments {
    const char *folder;
    int64_t size, slices, noise_hu, seed;
    bool quiet;
} arguments = {.size = 256, .slices = 24};

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, folder), "DIR",
     "the folder, which must be absent or empty"},
    {"size", 0, OPTION_INTEGER, OPTION_AT(struct arguments, size), "N", "pixels along x and y; default 256", 1, 65535,
     " pixels"},
    {"slices", 0, OPTION_INTEGER, OPTION_AT(struct arguments, slices), "N", "slices; default 24", 1, 65535},
    {"noise", 0, OPTION_INTEGER, OPTION_AT(struct arguments, noise_hu), "HU",
     "standard deviation of added noise; default 0", 0, 4095, " HU"},
    {"seed", 0, OPTION_INTEGER, OPTION_AT(struct arguments, seed), "N", "of the noise; default 0", 0, INT64_MAX},
    {"quiet", 0, OPTION_FLAG, OPTION_AT(struct arguments, quiet), NULL, "no summary"}};

static void list_phantoms(FILE *stream)
{
    fputs("\nphantoms:\n", stream);
    for (const struct phantom *phantom = ts_phantoms; phantom->name; phantom++)
        fprintf(stream, "  %-14s %s\n", phantom->name, phantom->summary);
}

static int phantom(char **operands)
{
    struct phantom_options made = PHANTOM_OPTIONS_DEFAULT;
    if (!arguments.folder)
        return ts_command_wrong(&ts_cli_phantom, "the folder is missing: -o DIR");
    made.nx = made.ny = arguments.size;
    made.nz = arguments.slices;
    made.noise_hu = (double)arguments.noise_hu;
    made.seed = (uint64_t)arguments.seed;
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_phantom_write(operands[0], &made, arguments.folder, diag);
    if (status == TS_OK)
        ts_command_written(arguments.folder);
    if (status == TS_OK && !arguments.quiet) {
        char path[4096];
        ts_text_escape(path, sizeof path, arguments.folder);
        printf("wrote %s: %lld DICOM files of %lld x %lld pixels\n", path, (long long)made.nz, (long long)made.nx,
               (long long)made.ny);
    }
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_phantom = {
    .name = "phantom",
    .usage = "NAME -o DIR [options]",
    .summary = "write a phantom with a known answer as a DICOM CT series",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a NAME"},
    .more_help = list_phantoms,
    .run = phantom,
    .stopped = "; the folder may hold a part of the phantom",
};
